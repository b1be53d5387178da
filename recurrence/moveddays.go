package recurrence

import "math/bits"

// maxShift is the maximum number of days by which a shift moves a run.
const maxShift = 31

// moved returns the days of a month to which closed days of the rule are moved. days are those of the rule, and open the open ones.
//
// A closed day lies in a gap between two open days, and is moved to one of them. So only the open days around the gaps in which the rule has days can
// have a day moved to them, and the first and the last open day of the month, for gaps that extend into another month.
func (k *keptDays) moved(month, first int64, days, open uint32) (found uint32) {
	if open == 0 {
		return 0
	}
	around := uint32(0)
	for left := days &^ open; left != 0; {
		day := left & -left
		above := open &^ (day - 1)
		above &= -above // the open day after the gap
		around |= above | highestBit(open&(day-1))
		left &^= above - 1 // without the other days of the gap; all, if the gap is the last one
	}
	if k.shift != ShiftPrevious && k.shift < ShiftNextInMonth {
		around |= open & -open
	}
	if k.shift != ShiftNext && k.shift < ShiftNextInMonth {
		around |= highestBit(open)
	}
	length := int64(lengthOf(month))
	for ; around != 0; around &= around - 1 {
		day := bits.TrailingZeros32(around)
		if k.movesTo(int64(day), length, month, first, days, open) {
			found |= 1 << day
		}
	}
	return found
}

// highestBit returns the highest bit of a mask, or 0.
func highestBit(mask uint32) uint32 {
	if mask == 0 {
		return 0
	}
	return 1 << (31 - bits.LeadingZeros32(mask))
}

// movesTo reports whether a day of the rule is moved to an open day of a month. Days are counted from the one before the first, which is 0; those of
// other months are below 1 or above length.
func (k *keptDays) movesTo(day, length, month, first int64, days, open uint32) bool {
	inMonth := k.shift >= ShiftNextInMonth
	before, after := none, never // the open days around it
	if bit, ok := prevBit(uint64(open), int(day-1)); ok {
		before = int64(bit)
	} else if !inMonth {
		before = k.openBefore(first) - first + 1
	}
	if bit, ok := nextBit(uint64(open), int(day+1)); ok {
		after = int64(bit)
	} else if !inMonth {
		after = k.openAfter(first+length-1) - first + 1
	}

	from, to := max(before+1, day-maxShift), min(after-1, day+maxShift)
	switch k.shift {
	case ShiftNext:
		to = day
	case ShiftPrevious:
		from = day
	case ShiftNearest, ShiftNearestInMonth: // of two that are equally near, the next one
		from, to = max(from, before+(day-before+1)/2), min(to, after-(after-day)/2-1)
	case ShiftNextInMonth:
		if after != never {
			to = day
		}
	case ShiftPreviousInMonth:
		if before != none {
			from = day
		}
	}
	if inMonth {
		from, to = max(from, 1), min(to, length)
	}
	return k.hasDay(from, day-1, length, month, first, days) || k.hasDay(day+1, to, length, month, first, days)
}

// hasDay reports whether the rule has a day in a range, counted as in movesTo.
func (k *keptDays) hasDay(from, to, length, month, first int64, days uint32) bool {
	if from > to {
		return false
	}
	if a, b := max(from, 1), min(to, length); a <= b && days>>a<<a&(1<<(b+1)-1) != 0 {
		return true
	}
	if from >= 1 && to <= length {
		return false
	}
	found := nextDay(first+from-1, dateOf(first+to-1).month, k.named)
	return found <= first+to-1
}

// openBefore returns the last open day before a month that begins with a day, or [none] if it is too far to share days of a gap with a day of the month.
func (k *keptDays) openBefore(first int64) int64 {
	return prevDay(first-1, dateOf(first-2*maxShift-1).month, k.calendar.openDays)
}

// openAfter returns the first open day after a month that ends with a day, or [never] if it is too far to share days of a gap with a day of the month.
func (k *keptDays) openAfter(last int64) int64 {
	return nextDay(last+1, dateOf(last+2*maxShift+1).month, k.calendar.openDays)
}
