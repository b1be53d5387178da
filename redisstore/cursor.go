package redisstore

import (
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// readableCursor reports whether parseCursor can read a stored cursor; none at all is readable.
func readableCursor(text string) bool { return text == "" || parseCursor(text) != protocol.Cursor{} }

// parseCursor reads "<planned instant> <runs used> <kind>", kind p for an occurrence, c for one that is caught up, s for a change or a pause. Any other text is
// the zero Cursor: nothing was placed yet.
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
