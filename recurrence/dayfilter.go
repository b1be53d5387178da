package recurrence

import (
	"cmp"
	"slices"
)

// A span is a range of whole numbers, both ends included: of days, or of seconds of a day.
type span struct{ first, last int64 }

// A dayFilter is a compiled [Filter]: the days that fit it, and the times of these days that fit it.
type dayFilter struct {
	shapes shapeSet   // days that fit in every year
	dated  shapeSet   // days that fit only inside ranges or on feasts, for dates that are not the same in every year
	ranges []span     // of days, in order and not adjacent
	feasts *feastDays // nil: no date counts from Easter
	times  []span     // of seconds of a day, in order and not adjacent; nil: all

	ofYear *yearShapeSet // the days that fit what counts in the year; nil: all
}

// newDayFilter compiles a valid filter. Its weeks begin with a day, counted from Monday.
func newDayFilter(f *Filter, weekStart int64) *dayFilter {
	d := &dayFilter{}
	if y := newYearFields(f, weekStart); y != nil {
		d.ofYear = newYearShapeSet(y)
	}
	var yearly []span // of yearDay
	for _, text := range f.Dates {
		entry, _ := parseDates(text)
		switch {
		case entry.feast != noFeast:
			if d.feasts == nil {
				d.feasts = &feastDays{}
			}
			d.feasts.add(entry.feast, entry.first, entry.last)
		case !entry.yearly:
			d.ranges = append(d.ranges, span{entry.first, entry.last})
		case entry.first <= entry.last:
			yearly = append(yearly, span{entry.first, entry.last})
		default: // over New Year
			yearly = append(yearly, span{entry.first, yearDay(12, 31)}, span{yearDay(1, 1), entry.last})
		}
	}
	d.ranges = joinSpans(d.ranges)
	for _, text := range f.Times {
		switch first, last, _ := parseTimes(text); {
		case first <= last:
			d.times = append(d.times, span{int64(first), int64(last)})
		default: // over midnight
			d.times = append(d.times, span{int64(first), secondsPerDay - 1}, span{0, int64(last)})
		}
	}
	d.times = joinSpans(d.times)

	weekDays, months := maskOfWeekDays(f.WeekDays, 1<<7-1), maskOr(f.Months, 1, 1<<12-1)
	ofMonth := newMonthDaySet(f.MonthDays, f.MonthlyOccurrences)
	inYear := maskOfDates(yearly)
	changing := len(d.ranges) > 0 || d.feasts != nil
	for shape := range monthShapes {
		length, month := shapeLength(shape)
		if months>>month&1 == 0 {
			continue
		}
		days := ofMonth.mask(length, shape%7) & weekdayMask(weekDays, shape%7)
		if changing {
			d.dated[shape] = days
		}
		switch {
		case len(yearly) > 0:
			d.shapes[shape] = days & inYear[month]
		case !changing:
			d.shapes[shape] = days
		}
	}
	return d
}

// maskOfDates returns the days of each month that lie in ranges of dates of every year, which [yearDay] numbers. Bit 1 is the first day.
func maskOfDates(yearly []span) (days [12]uint32) {
	for _, s := range yearly {
		for month := s.first / 32; month <= s.last/32; month++ {
			from, to := int64(1), int64(31)
			if month == s.first/32 {
				from = s.first % 32
			}
			if month == s.last/32 {
				to = s.last % 32
			}
			days[month-1] |= uint32(uint64(1)<<(to+1) - 1<<from)
		}
	}
	return days
}

// joinSpans sorts spans and joins those that overlap or are adjacent.
func joinSpans(list []span) []span {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	joined := list[:0]
	for _, s := range list {
		if n := len(joined); n > 0 && s.first <= joined[n-1].last+1 {
			joined[n-1].last = max(joined[n-1].last, s.last)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// spanAt returns the index of the first span that ends at or after n.
func spanAt(list []span, n int64) int {
	low, high := 0, len(list)
	for low < high {
		if middle := (low + high) / 2; list[middle].last < n {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// inSpans reports whether one of the spans contains n.
func inSpans(list []span, n int64) bool {
	i := spanAt(list, n)
	return i < len(list) && list[i].first <= n
}

// inYear returns the days of a month that fit what counts in the year. row is the index of the month in a [yearShapeSet].
func (d *dayFilter) inYear(row int) uint32 {
	if d.ofYear == nil {
		return ^uint32(0)
	}
	return d.ofYear[row]
}

// onFeasts returns the days of a month that fit because they count from Easter.
func (d *dayFilter) onFeasts(month, first int64, shape int) uint32 {
	if d.feasts == nil {
		return 0
	}
	return d.dated[shape] & d.feasts.mask(month, first)
}

// mask returns the days of a month that fit, apart from what counts in the year. first is the number of its first day.
func (d *dayFilter) mask(month, first int64, shape int) uint32 {
	fits := d.shapes[shape]
	dated := d.dated[shape]
	if dated == 0 {
		return fits
	}
	fits |= d.onFeasts(month, first, shape)
	length := int64(lengthOf(month))
	for i := spanAt(d.ranges, first); i < len(d.ranges) && d.ranges[i].first < first+length; i++ {
		from, to := max(d.ranges[i].first-first+1, 1), min(d.ranges[i].last-first+1, length)
		fits |= dated & (1<<(to+1) - 1<<from)
	}
	return fits
}
