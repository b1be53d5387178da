package recurrence

import (
	"iter"
	"maps"
	"math/bits"
	"slices"
)

// A calendar determines by the filters of a rule which days and times are open.
//
// Filters with times leave some times of a day open. Which ones depends only on the set of filters that the day fits: its type. There are few
// types, and the open times of each are computed once, as windows. So a query for a time costs one search, however many filters there are.
type calendar struct {
	days    *openDays
	closing []*dayFilter // the filters of except without times

	timed   bool           // some times of open days may be closed
	filters []*dayFilter   // the filters that decide which times are open: first those of only, then those of except
	only    uint64         // which of the filters are of only
	types   map[uint64]int // the filters that a day fits, as bits -> index in windows
	windows [][]span       // of each type: the open seconds, in order and not adjacent
}

// maxWindows limits the types of days and the ranges of times that are computed for them. A calendar that people write has a few.
const maxWindows = 100_000

// newCalendar compiles valid filters. It returns nil without filters.
func newCalendar(only, except []Filter) (*calendar, error) {
	if len(only)+len(except) == 0 {
		return nil, nil
	}
	compiled := func(filters []Filter) (list []*dayFilter) {
		for i := range filters {
			list = append(list, newDayFilter(&filters[i]))
		}
		return list
	}
	onlys := compiled(only)
	c := &calendar{filters: onlys, only: 1<<len(onlys) - 1}
	for _, f := range compiled(except) {
		if f.times == nil {
			c.closing = append(c.closing, f)
		} else {
			c.filters = append(c.filters, f)
		}
	}
	c.days = newOpenDays(onlys, c.closing)
	c.timed = slices.ContainsFunc(c.filters, func(f *dayFilter) bool { return f.times != nil })
	if c.timed && !c.setTypes() {
		field := "except"
		if !slices.ContainsFunc(except, func(f Filter) bool { return len(f.Times) > 0 }) {
			field = "only"
		}
		return nil, newError(CodeFilterSize, field, "", "the filters with times combine to more than %d ranges on days of different types: write fewer, or fewer times in each", maxWindows)
	}
	return c, nil
}

// setTypes finds the existing types of days, and computes the windows of each. It reports whether they are within the limit.
func (c *calendar) setTypes() bool {
	c.types = map[uint64]int{}
	masks, left := make([]uint32, len(c.filters)), maxWindows
	for shape := range monthShapes {
		for i, f := range c.filters {
			masks[i] = f.shapes[shape]
		}
		if !c.addTypes(masks, &left) {
			return false
		}
	}
	for month := range c.datedMonths() {
		first := firstDayOf(month)
		shape := shapeOf(month, weekdayOfDay(first))
		for i, f := range c.filters {
			masks[i] = f.mask(month, first, shape)
		}
		if !c.addTypes(masks, &left) {
			return false
		}
	}
	return true
}

// datedMonths yields the months in which a filter has dates with a year.
func (c *calendar) datedMonths() iter.Seq[int64] {
	months := map[int64]bool{}
	for _, f := range c.filters {
		for _, r := range f.ranges {
			for month := dateOf(r.first).month; month <= dateOf(r.last).month; month++ {
				months[month] = true
			}
		}
	}
	return maps.Keys(months)
}

// addTypes computes the windows of the types that the days of a month have; the masks are the days that fit each filter. It subtracts the types
// and ranges from left, and reports whether left was enough.
func (c *calendar) addTypes(masks []uint32, left *int) bool {
	for day := 1; day <= 31; day++ {
		fits := uint64(0)
		for i, mask := range masks {
			fits |= uint64(mask>>day&1) << i
		}
		if _, known := c.types[fits]; known {
			continue
		}
		for i, f := range c.filters {
			if fits>>i&1 == 1 {
				*left -= 1 + len(f.times)
			}
		}
		if *left < 0 {
			return false
		}
		c.types[fits] = len(c.windows)
		c.windows = append(c.windows, c.openOn(fits))
	}
	return true
}

// openOn returns the open times of a day that fits some of the filters: the times of its filters of only, or all times if it fits no filter of only, without
// the times of its filters of except.
func (c *calendar) openOn(fits uint64) []span {
	var open, closed []span
	whole := c.only == 0
	for ; fits != 0; fits &= fits - 1 {
		i := bits.TrailingZeros64(fits)
		switch f := c.filters[i]; {
		case c.only>>i&1 == 0:
			closed = append(closed, f.times...)
		case f.times == nil:
			whole = true
		default:
			open = append(open, f.times...)
		}
	}
	if whole {
		open = []span{{0, secondsPerDay - 1}}
	}
	open, closed = joinSpans(open), joinSpans(closed)
	var left []span
	for _, s := range open {
		for i := spanAt(closed, s.first); i < len(closed) && closed[i].first <= s.last; i++ {
			if closed[i].first > s.first {
				left = append(left, span{s.first, closed[i].first - 1})
			}
			s.first = closed[i].last + 1
		}
		if s.first <= s.last {
			left = append(left, s)
		}
	}
	return left
}

// typeOf returns the type of a day.
func (c *calendar) typeOf(day int64) int {
	date := dateOf(day)
	first := day - int64(date.day-1)
	shape := shapeOf(date.month, weekdayOfDay(first))
	fits := uint64(0)
	for i, f := range c.filters {
		fits |= uint64(f.mask(date.month, first, shape)>>date.day&1) << i
	}
	return c.types[fits]
}

// wholeDay is the open time of an open day for which no filter has times.
var wholeDay = []span{{0, secondsPerDay - 1}}

// open reports whether the clock shows an open time of an open day.
func (c *calendar) open(wall int64) bool {
	day := floorDiv(wall, secondsPerDay)
	if !c.days.has(day) {
		return false
	}
	return inSpans(c.onIf(day, nil, 0), wall-day*secondsPerDay)
}

// next returns the first open wall second at or after one, or [never] if there is no such second up to the end of a month. It skips days on which nothing
// may run at that offset.
func (c *calendar) next(wall, lastMonth int64, may *slots, offset int64) int64 {
	today := floorDiv(wall, secondsPerDay)
	second := wall - today*secondsPerDay
	for day := c.days.next(today, lastMonth); day != never; day = c.days.next(day+1, lastMonth) {
		if day > today {
			second = 0
		}
		if open := c.onIf(day, may, offset); len(open) > 0 {
			if i := spanAt(open, second); i < len(open) {
				return day*secondsPerDay + max(open[i].first, second)
			}
		}
	}
	return never
}

// prev returns the last open wall second at or before one, or [none] if there is no such second from the beginning of a month on. It skips days on which
// nothing may run at that offset.
func (c *calendar) prev(wall, firstMonth int64, may *slots, offset int64) int64 {
	today := floorDiv(wall, secondsPerDay)
	second := wall - today*secondsPerDay
	for day := c.days.prev(today, firstMonth); day != none; day = c.days.prev(day-1, firstMonth) {
		if day < today {
			second = secondsPerDay - 1
		}
		open := c.onIf(day, may, offset)
		i := spanAt(open, second)
		if i < len(open) && open[i].first <= second {
			return day*secondsPerDay + second
		}
		if i > 0 {
			return day*secondsPerDay + open[i-1].last
		}
	}
	return none
}

// onIf returns the open times of an open day, or none if nothing may run on it.
func (c *calendar) onIf(day int64, may *slots, offset int64) []span {
	if !c.timed {
		return wholeDay
	}
	kind := c.typeOf(day)
	if !may.mayRun(day, kind, offset) {
		return nil
	}
	return c.windows[kind]
}
