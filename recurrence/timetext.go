package recurrence

import (
	"strings"
	"time"
)

// The instants a rule may name begin with earliest. A start must lie before latest, where every search ends; an
// endTime beyond that ends nothing and is harmless, as long as its year has four digits.
var (
	earliest = time.Date(1900, time.January, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2200, time.January, 1, 0, 0, 0, 0, time.UTC)
	farthest = time.Date(10000, time.January, 1, 0, 0, 0, 0, time.UTC)
)

// parseTime reads YYYY-MM-DD, optionally THH:MM, :SS and a fraction, which is dropped, and then Z, ±hh,
// ±hhmm, ±hh:mm or nothing. With nothing it is a time on the clock of loc; see [resolveLocal].
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
		return time.Time{}, refuse(CodeTimeSyntax, field, text,
			"must be written as 2026-03-08, 2026-03-08T09:30 or 2026-03-08T09:30:00, with Z or an offset such as +01:00 or neither after it")
	}

	wall := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	same := wall.Year() == year && wall.Month() == time.Month(month) && wall.Day() == day && wall.Hour() == hour &&
		wall.Minute() == minute && wall.Second() == second
	if !same || offset.hours > 23 || offset.minutes > 59 {
		return time.Time{}, refuse(CodeTimeValue, field, text, "names a time that does not exist")
	}

	t := wall
	if offset.given {
		t = wall.Add(-offset.duration())
	} else if loc != time.UTC {
		t = resolveLocal(loc, wall)
	}
	return t, checkTime(field, text, t)
}

// checkTime refuses an instant outside the years 1900 to 2199, in UTC; endTime may lie in any later year to 9999.
func checkTime(field, text string, t time.Time) *Error {
	limit, years := latest, "1900 to 2199"
	if field == "endTime" {
		limit, years = farthest, "1900 to 9999"
	}
	if t.Before(earliest) || !t.Before(limit) {
		return refuse(CodeTimeRange, field, text, "must lie in the years %s (UTC)", years)
	}
	return nil
}

// resolveLocal finds the instant at which the clocks of loc show what wall shows in UTC: the first such
// instant where they show it twice. Where they skip it, the offset before the gap applies.
func resolveLocal(loc *time.Location, wall time.Time) time.Time {
	const reach = 48 * time.Hour // offsets are shorter than a day, and so is what they jump
	for at := wall.Add(-reach).In(loc); ; {
		_, seconds := at.Zone()
		_, end := at.ZoneBounds()
		t := wall.Add(-time.Duration(seconds) * time.Second)
		if end.IsZero() || t.Before(end) {
			if t.Before(at) {
				// The clocks skipped it when this offset began; the one before it applies.
				_, seconds = at.Add(-time.Second).Zone()
				t = wall.Add(-time.Duration(seconds) * time.Second)
			}
			return t.UTC()
		}
		at = end
	}
}

// A timeScan steps over the parts of a time. Once something is missing ok is false.
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

// fraction steps over one digit or more.
func (s *timeScan) fraction() {
	s.digits(1)
	s.rest = strings.TrimLeft(s.rest, "0123456789")
}

// A timeOffset is the distance of a clock from UTC, as written.
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
