package recurrence

import "math/bits"

// monthDaySet is a set of the days of a month, by their numbers and by the occurrences of weekdays. If both are given, a day must fit both.
type monthDaySet struct {
	numbered bool // by numbers
	nth      bool // by occurrences

	fromStart, fromEnd uint32    // bit n is the n-th day, and the n-th from the end
	occurrences        [11]uint8 // weekdays; the index is the occurrence plus 5, so 5 is for every one; bit 0 is Monday
}

func newMonthDaySet(days []int, occurrences []NthWeekday) (s monthDaySet) {
	s.numbered, s.nth = len(days) > 0, len(occurrences) > 0
	for _, day := range days {
		if day > 0 {
			s.fromStart |= 1 << day
		} else {
			s.fromEnd |= 1 << -day
		}
	}
	for _, o := range occurrences {
		s.occurrences[o.N+5] |= 1 << daysSinceMonday(o.Day)
	}
	return s
}

// empty reports whether neither numbers nor occurrences are given.
func (s *monthDaySet) empty() bool { return !s.numbered && !s.nth }

// mask returns the days of the set in a month of that length whose first day is a weekday, counted from Monday. Bit 1 is the first.
func (s *monthDaySet) mask(length, firstWeekday int) uint32 {
	days := daysOf(length)
	if s.numbered {
		// The n-th day from the end is the day length+1-n.
		days &= s.fromStart | uint32(uint64(bits.Reverse32(s.fromEnd))<<1>>(31-length))
	}
	if !s.nth {
		return days
	}
	fits := uint32(0)
	for i, weekdays := range s.occurrences {
		if weekdays == 0 {
			continue
		}
		in := weekdayMask(weekdays, firstWeekday)
		switch n := i - 5; {
		case n > 0:
			in &= 0x7f << (7*n - 6)
		case n < 0:
			in &= uint32(uint64(0x7f) << (length + 7*n + 8) >> 7)
		}
		fits |= in
	}
	return days & fits
}

// weekdayMask returns the days of six weeks that are one of the weekdays, beginning with a weekday. Bit 1 is the first day, bit 0 of weekdays is Monday.
func weekdayMask(weekdays uint8, firstWeekday int) uint32 {
	const everyWeek = 1 | 1<<7 | 1<<14 | 1<<21 | 1<<28 | 1<<35
	return uint32(uint64(weekdays) * everyWeek >> firstWeekday << 1)
}
