// Package times reads instants and durations from flags, and formats them for people.
package times

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// Forms lists the forms in which an instant may be written.
const Forms = "2026-11-21T09:00:00Z, 2026-11-21 09:00, 2026-11-21, now, -2h or +3d"

// The years of the recurrence package, and so of everything that can be planned.
const (
	minYear = 1900
	maxYear = 2199
)

// clockForms are the forms of a date with a time of day.
var clockForms = []string{time.DateTime, "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"}

var errForm = errors.New("want " + Forms)

// Parse reads an instant in one of these forms: RFC 3339; a date with or without a time on the clock of a zone; now; or a duration from now, with
// the units s, m, h, d (24 h) and w. If the zone's clocks skip a time, it has the offset before the gap; if they show it twice, the first is
// taken, as in rules. The instant lies in the years 1900 to 2199.
func Parse(text string, now time.Time, zone *time.Location) (time.Time, error) {
	switch {
	case text == "now":
		return now, nil
	case strings.HasPrefix(text, "+"), strings.HasPrefix(text, "-"):
		d, err := ParseSpan(text[1:])
		if err != nil {
			return time.Time{}, err
		}
		if text[0] == '-' {
			d = -d
		}
		return inYears(now.Add(d))
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return inYears(t)
	}
	if shown, ok := onAClock(text); ok {
		return onClock(shown, zone)
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return onClock(day, zone)
	}
	return time.Time{}, errForm
}

// onClock returns when the clocks of a zone show the date and time that shown has in UTC. If the name of the machine's zone is not known, no rule
// can compute it.
func onClock(shown time.Time, zone *time.Location) (time.Time, error) {
	if _, err := inYears(shown); err != nil {
		return time.Time{}, err
	}
	if zone.String() == "Local" {
		return time.ParseInLocation(time.DateTime, shown.Format(time.DateTime), zone)
	}
	rule, err := recurrence.Parse(fmt.Appendf(nil, `{"startTime": %q, "timeZone": %q}`, shown.Format("2006-01-02T15:04:05"), zone))
	return rule.StartTime, err
}

func inYears(t time.Time) (time.Time, error) {
	if year := t.UTC().Year(); year < minYear || year > maxYear {
		return time.Time{}, fmt.Errorf("want the years %d to %d", minYear, maxYear)
	}
	return t, nil
}

var units = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// ParseSpan reads a duration of whole numbers with s, m, h, d (24 h) or w: 90s, 2h, 1d12h. It has no sign.
func ParseSpan(text string) (time.Duration, error) {
	var sum time.Duration
	for rest := text; ; {
		var n int64
		digits := 0
		for digits < len(rest) && rest[digits] >= '0' && rest[digits] <= '9' && digits < 10 {
			n = n*10 + int64(rest[digits]-'0')
			digits++
		}
		if digits == 0 || digits == len(rest) {
			return 0, errForm
		}
		unit, ok := units[rest[digits]]
		if !ok {
			return 0, errForm
		}
		if n > (math.MaxInt64-int64(sum))/int64(unit) {
			return 0, fmt.Errorf("want the years %d to %d", minYear, maxYear)
		}
		sum += time.Duration(n) * unit
		if rest = rest[digits+1:]; rest == "" {
			return sum, nil
		}
	}
}
