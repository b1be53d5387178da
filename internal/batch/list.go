package batch

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

// How many records of a home are read in one call: few at first, because most lists are short.
const (
	firstPage = 10
	maxPage   = 100
)

// maxUnended is how many batches in progress a home may have. If one has more, the batches that have ended are read too.
const maxUnended = 500

// newer compares two records: the newest batch comes first, or of two of the same instant the one with the greater ID. A home lists its batches in this order.
func newer(a, b *protocol.BatchRecord) int {
	return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
}

// List iterates over all batches, the newest first, from the one after the mark on. After an error it ends.
func List(ctx context.Context, store protocol.BatchStore, mark string) iter.Seq2[protocol.BatchRecord, error] {
	return func(yield func(protocol.BatchRecord, error) bool) {
		var homes [protocol.BatchHomes]struct {
			read []protocol.BatchRecord // that were not yielded yet
			mark string                 // of the last one that was read
			size int                    // of the next page
			all  bool
		}
		for i := range homes {
			homes[i].mark, homes[i].size = mark, firstPage
		}
		for {
			newest := -1
			for i := range homes {
				h := &homes[i]
				if len(h.read) == 0 && !h.all {
					page, err := store.ListBatches(ctx, i, h.mark, h.size)
					if err != nil {
						yield(protocol.BatchRecord{}, err)
						return
					}
					if h.read, h.all = page, len(page) < h.size; len(page) > 0 {
						h.mark, h.size = page[len(page)-1].Mark, min(2*h.size, maxPage)
					}
				}
				if len(h.read) > 0 && (newest < 0 || newer(&h.read[0], &homes[newest].read[0]) < 0) {
					newest = i
				}
			}
			if newest < 0 {
				return
			}
			h := &homes[newest]
			if !yield(h.read[0], nil) {
				return
			}
			h.read = h.read[1:]
		}
	}
}

// InProgress iterates, in the order of List, over the batches that have not ended, and those with members that were requeued since. It reads hardly any others,
// unless a home has more than maxUnended of them.
func InProgress(ctx context.Context, store protocol.BatchStore, mark string) iter.Seq2[protocol.BatchRecord, error] {
	return func(yield func(protocol.BatchRecord, error) bool) {
		records, more, err := store.UnendedBatches(ctx, maxUnended)
		switch {
		case err != nil:
			yield(protocol.BatchRecord{}, err)
			return
		case more:
			for record, err := range List(ctx, store, mark) {
				if (err != nil || record.Unended()) && !yield(record, err) {
					return
				}
			}
			return
		}
		slices.SortFunc(records, func(a, b protocol.BatchRecord) int { return newer(&a, &b) })
		for i := range records {
			if behind(&records[i], mark) && !yield(records[i], nil) {
				return
			}
		}
	}
}

// behind reports whether a record comes after the mark of another one.
func behind(r *protocol.BatchRecord, mark string) bool {
	text, id, ok := strings.Cut(mark, "\t")
	if !ok {
		return true
	}
	at, _ := strconv.ParseInt(text, 10, 64)
	return cmp.Or(cmp.Compare(at, r.Created.UnixMilli()), cmp.Compare(id, r.ID)) > 0
}

// ValidMark reports whether a text is the mark of a record.
func ValidMark(mark string) bool {
	at, id, ok := strings.Cut(mark, "\t")
	_, err := strconv.ParseUint(at, 10, 53)
	return ok && err == nil && id != ""
}
