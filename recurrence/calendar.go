package recurrence

// A calendar determines by the filters of a rule which days and times are open. It never changes once made.
//
// It is a table of months: each month that a range of dates touches or may touch has a row, and before and after them all months of the same shape
// share one. If a filter has a field that counts in the year, the shape is that of the year, with the month. Months with dates that count from Easter
// share one if their Easter days are the same too. A row has the open days of a month and, if filters have times, their types. Days are of one type
// if the same times are open on them. So
// no search asks a filter: a month costs one look into the table, however many filters and dates there are.
type calendar struct {
	timed  bool // some times of open days may be closed
	yearly bool // some filters have fields that count in the year

	firstMonth int64       // of dated
	dated      []uint16    // the rows of the months that dates with a year may touch; other months have the row of their shape
	easter     *easterRows // of the other months; nil: no date counts from Easter

	open    []uint32    // of each row: the open days; bit 1 is the first
	types   [][]dayType // of each row, if timed: the types of its open days
	windows [][]span    // of each type: the open seconds, in order and not adjacent

	size  calendarSize
	meter *meter // counts the steps of searches; nil: they are not counted
}

// A dayType is the days of a month that are of one type. Bit 1 is the first day. The type is an index of windows.
type dayType struct {
	days uint32
	kind int32
}

// A meter counts the steps of searches: a month, a day with its times, or a minute with its blocks. Its methods may be called on nil.
type meter struct{ steps int }

func (m *meter) add(n int) {
	if m != nil {
		m.steps += n
	}
}

// row returns the index of the row of a month, given the number of its first day.
func (c *calendar) row(month, first int64) int {
	if i := uint64(month - c.firstMonth); i < uint64(len(c.dated)) {
		return int(c.dated[i])
	}
	row := c.shapeRow(month, first)
	if c.easter == nil {
		return row
	}
	return c.easter.rowOf(month, row)
}

// shapeRow returns the index of the row of the shape of a month, given the number of its first day. The first rows are those of the shapes.
func (c *calendar) shapeRow(month, first int64) int {
	if c.yearly {
		return 12*yearShapeOf(month/12) + int(month%12)
	}
	return shapeOf(month, weekdayOfDay(first))
}

// openDays returns the open days of a month that begins with a day: a [monthMask].
func (c *calendar) openDays(month, first int64) uint32 { return c.open[c.row(month, first)] }

// wholeDay is the open time of an open day for which no filter has times.
var wholeDay = []span{{0, secondsPerDay - 1}}

// wholeDays is the windows of a calendar without times: all days are of the type 0.
var wholeDays = [][]span{wholeDay}

// openOn returns the open times of a day, or nil if the day is closed.
func (c *calendar) openOn(day int64) []span {
	if kind := c.typeOf(day); kind >= 0 {
		return c.windows[kind]
	}
	return nil
}

// typeOf returns the type of a day, or -1 if the day is closed.
func (c *calendar) typeOf(day int64) int {
	date := dateOf(day)
	row := c.row(date.month, day-int64(date.day-1))
	switch {
	case c.open[row]>>date.day&1 == 0:
		return -1
	case !c.timed:
		return 0
	}
	types := c.types[row]
	i := 0
	for types[i].days>>date.day&1 == 0 {
		i++
	}
	return int(types[i].kind)
}

// isOpen reports whether the clock shows an open time of an open day.
func (c *calendar) isOpen(wall int64) bool {
	day := floorDiv(wall, secondsPerDay)
	return inSpans(c.openOn(day), wall-day*secondsPerDay)
}

// next returns the first open wall second from one wall second to another, or [never]. It is for a few days.
func (c *calendar) next(wall, last int64) int64 {
	for day := floorDiv(wall, secondsPerDay); day*secondsPerDay <= last; day++ {
		c.meter.add(1)
		open, midnight := c.openOn(day), day*secondsPerDay
		if i := spanAt(open, wall-midnight); i < len(open) {
			if found := max(midnight+open[i].first, wall); found <= last {
				return found
			}
			return never
		}
	}
	return never
}

// prev returns the last open wall second at or before one, and not before another, or [none]. It is for a few days.
func (c *calendar) prev(wall, first int64) int64 {
	for day := floorDiv(wall, secondsPerDay); (day+1)*secondsPerDay > first; day-- {
		c.meter.add(1)
		open, midnight := c.openOn(day), day*secondsPerDay
		i := spanAt(open, wall-midnight)
		found := none
		if i < len(open) && midnight+open[i].first <= wall {
			found = wall
		} else if i > 0 {
			found = midnight + open[i-1].last
		}
		switch {
		case found >= first:
			return found
		case found != none:
			return none
		}
	}
	return none
}
