package redisstore

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// head is what the scripts know of a definition: it begins the stored text.
type head struct {
	revision int64
	state    string
	created  time.Time
	overlap  string
	rest     string
	movedTo  string // queue; empty: not a mark
	before   string // state before it was moved
}

var headPattern = regexp.MustCompile(`^\{"revision":(\d+),"state":"([^"]+)","created":"([^"]+)","overlap":"([a-z]+)",(?s:(.+))$`)

func parseHead(text string) (head, bool) {
	m := headPattern.FindStringSubmatch(text)
	if m == nil {
		return head{}, false
	}
	h := head{state: m[2], overlap: m[4], rest: m[5]}
	h.revision, _ = strconv.ParseInt(m[1], 10, 64)
	h.created, _ = time.Parse(time.RFC3339, m[3])
	if after, ok := strings.CutPrefix(h.state, "moved to "); ok {
		h.movedTo, h.before, _ = strings.Cut(after, " ")
	}
	return h, true
}

// withState spells the definition with another state.
func (h head) withState(state string) string {
	return fmt.Sprintf(`{"revision":%d,"state":"%s","created":"%s","overlap":"%s",%s`,
		h.revision, state, h.created.UTC().Format(time.RFC3339), h.overlap, h.rest)
}
