package recurrence

import (
	"slices"
	"strings"
	"time"
)

// A bruteFilter is a filter with its texts parsed.
type bruteFilter struct {
	Filter
	dates []bruteDates
	times []bruteTimes
}

// bruteDates are the days from one date to another. The year of a yearly range has no meaning.
type bruteDates struct {
	yearly   bool
	from, to time.Time
}

// bruteTimes are the seconds of the day from one to another.
type bruteTimes struct{ from, to time.Duration }

func bruteFilters(filters []Filter) (list []bruteFilter) {
	for _, f := range filters {
		b := bruteFilter{Filter: f}
		for _, text := range f.Dates {
			from, to := ends(text)
			yearly := len(from) == len("12-25")
			if yearly {
				from, to = "2000-"+from, "2000-"+to // a leap year
			}
			b.dates = append(b.dates, bruteDates{yearly, mustRead(time.DateOnly, from), mustRead(time.DateOnly, to)})
		}
		for _, text := range f.Times {
			from, to := ends(text)
			if len(from) == len("09:00") {
				from += ":00"
			}
			if len(to) == len("09:00") {
				to += ":59" // the minute in full
			}
			midnight := mustRead(time.TimeOnly, "00:00:00")
			b.times = append(b.times, bruteTimes{mustRead(time.TimeOnly, from).Sub(midnight), mustRead(time.TimeOnly, to).Sub(midnight)})
		}
		list = append(list, b)
	}
	return list
}

// ends returns the ends of a range. If the text is not a range, it returns the text twice.
func ends(text string) (from, to string) {
	from, to, ranged := strings.Cut(text, "/")
	if !ranged {
		to = from
	}
	return from, to
}

func mustRead(layout, text string) time.Time {
	t, err := time.Parse(layout, text)
	if err != nil {
		panic(err)
	}
	return t
}

// fitsDay reports whether a day fits all fields of a filter except its times.
func (f bruteFilter) fitsDay(day time.Time) bool {
	return (len(f.WeekDays) == 0 || slices.Contains(f.WeekDays, day.Weekday())) &&
		(len(f.Months) == 0 || slices.Contains(f.Months, day.Month())) &&
		(len(f.dates) == 0 || slices.ContainsFunc(f.dates, func(d bruteDates) bool { return d.hold(day) })) &&
		hasMonthDay(f.MonthDays, day) && hasNthWeekday(f.MonthlyOccurrences, day)
}

func (d bruteDates) hold(day time.Time) bool {
	if !d.yearly {
		return !day.Before(d.from) && !day.After(d.to)
	}
	inYear := func(t time.Time) int { return int(t.Month())*100 + t.Day() }
	from, at, to := inYear(d.from), inYear(day), inYear(d.to)
	if from > to { // over New Year
		return at >= from || at <= to
	}
	return from <= at && at <= to
}

// fitsTime reports whether a time of the day fits the times of a filter. Without times every time fits.
func (f bruteFilter) fitsTime(since time.Duration) bool {
	return len(f.times) == 0 || slices.ContainsFunc(f.times, func(t bruteTimes) bool {
		if t.from > t.to { // over midnight
			return since >= t.from || since <= t.to
		}
		return t.from <= since && since <= t.to
	})
}

// isOpen reports whether a day is open. Filters of except with times close no day; in filters of only the times are ignored.
func (b *bruteRule) isOpen(day time.Time) bool {
	if known, ok := b.opened[day]; ok {
		return known
	}
	fits := func(f bruteFilter) bool { return f.fitsDay(day) }
	closes := func(f bruteFilter) bool { return f.fitsDay(day) && len(f.times) == 0 }
	open := (len(b.only) == 0 || slices.ContainsFunc(b.only, fits)) && !slices.ContainsFunc(b.except, closes)
	b.opened[day] = open
	return open
}

// open reports whether a run may be at a wall time: its day and its time fit one filter of only, and none of except.
func (b *bruteRule) open(wall time.Time) bool {
	day := dayOf(wall)
	fits := func(f bruteFilter) bool { return f.fitsTime(wall.Sub(day)) && f.fitsDay(day) }
	return (len(b.only) == 0 || slices.ContainsFunc(b.only, fits)) && !slices.ContainsFunc(b.except, fits)
}
