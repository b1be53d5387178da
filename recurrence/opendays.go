package recurrence

import (
	"math/bits"
	"slices"
)

// openDays determines which days are open: those that fit a filter of only, if there is one, and none of except without times.
//
// The days of every year are in two shapeSets. Dates with a year are in stretches of months. In a stretch all months of the same shape have the
// same open days, or the stretch is a single month whose days are known. So a month costs one search, however many dates there are.
type openDays struct {
	only       shapeSet     // days that fit a filter of only in every year; all days without filters of only
	closed     shapeSet     // days that fit a filter of except in every year
	filters    []*dayFilter // those with dates of a year; bit i of active is filter i
	onlyActive uint64       // which of the filters are of only
	stretches  []stretch    // in order; months before the first have no dates
}

// A stretch begins with a month and ends before the next stretch.
type stretch struct {
	month  int64
	known  bool   // it is a single month
	open   uint32 // its open days, if known
	active uint64 // the filters that have a range over all its days, if not known
}

// newOpenDays takes the filters of only, and the filters that close days.
func newOpenDays(only, closing []*dayFilter) *openDays {
	o := &openDays{}
	if len(only) == 0 {
		o.only.fill(func(_, _, _, _ int) bool { return true })
	}
	add := func(f *dayFilter, set *shapeSet, active uint64) {
		for shape := range set {
			set[shape] |= f.shapes[shape]
		}
		if len(f.ranges) > 0 {
			o.onlyActive |= active << len(o.filters)
			o.filters = append(o.filters, f)
		}
	}
	for _, f := range only {
		add(f, &o.only, 1)
	}
	for _, f := range closing {
		add(f, &o.closed, 0)
	}
	o.setStretches()
	return o
}

// setStretches finds the months in which a range of dates begins or ends, and the active filters between them.
func (o *openDays) setStretches() {
	type change struct {
		month int64
		turn  uint64 // filters whose bit changes with this month
		known bool   // the days of the month itself have to be computed
	}
	var changes []change
	for i, f := range o.filters {
		for _, r := range f.ranges {
			first, last := dateOf(r.first).month, dateOf(r.last).month
			changes = append(changes, change{month: first, known: true}, change{month: last, known: true})
			if first+1 < last {
				changes = append(changes, change{month: first + 1, turn: 1 << i}, change{month: last, turn: 1 << i})
			}
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return int(a.month - b.month) })
	active := uint64(0)
	for i := 0; i < len(changes); {
		s := stretch{month: changes[i].month}
		for ; i < len(changes) && changes[i].month == s.month; i++ {
			active ^= changes[i].turn
			s.known = s.known || changes[i].known
		}
		s.active = active
		if s.known {
			s.open = o.fromFilters(s.month)
		}
		o.stretches = append(o.stretches, s)
		if s.known && (i == len(changes) || changes[i].month > s.month+1) {
			o.stretches = append(o.stretches, stretch{month: s.month + 1, active: active})
		}
	}
}

// fromFilters computes the open days of a month from every filter.
func (o *openDays) fromFilters(month int64) uint32 {
	first := firstDayOf(month)
	shape := shapeOf(month, weekdayOfDay(first))
	only, closed := o.only[shape], o.closed[shape]
	for i, f := range o.filters {
		if o.onlyActive>>i&1 == 1 {
			only |= f.mask(month, first, shape)
		} else {
			closed |= f.mask(month, first, shape)
		}
	}
	return only &^ closed
}

// mask returns the open days of a month of that shape: bit 1 is the first.
func (o *openDays) mask(month int64, shape int) uint32 {
	low, high := 0, len(o.stretches) // stretches below low begin at or before the month
	for low < high {
		if middle := (low + high) / 2; o.stretches[middle].month <= month {
			low = middle + 1
		} else {
			high = middle
		}
	}
	only, closed := o.only[shape], o.closed[shape]
	if low > 0 {
		s := &o.stretches[low-1]
		if s.known {
			return s.open
		}
		for active := s.active; active != 0; active &= active - 1 {
			i := bits.TrailingZeros64(active)
			if o.onlyActive>>i&1 == 1 {
				only |= o.filters[i].dated[shape]
			} else {
				closed |= o.filters[i].dated[shape]
			}
		}
	}
	return only &^ closed
}

// has reports whether a day is open.
func (o *openDays) has(day int64) bool {
	date := dateOf(day)
	shape := shapeOf(date.month, mod(weekdayOfDay(day)-int64(date.day-1), 7))
	return o.mask(date.month, shape)>>date.day&1 == 1
}

// next returns the first open day at or after a day, or [never] if there is no such day up to a month.
func (o *openDays) next(day, lastMonth int64) int64 {
	return nextDay(day, lastMonth, o.maskOf)
}

// prev returns the last open day at or before a day, or [none] if there is no such day from a month on.
func (o *openDays) prev(day, firstMonth int64) int64 {
	return prevDay(day, firstMonth, o.maskOf)
}

// maskOf returns the open days of a month that begins with a day.
func (o *openDays) maskOf(month, first int64) uint32 {
	return o.mask(month, shapeOf(month, weekdayOfDay(first)))
}
