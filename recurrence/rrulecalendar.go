package recurrence

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// maxExportedDates limits the values of EXDATE of an exported rule.
const maxExportedDates = 3000

// noRRule returns the error for a field that RFC 5545 cannot express.
func noRRule(field, reason string) *Error { return newError(CodeNoRRule, field, "", "%s", reason) }

// An rruleCalendar is the calendar of an RRULE: a limit of days, and excluded dates.
type rruleCalendar struct {
	limit Filter   // of WeekDays, MonthDays, MonthlyOccurrences and Months
	left  []Filter // of single dates, some with times
}

// exportCalendar returns the calendar of a rule, if RFC 5545 can express it.
func (r Recurrence) exportCalendar() (c rruleCalendar, err error) {
	switch {
	case len(r.Days) > 0:
		return c, noRRule("schedule.days", "RFC 5545 limits days by one filter: write only")
	case r.Shift != ShiftDrop:
		return c, noRRule("shift", "RFC 5545 moves no days: remove shift")
	case r.Count > 0 && len(r.Only)+len(r.Except)+len(r.Positions)+len(r.Also) > 0:
		return c, noRRule("count", "COUNT counts what the calendar leaves out: write endTime")
	case len(r.Only) > 1 || len(r.Only) == 1 && len(r.Only[0].Dates)+len(r.Only[0].Times) > 0:
		return c, noRRule("only", "RFC 5545 limits days by one filter without dates and times")
	case len(r.Only) == 1 && r.Only[0].countsInYear():
		return c, noRRule("only", "RFC 5545 limits days by weeks and days of the year in yearly rules only")
	}
	for i, entry := range r.Also {
		if !entry.runsOnce() {
			return c, noRRule(indexPath("also", i), "RFC 5545 has one rule: make two rules of it")
		}
	}
	if len(r.Only) == 1 {
		c.limit = r.Only[0]
	}
	for i, f := range r.Except {
		f.Dates = format(f.Dates, func(text string) string { form, _ := canonicalDates(text); return form })
		byDay, byDate := len(f.WeekDays) > 0, len(f.Dates) > 0
		others := len(f.MonthDays) + len(f.MonthlyOccurrences) + len(f.Months) + len(f.Weeks) + len(f.YearDays) + len(f.YearlyOccurrences)
		single := !slices.ContainsFunc(f.Dates, func(d string) bool { return len(d) != len(time.DateOnly) })
		switch {
		case byDay && !byDate && others+len(f.Times) == 0:
			c.limit.WeekDays = withoutDays(c.limit.WeekDays, f.WeekDays)
		case byDate && !byDay && others == 0 && single && len(r.Positions) == 0:
			c.left = append(c.left, f)
		default:
			return c, noRRule(indexPath("except", i), "RFC 5545 leaves out weekdays and, without positions, single dates only")
		}
	}
	return c, nil
}

// withoutDays returns the days without some of them; no days mean all.
func withoutDays(days, closed []time.Weekday) (left []time.Weekday) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if (len(days) == 0 || slices.Contains(days, day)) && !slices.Contains(closed, day) {
			left = append(left, day)
		}
	}
	return left
}

// both returns the values that are in both lists; an empty list means all. ok is false if there are no such values.
func both[T comparable](a, b []T) ([]T, bool) {
	if len(a) == 0 || len(b) == 0 {
		return append(slices.Clone(a), b...), true
	}
	kept := slices.DeleteFunc(slices.Clone(a), func(v T) bool { return !slices.Contains(b, v) })
	return kept, len(kept) > 0
}

// limited returns the rule with the limits of its calendar among its elements. If the limits require it, the elements that come from the start
// are named.
func (r rruleRule) limited(f Filter, start time.Time) (rruleRule, error) {
	picks := len(r.Positions) > 0
	if !picks && len(f.WeekDays)+len(f.MonthDays)+len(f.MonthlyOccurrences)+len(f.Months) == 0 {
		return r, nil
	}
	r.nameDays(start)
	if !r.canBeLimited(f) {
		return r, noRRule("only", "RFC 5545 cannot limit these days by this filter")
	}
	var inMonths, onDays bool
	r.Months, inMonths = both(r.Months, f.Months)
	r.MonthDays, onDays = both(r.MonthDays, f.MonthDays)
	if onWeekDays := r.limitWeekDays(f); !inMonths || !onDays || !onWeekDays {
		return r, noRRule("only", "RFC 5545 cannot write a rule without days, and the filter leaves none")
	}
	if r.Frequency >= Month && picks && len(r.MonthDays)+len(r.MonthlyOccurrences)+len(r.WeekDays) == 0 {
		r.MonthDays = maskValues[int](1<<32 - 2)
	}
	return r, nil
}

// nameDays sets the day elements that come from the start. Positions without weekdays count all days of the week.
func (r *rruleRule) nameDays(start time.Time) {
	picks := len(r.Positions) > 0
	switch {
	case r.Frequency == Week && len(r.WeekDays) == 0 && picks:
		r.WeekDays = withoutDays(nil, nil)
	case r.Frequency == Week && len(r.WeekDays) == 0:
		r.WeekDays = []time.Weekday{start.Weekday()}
	case picks:
	case r.Frequency == Year:
		if r.MonthDays = []int{start.Day()}; len(r.Months) == 0 {
			r.Months = []time.Month{start.Month()}
		}
	case r.Frequency == Month && len(r.MonthDays)+len(r.MonthlyOccurrences) == 0:
		r.MonthDays = []int{start.Day()}
	}
}

