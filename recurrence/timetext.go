package recurrence

import (
	"strings"
	"time"
)

// A StartTime lies at or after minTime and before horizonTime, where every search ends. An EndTime after horizonTime has no effect. It must lie
// before endTimeLimit so that its year has four digits.
var (
	minTime      = time.Date(1900, time.January, 1, 0, 0, 0, 0, time.UTC)
	horizonTime  = time.Date(2200, time.January, 1, 0, 0, 0, 0, time.UTC)
	endTimeLimit = time.Date(10000, time.January, 1, 0, 0, 0, 0, time.UTC)
)

// parseTime reads YYYY-MM-DD, optionally followed by THH:MM, by :SS and by a fraction, which is dropped; then Z, ±hh, ±hhmm,
// ±hh:mm or nothing. With nothing the text is a local time in loc; see [resolveLocal].
func parseTime(field, text string, loc *time.Location) (time.Time, *Error) {
	scan := timeScan{rest: text, ok: true}
	year := scan.digits(4)
	scan.need('-')
	month := scan.digits(2)
	scan.need('-')
	day := scan.digits(2)
	var hour, minute, second int
	if scan.take('T') || scan.take('t') {
		hour = scan.digits(2)
		scan.need(':')
		minute = scan.digits(2)
		if scan.take(':') {
			second = scan.digits(2)
			if scan.take('.') {
				scan.fraction()
			}
		}
	}
	offset := scan.offset()
	if !scan.ok || scan.rest != "" {
		return time.Time{}, newError(CodeTimeSyntax, field, text,
			"must be written as 2026-03-08, 2026-03-08T09:30 or 2026-03-08T09:30:00, optionally followed by Z or by an offset such as +01:00")
	}

	wall := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	same := wall.Year() == year && wall.Month() == time.Month(month) && wall.Day() == day && wall.Hour() == hour &&
		wall.Minute() == minute && wall.Second() == second
	if !same || offset.hours > 23 || offset.minutes > 59 {
		return time.Time{}, newError(CodeTimeValue, field, text, "names a time that does not exist")
	}

	t := wall
	if offset.given {
		t = wall.Add(-offset.duration())
	} else if loc != time.UTC {
		t = resolveLocal(loc, wall)
	}
	return t, checkTime(field, text, t)
}

// checkTime refuses an instant outside the years 1900 to 2199 in UTC; for endTime, outside 1900 to 9999.
func checkTime(field, text string, t time.Time) *Error {
	limit, years := horizonTime, "1900 to 2199"
	if field == "endTime" {
		limit, years = endTimeLimit, "1900 to 9999"
	}
	if t.Before(minTime) || !t.Before(limit) {
		return newError(CodeTimeRange, field, text, "must lie in the years %s (UTC)", years)
	}
	return nil
}

// resolveLocal returns the instant at which the clocks of loc show what wall shows in UTC. If they show it twice, that is the
// first such instant. If they skip it, the offset before the gap applies.
func resolveLocal(loc *time.Location, wall time.Time) time.Time {
	const reach = 48 * time.Hour // an offset and a change of it are each shorter than a day
	for at := wall.Add(-reach).In(loc); ; {
		_, seconds := at.Zone()
		end, ends := offsetEnd(at)
		t := wall.Add(-time.Duration(seconds) * time.Second)
		if !ends || t.Before(end) || end.After(wall.Add(reach)) { // the last condition is never true for real zones, and bounds the search for any zone data
			if t.Before(at) {
				// The clocks skipped the time when this offset began, so the offset before applies.
				_, seconds = at.Add(-time.Second).Zone()
				t = wall.Add(-time.Duration(seconds) * time.Second)
			}
			return t.UTC()
		}
		at = end
	}
}

// A timeScan reads the parts of a time one after another. ok becomes false when a part is missing.
type timeScan struct {
	rest string
	ok   bool
}

func (s *timeScan) take(c byte) bool {
	if s.rest == "" || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *timeScan) need(c byte) { s.ok = s.take(c) && s.ok }

// digits reads a number of exactly n digits.
func (s *timeScan) digits(n int) (number int) {
	for range n {
		if s.rest == "" || !isDigit(s.rest[0]) {
			s.ok = false
			return 0
		}
		number = number*10 + int(s.rest[0]-'0')
		s.rest = s.rest[1:]
	}
	return number
}

// fraction skips one or more digits.
func (s *timeScan) fraction() {
	s.digits(1)
	s.rest = strings.TrimLeft(s.rest, "0123456789")
}

// A timeOffset is a UTC offset as written.
type timeOffset struct {
	given, west    bool
	hours, minutes int
}

func (o timeOffset) duration() time.Duration {
	d := time.Duration(o.hours)*time.Hour + time.Duration(o.minutes)*time.Minute
	if o.west {
		return -d
	}
	return d
}

func (s *timeScan) offset() (o timeOffset) {
	if s.take('Z') || s.take('z') {
		return timeOffset{given: true}
	}
	o.west = s.take('-')
	o.given = o.west || s.take('+')
	if !o.given {
		return o
	}
	o.hours = s.digits(2)
	if s.take(':') || s.rest != "" {
		o.minutes = s.digits(2)
	}
	return o
}
