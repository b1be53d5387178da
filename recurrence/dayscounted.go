package recurrence

import "math/bits"

const (
	maxShiftBy     = 31 // the largest number of open days by which shiftBy moves a run
	maxCountedDays = 92 // the largest number of calendar days by which it moves one
)

// The functions below search for the days to which shiftBy moves the named ones: the days of the rule, or those to which shift moves them, or those
// at the positions.
//
// Without a calendar every day is open, so the search is one for named days. With a calendar, a search goes from month to month. It looks from the
// end of a month into the months before it (with a negative shiftBy, from its begin into those after it): a named day moves to the open day that is
// the n-th of those between it and that end.

// nextCounted returns the first of these days at or after a day, or [never] if there is no such day up to a month.
func (k *keptDays) nextCounted(day, lastMonth int64) int64 {
	if k.calendar != nil {
		c := countedMonths{keptDays: k}
		return nextDay(day, lastMonth, c.mask)
	}
	day -= k.shiftBy
	found := never
	switch {
	case k.positions == nil && k.limit == nil:
		found = k.days.next(day)
	case k.positions == nil:
		found = nextDay(day, lastMonth+2, k.named)
	case k.positions.unit == yearly:
		found = k.nextInYears(day, lastMonth+2)
	default:
		found = nextDay(day, lastMonth+2, k.mask)
	}
	if found == never {
		return never
	}
	return found + k.shiftBy
}

// prevCounted returns the last of these days at or before a day, or [none] if there is no such day from a month on.
func (k *keptDays) prevCounted(day, firstMonth int64) int64 {
	if k.calendar != nil {
		c := countedMonths{keptDays: k}
		return prevDay(day, firstMonth, c.mask)
	}
	day -= k.shiftBy
	found := none
	switch {
	case k.positions == nil:
		found = prevDay(day, firstMonth-2, k.named)
	case k.positions.unit == yearly:
		found = k.prevInYears(day, firstMonth-2)
	default:
		found = prevDay(day, firstMonth-2, k.mask)
	}
	if found == none {
		return none
	}
	return found + k.shiftBy
}

// countedMonths are the months around the one in which a search is. Each is computed once while the search goes in one direction.
type countedMonths struct {
	*keptDays
	months [8]countedMonth // by the number of the month modulo 8
	years  [2]struct {     // for positions in a year, by the year modulo 2
		year int64
		days [12]uint32
	}
}

// A countedMonth has the named and the open days of a month. Bit 1 is the first day.
type countedMonth struct {
	month, first int64
	named, open  uint32
}

// at returns a month that begins with a day.
func (c *countedMonths) at(month, first int64) *countedMonth {
	m := &c.months[month&7]
	if m.month != month {
		c.calendar.meter.add(1)
		open := c.calendar.openDays(month, first)
		*m = countedMonth{month, first, c.named(month, first, open), open}
	}
	return m
}

// named returns the days of a month from which shiftBy counts.
func (c *countedMonths) named(month, first int64, open uint32) uint32 {
	switch {
	case c.positions == nil && c.shift == ShiftDrop:
		return c.keptDays.named(month, first)
	case c.positions == nil:
		days := c.keptDays.named(month, first)
		return days&open | c.moved(month, first, days, open)
	case c.positions.unit != yearly:
		return c.positions.mask(c.candidates, month, first)
	}
	y := &c.years[month/12&1]
	if y.year != month/12 {
		y.year, y.days = month/12, c.yearDays(month/12)
	}
	return y.days[month%12]
}

// mask returns the days of a month to which named days move and on which a time of the rule is open: a [monthMask].
func (c *countedMonths) mask(month, first int64) (found uint32) {
	c.calendar.meter.add(1)
	runs := c.calendar.openDays(month, first)
	if c.windows != nil {
		runs = c.running(c.calendar.row(month, first))
	}
	if runs == 0 {
		return 0
	}
	// Days are numbered from the first day of the month, which is 1. direction is that from a day to the named ones that move to it.
	direction := int64(-1)
	if c.shiftBy < 0 {
		direction = 1
	}
	var targets [31]int64 // the open days of the month, in that direction
	n, passed := 0, 0     // their number, and that of all open days so far
	least := int(c.shiftBy * -direction)
	for at := first; ; {
		m := c.at(month, at)
		for left := m.named | m.open; left != 0; {
			bit := bits.TrailingZeros32(left)
			if direction < 0 {
				bit = 31 - bits.LeadingZeros32(left)
			}
			left &^= 1 << bit
			day := at - first + int64(bit)
			if i := passed - least; i >= 0 && m.named>>bit&1 == 1 {
				if i >= n {
					return found & runs
				}
				if (day-targets[i])*direction <= maxCountedDays {
					found |= 1 << targets[i]
				}
			}
			if m.open>>bit&1 == 0 {
				continue
			}
			if at == first {
				targets[n] = day
				n++
			}
			passed++
		}
		// The last target is the nearest one to the months that follow.
		edge := at - first // the last day of the month before
		if direction > 0 {
			edge += int64(lengthOf(month)) + 1
		}
		if passed-least >= n || (edge-targets[n-1])*direction > maxCountedDays {
			return found & runs
		}
		if direction > 0 {
			at += int64(lengthOf(month))
		} else {
			at -= int64(lengthOf(month - 1))
		}
		month += direction
	}
}
