package recurrence_test

import "slices"

const (
	maxShift   = 31 // days by which shift moves a run at most
	maxShiftBy = 92 // days by which shiftBy then moves it at most
)

// runDays returns the days in [first, last) on which the rule runs, after positions, calendar, shift and shiftBy.
func (b *jsonModel) runDays(first, last int) map[int]bool {
	run := map[int]bool{}
	margin := 0
	if b.Shift != "" {
		margin = maxShift
	}
	if b.ShiftBy != 0 {
		margin += maxShiftBy
	}
	for n := first - margin; n < last+margin; n++ {
		if !b.named(n) {
			continue
		}
		if to, ok := b.moved(n); ok && first <= to && to < last {
			run[to] = true
		}
	}
	return run
}

// moved returns the day on which the run of a named day takes place.
func (b *jsonModel) moved(n int) (int, bool) {
	at := n
	switch {
	case len(b.sched.Positions) > 0:
		if !b.hasPosition(n) {
			return 0, false
		}
	case b.isOpen(n):
	case b.Shift != "" && b.Shift != "drop":
		to, ok := b.shifted(n)
		if !ok {
			return 0, false
		}
		at = to
	case b.ShiftBy == 0:
		return 0, false
	}
	step, origin := 1, at
	if b.ShiftBy < 0 {
		step = -1
	}
	for left := b.ShiftBy * step; left > 0; {
		if at += step; at-origin > maxShiftBy || origin-at > maxShiftBy {
			return 0, false
		}
		if b.isOpen(at) {
			left--
		}
	}
	return at, true
}

// shifted returns the open day to which shift moves a closed day.
func (b *jsonModel) shifted(n int) (int, bool) {
	var inMonth bool
	try := func(directions ...int) (int, bool) {
		for distance := 1; distance <= maxShift; distance++ {
			for _, direction := range directions {
				to := n + direction*distance
				if b.isOpen(to) && (!inMonth || dayAt(to).month == dayAt(n).month) {
					return to, true
				}
			}
		}
		return 0, false
	}
	switch b.Shift {
	case "next":
		return try(1)
	case "previous":
		return try(-1)
	case "nearest":
		return try(1, -1)
	}
	inMonth = true
	switch b.Shift {
	case "nextInMonth":
		if to, ok := try(1); ok {
			return to, ok
		}
		return try(-1)
	case "previousInMonth":
		if to, ok := try(-1); ok {
			return to, ok
		}
		return try(1)
	}
	return try(1, -1) // nearestInMonth
}

func (b *jsonModel) isOpen(n int) bool {
	if len(b.only) > 0 && !slices.ContainsFunc(b.only, func(f *modelFilter) bool { return f.fitsDay(n) }) {
		return false
	}
	return !slices.ContainsFunc(b.except, func(f *modelFilter) bool { return len(f.times) == 0 && f.fitsDay(n) })
}

// isOpenAt reports whether a run may show a second of a day: both fit one filter of only, and no filter of except.
func (b *jsonModel) isOpenAt(n, second int) bool {
	fits := func(f *modelFilter) bool { return f.fitsTime(second) && f.fitsDay(n) }
	return (len(b.only) == 0 || slices.ContainsFunc(b.only, fits)) && !slices.ContainsFunc(b.except, fits)
}

// hasPosition reports whether a day has one of the positions among the open days of its period that the rule names.
func (b *jsonModel) hasPosition(n int) bool {
	var period func(n int) int
	switch b.Frequency {
	case "week":
		period = func(n int) int { return weekBegin(n, b.weekStart) }
	case "month":
		period = func(n int) int { return dayAt(n).year*12 + dayAt(n).month }
	case "year":
		period = func(n int) int { return dayAt(n).year }
	}
	first := n
	for period(first-1) == period(n) {
		first--
	}
	days, ok := b.placed[first]
	if !ok {
		for other := first; period(other) == period(n); other++ {
			if b.named(other) && b.isOpen(other) {
				days = append(days, other)
			}
		}
		b.placed[first] = days
	}
	i := slices.Index(days, n)
	return i >= 0 && counted(b.sched.Positions, i+1, len(days))
}

// inDays reports whether a day fits a filter of days. Without a filter every day does.
func (b *jsonModel) inDays(n int) bool {
	return len(b.days) == 0 || slices.ContainsFunc(b.days, func(f *modelFilter) bool { return f.fitsDay(n) })
}

// named reports whether the rule names a day, before positions and calendar.
func (b *jsonModel) named(n int) bool {
	day, s := dayAt(n), b.sched
	if b.cron != nil {
		return b.cron.names(day)
	}
	start := dayAt(b.startDay)
	periods := 0
	switch b.Frequency {
	case "day":
		periods = n - b.startDay
	case "week":
		periods = (weekBegin(n, b.weekStart) - weekBegin(b.startDay, b.weekStart)) / 7
	case "month":
		periods = (day.year-start.year)*12 + day.month - start.month
	case "year":
		periods = day.year - start.year
	}
	if periods%b.interval != 0 || !b.inDays(n) || len(s.Months) > 0 && !slices.Contains(s.Months, day.month) {
		return false
	}
	everyDay := len(b.days) > 0 || len(s.Positions) > 0 // unless an element names days
	switch b.Frequency {
	case "week":
		if len(s.WeekDays) > 0 {
			return slices.Contains(s.WeekDays, day.weekday)
		}
		return everyDay || day.weekday == start.weekday
	case "month":
		if len(s.MonthDays)+len(s.MonthlyOccurrences) > 0 {
			return (len(s.MonthDays) == 0 || counted(s.MonthDays, day.day, day.monthLength)) &&
				(len(s.MonthlyOccurrences) == 0 || nth(s.MonthlyOccurrences, day.weekday, day.day, day.monthLength))
		}
		return everyDay || day.day == start.day
	case "year":
		return everyDay || day.day == start.day && (len(s.Months) > 0 || day.month == start.month)
	}
	return true
}
