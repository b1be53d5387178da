package recurrence

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// noRRule returns the error for a field that RFC 5545 cannot express.
func noRRule(field, reason string) *Error { return newError(CodeNoRRule, field, "", "%s", reason) }

// An rruleCalendar is the calendar of an RRULE: a limit of days, and excluded dates.
type rruleCalendar struct {
	limit Filter   // without dates and times
	left  []Filter // of single dates, some with times
}

// exportCalendar returns the calendar of a rule, if RFC 5545 can express it.
func (r Recurrence) exportCalendar() (c rruleCalendar, err error) {
	switch {
	case r.Shift != ShiftDrop:
		return c, noRRule("shift", "RFC 5545 moves no days: remove shift")
	case r.ShiftBy != 0:
		return c, noRRule("shiftBy", "RFC 5545 moves no days: remove shiftBy")
	case r.Count > 0 && len(r.Only)+len(r.Except)+len(r.Positions)+len(r.Also) > 0:
		return c, noRRule("count", "COUNT counts what the calendar leaves out: write endTime")
	case len(r.Only) > 1 || len(r.Only) == 1 && len(r.Only[0].Dates)+len(r.Only[0].Times) > 0:
		return c, noRRule("only", "RFC 5545 limits days by one filter without dates and times")
	}
	picks := false
	for _, rule := range r.rules() {
		picks = picks || len(rule.Positions) > 0
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
		case slices.ContainsFunc(f.Dates, func(d string) bool { _, _, ok := cutFeast(d); return ok }):
			return c, noRRule(indexPath("except", i), "RFC 5545 has no Easter: write the dates of each year")
		case byDay && !byDate && others+len(f.Times) == 0:
			c.limit.WeekDays = withoutDays(c.limit.WeekDays, f.WeekDays)
		case byDate && !byDay && others == 0 && single && (!picks || len(f.Times) > 0): // a filter with times closes no day that positions count
			c.left = append(c.left, f)
		default:
			return c, noRRule(indexPath("except", i), "RFC 5545 leaves out weekdays and single dates only, and next to positions dates with times only")
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

// rDates returns the RDATE line for the instants of Also, or "". If DTSTART is that of rules in Also, the start is one of the instants.
func (r Recurrence) rDates(withStart bool) string {
	found := map[string]bool{}
	entries := r.Also
	if withStart {
		entries = append(slices.Clone(entries), Recurrence{StartTime: r.StartTime})
	}
	for _, entry := range entries {
		if !entry.runsOnce() {
			continue
		}
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