// canBeLimited reports whether RFC 5545 has a part for each field of a filter together with the elements of the rule. A list of month days
// counts from one end of the month: 31 and -1 may be the same day.
func (r *rruleRule) canBeLimited(f Filter) bool {
	if len(r.MonthDays) > 0 && len(f.MonthDays) > 0 {
		if all := slices.Concat(r.MonthDays, f.MonthDays); slices.Min(all) < 0 && slices.Max(all) > 0 {
			return false
		}
	}
	if len(f.MonthDays) > 0 && r.Frequency == Week {
		return false
	}
	return len(f.MonthlyOccurrences) == 0 || r.Frequency >= Month && len(r.MonthlyOccurrences) == 0
}

// limitWeekDays limits the weekdays, with and without numbers, by a filter. It reports whether any weekday is left.
func (r *rruleRule) limitWeekDays(f Filter) (left bool) {
	r.MonthlyOccurrences = slices.Concat(r.MonthlyOccurrences, f.MonthlyOccurrences)
	if len(r.MonthlyOccurrences) == 0 {
		r.WeekDays, left = both(r.WeekDays, f.WeekDays)
		return left
	}
	if len(f.WeekDays) > 0 {
		r.MonthlyOccurrences = slices.DeleteFunc(r.MonthlyOccurrences, func(o NthWeekday) bool { return !slices.Contains(f.WeekDays, o.Day) })
	}
	if r.Frequency == Year && len(r.Months) == 0 {
		r.Months = maskValues[time.Month](1<<13 - 2) // the numbers count in the month
	}
	return len(r.MonthlyOccurrences) > 0
}

// setPositions returns the BYSETPOS part: with k times a day, k numbers for each position.
func (r rruleRule) setPositions(times int) (string, error) {
	var numbers []int
	for _, p := range r.Positions {
		sign := 1
		if p < 0 {
			sign = -1
		}
		if sign*p*times > 366 {
			return "", noRRule("schedule.positions", "BYSETPOS counts runs, to 366: name fewer times a day")
		}
		for n := (sign*p-1)*times + 1; n <= sign*p*times; n++ {
			numbers = append(numbers, sign*n)
		}
	}
	return rrulePart("BYSETPOS", sortedSet(numbers)), nil
}

// exDates returns the EXDATE line for the excluded dates, or "". The times are those of the rule on each date.
func (r rruleRule) exDates(left []Filter, zone string, start time.Time) (string, error) {
	if len(left) == 0 {
		return "", nil
	}
	if r.Frequency < Day {
		return "", noRRule("except", "EXDATE names single runs, and a date has too many of them: write frequency day")
	}
	hours, minutes, seconds := r.clock(start)
	found := map[string]bool{}
	for _, f := range left {
		times := newDayFilter(&Filter{Times: f.Times}, 0).times
		for _, text := range f.Dates {
			if len(found)+len(hours)*len(minutes)*len(seconds) > maxExportedDates {
				return "", newError(CodeNoRRule, "except", text, "is one of more than %d times that EXDATE would have to name", maxExportedDates)
			}
			date, _ := time.Parse(time.DateOnly, text) // exportCalendar accepts no other texts
			for second := range clockSeconds(hours, minutes, seconds) {
				if len(times) > 0 && !inSpans(times, second) {
					continue
				}
				at, shown := placed(start.Location(), date, second)
				_, shownBefore := placed(start.Location(), date.AddDate(0, 0, -1), second)
				if !shown || !shownBefore {
					return "", newError(CodeNoRRule, "except", text, "EXDATE cannot name a time that the clocks skip")
				}
				if !slices.ContainsFunc(r.Also, func(e Recurrence) bool { return wholeSeconds(e.StartTime).Equal(at) }) {
					found[rruleTime(at.In(start.Location()), zone)] = true
				}
			}
		}
	}
	return dateLine("EXDATE", found, zone), nil
}

// clockSeconds yields the seconds of the day of every hour, minute and second.
func clockSeconds(hours, minutes, seconds []int) func(func(int64) bool) {
	return func(yield func(int64) bool) {
		for _, hour := range hours {
			for _, minute := range minutes {
				for _, second := range seconds {
					if !yield(int64(hour*3600 + minute*60 + second)) {
						return
					}
				}
			}
		}
	}
}

// placed returns the instant of a time of a day, and whether the clocks show it.
func placed(loc *time.Location, date time.Time, second int64) (at time.Time, shown bool) {
	wall := date.Add(time.Duration(second) * time.Second)
	at = resolveLocal(loc, wall)
	return at, onUTC(at.In(loc)).Equal(wall)
}

// rDates returns the RDATE line for the instants of Also, or "".
func (r Recurrence) rDates() string {
	found := map[string]bool{}
	for _, entry := range r.Also {
		if at := wholeSeconds(entry.StartTime).UTC(); r.EndTime.IsZero() || !at.After(r.EndTime) {
			found[rruleTime(at, "")] = true
		}
	}
	return dateLine("RDATE", found, "")
}

// rruleTime formats an instant: in UTC, or as local time of a zone.
func rruleTime(at time.Time, zone string) string {
	if zone == "" {
		return at.UTC().Format(rruleLocal + "Z")
	}
	return at.Format(rruleLocal)
}

// dateLine returns a line of times, with a line feed before it, or "" without times.
func dateLine(name string, times map[string]bool, zone string) string {
	if len(times) == 0 {
		return ""
	}
	return "\n" + rruleLine(name, zone, strings.Join(slices.Sorted(maps.Keys(times)), ","))
}

// rruleLine returns a line of times that are in a zone, or in UTC without one.
func rruleLine(name, zone, times string) string {
	if zone != "" {
		name += ";TZID=" + zone
	}
	return name + ":" + times
}
