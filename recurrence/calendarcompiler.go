package recurrence

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// A calendarCompiler builds one calendar.
type calendarCompiler struct {
	*calendar
	filters []calendarFilter
	limited bool // there is a filter of only
	within  bool // there is a filter of days
	left    int  // what is left of the budget of maxSteps

	// Filters with the same times share a bit. All filters of only without times share the bit whole, on which all times are open.
	times [][]span // of each bit
	only  uint64   // the bits of filters of only with times
	whole int      // -1: no such bit

	masks  []uint32         // of each bit: the days of a month that fit
	byBits map[uint64]int32 // the bits of a day -> its type
	byText map[string]int32 // windows as text -> the type
}

type calendarFilter struct {
	*dayFilter
	use filterUse
	bit int // -1: it closes days, or leaves days out
}

// A filterUse is the list that a filter is in.
type filterUse uint8

const (
	inOnly filterUse = iota
	inExcept
	inDays
)

// calendarFilters are the filters of a calendar. Open days fit one of only and none of except, and one of days if there are any. weekStart is the first
// day of the weeks of days, counted from Monday.
type calendarFilters struct {
	only, except, days []Filter
	weekStart          int64
}

// newCalendar compiles valid filters, and subtracts the steps from what is left of the budget. It returns nil if they are more.
func newCalendar(filters calendarFilters, left *int) *calendar {
	c := calendarCompiler{
		calendar: &calendar{windows: wholeDays}, left: *left, limited: len(filters.only) > 0, within: len(filters.days) > 0, whole: -1,
	}
	c.addFilters(filters)
	for _, f := range c.filters {
		if f.ofYear != nil {
			c.yearly = true
			c.left -= 12 * yearShapes
		}
	}
	if c.timed {
		c.byBits, c.byText, c.windows = map[uint64]int32{}, map[string]int32{}, nil
		c.masks = make([]uint32, len(c.times))
	}
	c.addShapes()
	c.addFeasts()
	c.addMonths()
	if *left = c.left; c.left < 0 {
		return nil
	}
	if c.timed {
		c.setSize()
	}
	return c.calendar
}

// addFilters compiles the filters and gives bits to those that determine times.
func (c *calendarCompiler) addFilters(filters calendarFilters) {
	hasTimes := func(f Filter) bool { return len(f.Times) > 0 }
	c.timed = slices.ContainsFunc(filters.only, hasTimes) || slices.ContainsFunc(filters.except, hasTimes)
	for i := range filters.only {
		f := calendarFilter{newDayFilter(&filters.only[i], 0), inOnly, -1}
		if c.timed {
			f.bit = c.bitOf(f.times, true)
		}
		c.filters = append(c.filters, f)
	}
	if !c.limited && c.timed {
		c.bitOf(nil, true)
	}
	for i := range filters.except {
		f := calendarFilter{newDayFilter(&filters.except[i], 0), inExcept, -1}
		if f.times != nil {
			f.bit = c.bitOf(f.times, false)
		}
		c.filters = append(c.filters, f)
	}
	for i := range filters.days {
		c.filters = append(c.filters, calendarFilter{newDayFilter(&filters.days[i], filters.weekStart), inDays, -1})
	}
}

// bitOf returns the bit for a filter with these times.
func (c *calendarCompiler) bitOf(times []span, only bool) int {
	for bit, known := range c.times {
		if slices.Equal(known, times) && (bit == c.whole) == (times == nil) && (times == nil || c.only>>bit&1 == 1 == only) {
			return bit
		}
	}
	bit := len(c.times)
	c.times = append(c.times, times)
	switch {
	case times == nil:
		c.whole = bit
	case only:
		c.only |= 1 << bit
	}
	return bit
}

// addShapes adds a row for each shape of a month, as it is outside all ranges of dates.
func (c *calendarCompiler) addShapes() {
	if !c.yearly {
		c.open = make([]uint32, 0, monthShapes)
		for shape := range monthShapes {
			c.addRow(shape, func(f *dayFilter, _ int) uint32 { return f.shapes[shape] })
		}
		return
	}
	c.open = make([]uint32, 0, len(yearShapeSet{}))
	for row := range cap(c.open) {
		month := shapeYears[row/12]*12 + int64(row%12)
		shape := shapeOf(month, weekdayOfDay(firstDayOf(month)))
		c.addRow(shape, func(f *dayFilter, _ int) uint32 { return f.shapes[shape] & f.inYear(row) })
	}
}

