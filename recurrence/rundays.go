package recurrence

import (
	"math/bits"
	"slices"
)

// runDays are the open days on which a time of day of a rule is open. If filters have times, most days of centuries may be open and have no such
// time: a search skips these a month at a time.
type runDays struct {
	calendar *calendar
	windows  [][]span  // of each type of day: the open times that the rule can meet
	may      *openDays // every day with an open time is in it
	partly   bool      // not all days of may have an open time: a filter of except closes some of the rule's times and not all
}

func newRunDays(c *calendar, times *timesOfDay, windows [][]span) *runDays {
	d := &runDays{calendar: c, windows: windows}
	var only []*dayFilter
	closing := slices.Clip(c.closing)
	for i, f := range c.filters {
		switch meets := f.times == nil || times.meets(f.times); {
		case c.only>>i&1 == 1 && meets:
			only = append(only, f)
		case c.only>>i&1 == 1 || !meets:
			// it opens none of the times, or closes none
		case times.within(f.times):
			closing = append(closing, f)
		default:
			d.partly = true
		}
	}
	switch {
	case c.only != 0 && len(only) == 0:
		d.may = &openDays{} // no day
	case len(only) == bits.OnesCount64(c.only) && len(closing) == len(c.closing):
		d.may = c.days
	default:
		d.may = newOpenDays(only, closing)
	}
	return d
}

// mask returns the days of a month: a [monthMask].
func (d *runDays) mask(month, first int64) uint32 {
	days := d.may.maskOf(month, first)
	if days == 0 || !d.partly {
		return days
	}
	c := d.calendar
	var masks [2 * maxFilters]uint32
	shape := shapeOf(month, weekdayOfDay(first))
	for i, f := range c.filters {
		masks[i] = f.mask(month, first, shape)
	}
	for left := days; left != 0; { // the days of one type after the other
		day := bits.TrailingZeros32(left)
		fits, alike := uint64(0), left
		for i := range c.filters {
			if masks[i]>>day&1 == 1 {
				fits |= 1 << i
				alike &= masks[i]
			} else {
				alike &^= masks[i]
			}
		}
		if len(d.windows[c.types[fits]]) == 0 {
			days &^= alike
		}
		left &^= alike
	}
	return days
}
