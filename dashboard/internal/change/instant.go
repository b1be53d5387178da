package change

import (
	"fmt"
	"strings"
	"time"
)

const shownInstant = "2 Jan 2006 15:04:05 MST"

// instant reads an instant that a viewer has typed: RFC 3339, or a day with a time of day or without in a zone.
func instant(text string, zone *time.Location) (time.Time, error) {
	text = strings.TrimSpace(text)
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is no instant: want 2026-10-31, 2026-10-31 18:00 or 2026-10-31T18:00:00Z", text)
}
