package protocol

import (
	"cmp"
	"strconv"
	"strings"
)

// A BatchMark is the place of a batch in lists, which have the newest batch first, and of two of the same instant the one with the greater ID. Zero: none.
type BatchMark struct {
	Created int64 // Unix ms
	ID      string
}

// Compare is negative if m comes before other in a list.
func (m BatchMark) Compare(other BatchMark) int {
	return cmp.Or(cmp.Compare(other.Created, m.Created), cmp.Compare(other.ID, m.ID))
}

// String returns a text that ParseBatchMark reads.
func (m BatchMark) String() string { return strconv.FormatInt(m.Created, 10) + "\t" + m.ID }

// ParseBatchMark reads the text of a mark, and reports whether it is one.
func ParseBatchMark(text string) (BatchMark, bool) {
	at, id, _ := strings.Cut(text, "\t")
	created, err := strconv.ParseUint(at, 10, 53)
	return BatchMark{Created: int64(created), ID: id}, err == nil && id != ""
}
