package redisstore

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A head is the beginning of a stored definition, which the scripts read.
type head struct {
	revision   int64
	generation int64 // of the schedule in the registry; for a mark: the next one, in the new queue
	state      string
	created    time.Time
	overlap    string
	rest       string    // the application's part, for the roles
	movedTo    string    // queue; empty: the definition is not the mark of a move
	before     string    // state before it was moved
	since      time.Time // when the next occurrence was owed before it was moved
}

var headPattern = regexp.MustCompile(`^\{"revision":(\d+),"generation":(\d+),"state":"([^"]+)","created":"([^"]+)","overlap":"([A-Za-z]+)",(?s:(.+))$`)

// parseHead reads the head of a stored definition; ok is false if the text does not begin with one, because it was edited by hand.
func parseHead(text string) (h head, ok bool) {
	m := headPattern.FindStringSubmatch(text)
	if m == nil {
		return head{}, false
	}
	h = head{state: m[3], overlap: m[5], rest: m[6]}
	h.revision, _ = strconv.ParseInt(m[1], 10, 64)
	h.generation, _ = strconv.ParseInt(m[2], 10, 64)
	h.created, _ = time.Parse(time.RFC3339, m[4])
	if after, ok := strings.CutPrefix(h.state, "moved to "); ok {
		fields := strings.Fields(after)
		if len(fields) != 4 { // queue, state before, since when the next occurrence is owed, counters
			return head{}, false
		}
		h.movedTo, h.before = fields[0], fields[1]
		ms, _ := strconv.ParseInt(fields[2], 10, 64)
		h.since = time.UnixMilli(ms).UTC()
		return h, true
	}
	switch h.state {
	case protocol.StateLive, protocol.StatePaused, protocol.StateCompleted:
		return h, true
	}
	return head{}, false
}

// firstPattern matches a definition that leaves out the run at creation. The fields before that field have no text that users may choose freely.
var firstPattern = regexp.MustCompile(`^(.*?"misfire":"[^"]*","grace":"[^"]*"),"noImmediateRun":true([,}](?s:.*))$`)

// withoutFirst returns a definition without that field.
func withoutFirst(text string) string { return firstPattern.ReplaceAllString(text, "$1$2") }

// withState formats the definition with another state.
func (h head) withState(state string) string {
	return `{"revision":` + strconv.FormatInt(h.revision, 10) + `,"generation":` + strconv.FormatInt(h.generation, 10) +
		`,"state":"` + state + `","created":"` + h.created.UTC().Format("2006-01-02T15:04:05.000Z") + `","overlap":"` + h.overlap + `",` + h.rest
}

// readableCursor reports whether parseCursor can read a stored cursor; an empty one is readable.
func readableCursor(text string) bool { return text == "" || parseCursor(text) != protocol.Cursor{} }

// parseCursor reads "<planned instant> <runs used> <kind>". The kind is p for an occurrence, c for a caught-up one, s for a change
// or a pause. Any other text is the zero Cursor: nothing was placed yet.
func parseCursor(text string) protocol.Cursor {
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return protocol.Cursor{}
	}
	at, err := time.Parse(time.RFC3339, fields[0])
	used, _ := strconv.Atoi(fields[1])
	if err != nil {
		return protocol.Cursor{}
	}
	return protocol.Cursor{At: at, Used: used, Placed: fields[2] != "s", CaughtUp: fields[2] == "c"}
}

// formatCursor formats the part of a cursor that placing compares: the instant and the kind.
func formatCursor(c protocol.Cursor) string {
	switch {
	case c.At.IsZero():
		return ""
	case c.CaughtUp:
		return c.At.UTC().Format(time.RFC3339) + " c"
	case c.Placed:
		return c.At.UTC().Format(time.RFC3339) + " p"
	}
	return c.At.UTC().Format(time.RFC3339) + " s"
}

// storedCursor formats a cursor as it is stored.
func storedCursor(c protocol.Cursor) string {
	text := formatCursor(c)
	if text == "" {
		return ""
	}
	return text[:len(text)-1] + strconv.Itoa(c.Used) + text[len(text)-2:]
}
