package redisstore

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A head is the beginning of a stored definition: what the scripts know of it.
type head struct {
	revision int64
	state    string
	created  time.Time
	overlap  string
	rest     string // what the application defined, for the roles
	movedTo  string // queue; empty: the definition is not the mark of a move
	before   string // state before it was moved
}

var headPattern = regexp.MustCompile(`^\{"revision":(\d+),"state":"([^"]+)","created":"([^"]+)","overlap":"([a-z]+)",(?s:(.+))$`)

// parseHead reads the head of a stored definition; ok is false if the text does not begin with one.
func parseHead(text string) (h head, ok bool) {
	m := headPattern.FindStringSubmatch(text)
	if m == nil {
		return head{}, false
	}
	h = head{state: m[2], overlap: m[4], rest: m[5]}
	h.revision, _ = strconv.ParseInt(m[1], 10, 64)
	h.created, _ = time.Parse(time.RFC3339, m[3])
	if after, ok := strings.CutPrefix(h.state, "moved to "); ok {
		h.movedTo, h.before, _ = strings.Cut(after, " ")
	}
	return h, true
}

// withState formats the definition with another state.
func (h head) withState(state string) string {
	return fmt.Sprintf(`{"revision":%d,"state":"%s","created":"%s","overlap":"%s",%s`,
		h.revision, state, h.created.UTC().Format(time.RFC3339), h.overlap, h.rest)
}
