package recurrence

// A calendar says which days and times are open, by the filters of a rule.
type calendar struct {
	days   *openDays
	only   []*dayFilter // empty: all is open
	except []*dayFilter // those with times: the others close days
	timed  bool         // some times of open days may be closed
}

// newCalendar compiles valid filters. It returns nil if there are none.
func newCalendar(only, except []Filter) *calendar {
	if len(only)+len(except) == 0 {
		return nil
	}
	compiled := func(filters []Filter) (list []*dayFilter) {
		for i := range filters {
			list = append(list, newDayFilter(&filters[i]))
		}
		return list
	}
	c := &calendar{only: compiled(only)}
	all := compiled(except)
	c.days = newOpenDays(c.only, all)
	for _, f := range all {
		if f.times != nil {
			c.except = append(c.except, f)
		}
	}
	c.timed = len(c.except) > 0
	for _, f := range c.only {
		c.timed = c.timed || f.times != nil
	}
	return c
}

// openTimes says which times of an open day are open: bit i of only and except are the filters of the calendar that the day fits.
type openTimes struct {
	*calendar
	all          bool // whatever except has left
	only, except uint32
}

// on returns the open times of an open day.
func (c *calendar) on(day int64) openTimes {
	t := openTimes{calendar: c, all: len(c.only) == 0}
	if !c.timed {
		t.all = true
		return t
	}
	date := dateOf(day)
	first := day - int64(date.day-1)
	shape := shapeOf(date.month, weekdayOfDay(first))
	for i, f := range c.only {
		if f.mask(date.month, first, shape)>>date.day&1 == 1 {
			t.only |= 1 << i
			t.all = t.all || f.times == nil
		}
	}
	for i, f := range c.except {
		if f.mask(date.month, first, shape)>>date.day&1 == 1 {
			t.except |= 1 << i
		}
	}
	return t
}

// next returns the first open second of the day at or after a second.
func (t *openTimes) next(second int64) (open int64, ok bool) {
	for second < secondsPerDay {
		at := second
		for i, f := range t.calendar.except {
			if t.except>>i&1 == 1 {
				if n := spanAt(f.times, at); n < len(f.times) && f.times[n].first <= at {
					at = f.times[n].last + 1
				}
			}
		}
		if !t.all && at < secondsPerDay {
			nearest := int64(secondsPerDay)
			for i, f := range t.calendar.only {
				if t.only>>i&1 == 1 {
					if n := spanAt(f.times, at); n < len(f.times) {
						nearest = min(nearest, max(f.times[n].first, at))
					}
				}
			}
			at = nearest
		}
		if at == second {
			return at, true
		}
		second = at
	}
	return 0, false
}

// prev returns the last open second of the day at or before a second.
func (t *openTimes) prev(second int64) (open int64, ok bool) {
	for second >= 0 {
		at := second
		for i, f := range t.calendar.except {
			if t.except>>i&1 == 1 {
				if n := spanAt(f.times, at); n < len(f.times) && f.times[n].first <= at {
					at = f.times[n].first - 1
				}
			}
		}
		if !t.all && at >= 0 {
			nearest := int64(-1)
			for i, f := range t.calendar.only {
				if t.only>>i&1 == 1 {
					n := spanAt(f.times, at)
					if n < len(f.times) && f.times[n].first <= at {
						nearest = at
					} else if n > 0 {
						nearest = max(nearest, f.times[n-1].last)
					}
				}
			}
			at = nearest
		}
		if at == second {
			return at, true
		}
		second = at
	}
	return 0, false
}

// open reports whether the clock shows an open time of an open day.
func (c *calendar) open(wall int64) bool {
	day := floorDiv(wall, secondsPerDay)
	if !c.days.has(day) {
		return false
	}
	t := c.on(day)
	second := wall - day*secondsPerDay
	found, ok := t.next(second)
	return ok && found == second
}

// next returns the first open wall second at or after one, or [never] if there is none up to the end of a month.
func (c *calendar) next(wall, lastMonth int64) int64 {
	today := floorDiv(wall, secondsPerDay)
	for day := c.days.next(today, lastMonth); day != never; day = c.days.next(day+1, lastMonth) {
		second := int64(0)
		if day == today {
			second = wall - day*secondsPerDay
		}
		t := c.on(day)
		if found, ok := t.next(second); ok {
			return day*secondsPerDay + found
		}
	}
	return never
}

// prev returns the last open wall second at or before one, or [none] if there is none from the beginning of a month on.
func (c *calendar) prev(wall, firstMonth int64) int64 {
	today := floorDiv(wall, secondsPerDay)
	for day := c.days.prev(today, firstMonth); day != none; day = c.days.prev(day-1, firstMonth) {
		second := int64(secondsPerDay - 1)
		if day == today {
			second = wall - day*secondsPerDay
		}
		t := c.on(day)
		if found, ok := t.prev(second); ok {
			return day*secondsPerDay + found
		}
	}
	return none
}
