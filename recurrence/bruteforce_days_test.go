package recurrence

import (
	"slices"
	"time"
)

// Days are represented by their midnight in UTC.

const maxMoved = 31 // maximum number of days by which a run is moved

// keptDays returns the days on which a rule runs, from one day on and before another, after positions, shift and calendar are applied.
func (b *bruteRule) keptDays(first, last time.Time) map[time.Time]bool {
	kept := map[time.Time]bool{}
	for day := first.AddDate(0, 0, -maxMoved); day.Before(last.AddDate(0, 0, maxMoved)); day = day.AddDate(0, 0, 1) {
		if !b.matchesDay(day) {
			continue
		}
		switch {
		case len(b.Positions) > 0:
			if b.hasPosition(day) {
				kept[day] = true
			}
		case b.isOpen(day):
			kept[day] = true
		default:
			if open, ok := b.shifted(day); ok {
				kept[open] = true
			}
		}
	}
	for day := range kept {
		if day.Before(first) || !day.Before(last) {
			delete(kept, day)
		}
	}
	return kept
}

// shifted returns the day to which a closed day moves.
func (b *bruteRule) shifted(day time.Time) (time.Time, bool) {
	sameMonth := func(other time.Time) bool { return other.Month() == day.Month() }
	anyMonth := func(time.Time) bool { return true }
	// nearest tries the days at a distance of 1, 2, 3 … in the given directions.
	nearest := func(allowed func(time.Time) bool, directions ...int) (time.Time, bool) {
		for distance := 1; distance <= maxMoved; distance++ {
			for _, direction := range directions {
				if other := day.AddDate(0, 0, direction*distance); allowed(other) && b.isOpen(other) {
					return other, true
				}
			}
		}
		return time.Time{}, false
	}
	switch b.Shift {
	case ShiftNext:
		return nearest(anyMonth, 1)
	case ShiftPrevious:
		return nearest(anyMonth, -1)
	case ShiftNearest:
		return nearest(anyMonth, 1, -1)
	case ShiftNextInMonth:
		if other, ok := nearest(sameMonth, 1); ok {
			return other, true
		}
		return nearest(sameMonth, -1)
	case ShiftPreviousInMonth:
		if other, ok := nearest(sameMonth, -1); ok {
			return other, true
		}
		return nearest(sameMonth, 1)
	case ShiftNearestInMonth:
		return nearest(sameMonth, 1, -1)
	}
	return time.Time{}, false
}

// hasPosition reports whether a day has one of the positions among the open days of its period that the rule names.
func (b *bruteRule) hasPosition(day time.Time) bool {
	days := b.openDaysOfPeriod(day)
	i := slices.IndexFunc(days, day.Equal)
	return i >= 0 && (slices.Contains(b.Positions, i+1) || slices.Contains(b.Positions, i-len(days)))
}

// openDaysOfPeriod returns the open days that the rule names in the week, month or year of a day, in order.
func (b *bruteRule) openDaysOfPeriod(day time.Time) (days []time.Time) {
	var first, after time.Time
	switch y, m, _ := day.Date(); b.Frequency {
	case Week:
		first, after = mondayOf(day), mondayOf(day).AddDate(0, 0, 7)
	case Month:
		first, after = time.Date(y, m, 1, 0, 0, 0, 0, time.UTC), time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC)
	case Year:
		first, after = time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(y+1, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if known, ok := b.placed[first]; ok {
		return known
	}
	for d := first; d.Before(after); d = d.AddDate(0, 0, 1) {
		if b.matchesDay(d) && b.isOpen(d) {
			days = append(days, d)
		}
	}
	b.placed[first] = days
	return days
}

func mondayOf(day time.Time) time.Time { return day.AddDate(0, 0, -(int(day.Weekday())+6)%7) }

// matchesDay reports whether a day is one of the rule's days, without the calendar.
func (b *bruteRule) matchesDay(day time.Time) bool {
	y, m, d := day.Date()
	if f := b.cron; f != nil {
		date := f.daysOfMonth>>d&1 == 1
		weekday := f.weekDays>>day.Weekday()&1 == 1
		if f.domRestricted && f.dowRestricted {
			date = date || weekday
			weekday = date
		}
		return f.months>>m&1 == 1 && date && weekday
	}
	begin := time.Date(b.start.Year(), b.start.Month(), b.start.Day(), 0, 0, 0, 0, time.UTC)
	days := func(from, to time.Time) int { return int((to.Unix() - from.Unix()) / 86400) } // a Duration is too short
	periods := 0
	switch b.Frequency {
	case Day:
		periods = days(begin, day)
	case Week:
		periods = days(mondayOf(begin), mondayOf(day)) / 7
	case Month:
		periods = (y-begin.Year())*12 + int(m) - int(begin.Month())
	case Year:
		periods = y - begin.Year()
	}
	if periods%b.Interval != 0 {
		return false
	}
	everyDay := len(b.Positions) > 0 // unless a day element is given
	byMonth := len(b.Months) == 0 || slices.Contains(b.Months, m)
	switch b.Frequency {
	case Week:
		if len(b.WeekDays) > 0 {
			return slices.Contains(b.WeekDays, day.Weekday())
		}
		return everyDay || day.Weekday() == begin.Weekday()
	case Month:
		if len(b.MonthDays)+len(b.MonthlyOccurrences) > 0 {
			return byMonth && hasMonthDay(b.MonthDays, day) && hasNthWeekday(b.MonthlyOccurrences, day)
		}
		return byMonth && (everyDay || d == begin.Day())
	case Year:
		if everyDay {
			return byMonth
		}
		return d == begin.Day() && byMonth && (len(b.Months) > 0 || m == begin.Month())
	}
	return true
}

// hasMonthDay reports whether a day is one of the given days of its month. If none are given, it is true.
func hasMonthDay(list []int, day time.Time) bool {
	last := time.Date(day.Year(), day.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return len(list) == 0 || slices.Contains(list, day.Day()) || slices.Contains(list, day.Day()-last-1)
}

// hasNthWeekday reports whether a day is one of the given weekdays of its month. If none are given, it is true.
func hasNthWeekday(list []NthWeekday, day time.Time) bool {
	if len(list) == 0 {
		return true
	}
	nth, back := 0, 0
	for other := day; other.Month() == day.Month(); other = other.AddDate(0, 0, -7) {
		nth++
	}
	for other := day; other.Month() == day.Month(); other = other.AddDate(0, 0, 7) {
		back--
	}
	return slices.ContainsFunc(list, func(o NthWeekday) bool {
		return o.Day == day.Weekday() && (o.N == 0 || o.N == nth || o.N == back)
	})
}