// addFeasts adds the rows of the months with days that count from Easter, as they are outside all ranges of dates.
func (c *calendarCompiler) addFeasts() {
	var all feastDays
	for _, f := range c.filters {
		if f.feasts != nil {
			all.join(f.feasts)
		}
	}
	if all.used() == 0 {
		return
	}
	rows := easterRows{used: all.used()}
	seen := map[uint32]bool{}
	for _, year := range easterKinds(rows.used, c.yearly) {
		c.left--
		first := firstDayOf(year * 12)
		for month := year * 12; month <= year*12+lastEasterMonth && c.left >= 0; month++ {
			shape, shapeRow := shapeOf(month, weekdayOfDay(first)), c.shapeRow(month, first)
			if key := rows.key(shapeRow, year); all.mask(month, first) != 0 && !seen[key] {
				seen[key] = true
				row := c.addRow(shape, func(f *dayFilter, _ int) uint32 {
					return (f.shapes[shape] | f.onFeasts(month, first, shape)) & f.inYear(shapeRow)
				})
				rows.rows = append(rows.rows, easterRow{key, row})
			}
			first += int64(lengthOf(month))
		}
	}
	slices.SortFunc(rows.rows, func(a, b easterRow) int { return cmp.Compare(a.key, b.key) })
	c.easter = &rows
}

// addMonths adds the rows of the months that ranges of dates touch. A month in which a range begins or ends has a row of its own. Of the others, those
// of the same shape share a row if they lie in ranges of the same filters.
func (c *calendarCompiler) addMonths() {
	type change struct {
		month int64
		turn  int // the filter whose range begins or ends to cover whole months with this month; -1: none
		edge  bool
	}
	var changes []change
	for i, f := range c.filters {
		for _, r := range f.ranges {
			first, last := dateOf(r.first).month, dateOf(r.last).month
			changes = append(changes, change{first, -1, true}, change{last, -1, true})
			if first+1 < last {
				changes = append(changes, change{first + 1, i, false}, change{last, i, false})
			}
		}
	}
	if len(changes) == 0 {
		return
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.month, b.month) })
	c.firstMonth = changes[0].month
	c.dated = make([]uint16, 0, changes[len(changes)-1].month-c.firstMonth+1)
	c.left -= len(changes) + cap(c.dated)

	covered := filterSet{}           // the filters with a range that covers the month
	rows := map[filterSet][]uint16{} // those of months without an edge, by covered and then by the row of the shape; 0: no row yet
	shapes := monthShapes
	if c.yearly {
		shapes = len(yearShapeSet{})
	}
	var shared []uint16
	var onFeasts map[coveredFeasts]uint16 // those of months without an edge that have days that count from Easter
	first := firstDayOf(c.firstMonth)
	for month := c.firstMonth; len(changes) > 0 && c.left >= 0; month++ {
		edge := false
		for len(changes) > 0 && changes[0].month == month {
			covered.toggle(changes[0].turn)
			edge = edge || changes[0].edge
			changes, shared = changes[1:], nil
		}
		shape, shapeRow := shapeOf(month, weekdayOfDay(first)), c.shapeRow(month, first)
		var row uint16
		switch {
		case edge:
			row = c.addRow(shape, func(f *dayFilter, _ int) uint32 { return f.mask(month, first, shape) & f.inYear(shapeRow) })
		case covered == filterSet{}:
			row = uint16(c.easter.rowOf(month, shapeRow))
		case c.easter.touches(month, shapeRow):
			key := coveredFeasts{covered, c.easter.key(shapeRow, month/12)}
			known := false
			if row, known = onFeasts[key]; !known {
				row = c.addRow(shape, func(f *dayFilter, i int) uint32 {
					return (f.shapes[shape] | f.dated[shape]*covered.bit(i) | f.onFeasts(month, first, shape)) & f.inYear(shapeRow)
				})
				if onFeasts == nil {
					onFeasts = map[coveredFeasts]uint16{}
				}
				onFeasts[key] = row
			}
		default:
			if shared == nil {
				if shared = rows[covered]; shared == nil {
					shared = make([]uint16, shapes)
					rows[covered] = shared
				}
			}
			if row = shared[shapeRow]; row == 0 {
				row = c.addRow(shape, func(f *dayFilter, i int) uint32 {
					return (f.shapes[shape] | f.dated[shape]*covered.bit(i)) & f.inYear(shapeRow)
				})
				shared[shapeRow] = row
			}
		}
		c.dated = append(c.dated, row)
		first += int64(lengthOf(month))
	}
}

// A filterSet is a set of filters, of which a calendar has at most 96.
type filterSet [2]uint64

// toggle adds a filter, or removes it. It ignores -1.
func (s *filterSet) toggle(i int) {
	if i >= 0 {
		s[i/64] ^= 1 << (i % 64)
	}
}

// bit returns 1 for a filter of the set, and 0 for another one.
func (s *filterSet) bit(i int) uint32 { return uint32(s[i/64] >> (i % 64) & 1) }

// coveredFeasts identifies a month by the filters with a range that covers it, and by its key in easterRows.
type coveredFeasts struct {
	covered filterSet
	key     uint32
}

// addRow adds a row for months of a shape and returns its index. fits returns the days that fit a filter, given its index.
func (c *calendarCompiler) addRow(shape int, fits func(f *dayFilter, i int) uint32) uint16 {
	c.left -= len(c.filters)
	length, _ := shapeLength(shape)
	clear(c.masks)
	open, closed, within := daysOf(length), uint32(0), ^uint32(0)
	if c.within {
		within = 0
	}
	if c.limited {
		open = 0
	} else if c.timed {
		c.masks[c.whole] = open
	}
	for i, f := range c.filters {
		days := fits(f.dayFilter, i)
		if f.bit >= 0 {
			c.masks[f.bit] |= days
		}
		switch {
		case f.use == inDays:
			within |= days
		case f.use == inOnly:
			open |= days
		case f.bit < 0:
			closed |= days
		}
	}
	open &= within &^ closed
	c.open = append(c.open, open)
	if c.timed {
		c.types = append(c.types, c.typesOf(open))
	}
	return uint16(len(c.open) - 1)
}

// typesOf returns the types of open days of a month, of which masks has the bits.
func (c *calendarCompiler) typesOf(open uint32) (list []dayType) {
	if c.whole >= 0 {
		for left := c.only; left != 0; left &= left - 1 {
			c.masks[bits.TrailingZeros64(left)] &^= c.masks[c.whole]
		}
	}
	for open != 0 && c.left >= 0 {
		c.left -= 1 + len(c.masks)/4
		day, fits, alike := bits.TrailingZeros32(open), uint64(0), open
		for bit, mask := range c.masks {
			if mask>>day&1 == 1 {
				fits |= 1 << bit
				alike &= mask
			} else {
				alike &^= mask
			}
		}
		open &^= alike
		kind := c.typeFor(fits)
		if i := slices.IndexFunc(list, func(t dayType) bool { return t.kind == kind }); i >= 0 {
			list[i].days |= alike
		} else {
			list = append(list, dayType{alike, kind})
		}
	}
	return list
}

// typeFor returns the type of the days that fit the filters of some bits.
func (c *calendarCompiler) typeFor(fits uint64) int32 {
	if kind, known := c.byBits[fits]; known {
		return kind
	}
	for left := fits; left != 0; left &= left - 1 {
		c.left -= 10 * (1 + len(c.times[bits.TrailingZeros64(left)]))
	}
	if c.left < 0 {
		return 0
	}
	windows := c.windowsFor(fits)
	text := make([]byte, 0, 6*len(windows))
	for _, w := range windows {
		text = binary.AppendUvarint(binary.AppendUvarint(text, uint64(w.first)), uint64(w.last))
	}
	kind, known := c.byText[string(text)]
	if !known {
		kind = int32(len(c.windows))
		c.byText[string(text)] = kind
		c.windows = append(c.windows, windows)
	}
	c.byBits[fits] = kind
	return kind
}

// windowsFor returns the open times of days that fit the filters of some bits: the times of its filters of only without the times of its filters of
// except.
func (c *calendarCompiler) windowsFor(fits uint64) (left []span) {
	var open, closed []span
	for ; fits != 0; fits &= fits - 1 {
		switch bit := bits.TrailingZeros64(fits); {
		case bit == c.whole:
			open = append(open, wholeDay...)
		case c.only>>bit&1 == 1:
			open = append(open, c.times[bit]...)
		default:
			closed = append(closed, c.times[bit]...)
		}
	}
	open, closed = joinSpans(open), joinSpans(closed)
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
