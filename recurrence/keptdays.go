package recurrence

// keptDays are the days of a rule that remain after the calendar is applied: the open days at the positions, and the days to which a shift moves
// closed ones.
type keptDays struct {
	days      *days     // of the rule
	open      *openDays // nil: every day
	runs      *runDays  // nil: each of the remaining days has a run
	shift     Shift
	positions *positions // nil: all
	lastMonth int64      // the search ends after this month
}

// maxShift is the maximum number of days by which a shift moves a run.
const maxShift = 31

// next returns the first kept day at or after a day, or [never].
func (k *keptDays) next(day int64) int64 { return nextDay(day, k.lastMonth, k.mask) }

// prev returns the last kept day at or before a day, or [none] if there is no such day from a month on.
func (k *keptDays) prev(day, firstMonth int64) int64 { return prevDay(day, firstMonth, k.mask) }

// mask returns the kept days of a month: a [monthMask].
func (k *keptDays) mask(month, first int64) uint32 {
	runs := allDays
	if k.runs != nil {
		if runs = k.runs.mask(month, first); runs == 0 {
			return 0
		}
	}
	if k.positions != nil {
		return k.positions.mask(k.candidates, month, first) & runs
	}
	kept := k.candidates(month, first)
	if k.shift != ShiftDrop {
		kept |= k.moved(month, first)
	}
	return kept & runs
}

// allDays is a mask of all days of any month.
const allDays uint32 = 1<<32 - 2

// candidates returns the open days of the rule in a month: a [monthMask].
func (k *keptDays) candidates(month, first int64) uint32 {
	mask := k.days.mask(month, first)
	if mask != 0 && k.open != nil {
		mask &= k.open.maskOf(month, first)
	}
	return mask
}

// closed returns the closed days of the rule in a month: a [monthMask].
func (k *keptDays) closed(month, first int64) uint32 {
	mask := k.days.mask(month, first)
	if mask != 0 {
		mask &^= k.open.maskOf(month, first)
	}
	return mask
}

// moved returns the days of a month to which closed days are moved.
func (k *keptDays) moved(month, first int64) (days uint32) {
	if k.open.maskOf(month, first) == 0 {
		return 0
	}
	last := first + int64(lengthOf(month)) - 1
	from, to := first, last // the days that may be moved into the month
	if k.shift == ShiftNext || k.shift == ShiftNearest {
		from = first - maxShift
	}
	if k.shift == ShiftPrevious || k.shift == ShiftNearest {
		to = last + maxShift
	}
	for day := from; ; day++ {
		if day = nextDay(day, dateOf(to).month, k.closed); day > to {
			return days
		}
		if target := k.target(day, first, last); first <= target && target <= last {
			days |= 1 << (target - first + 1)
		}
	}
}

// target returns the day to which a closed day is moved, or [never]. first and last bound the queried month, which is the day's own if the shift
// remains in the month.
func (k *keptDays) target(day, first, last int64) int64 {
	from, to := day-maxShift, day+maxShift
	if k.shift >= ShiftNextInMonth {
		from, to = first, last
	}
	next := k.open.next(day+1, dateOf(to).month)
	if next > to {
		next = never
	}
	if (k.shift == ShiftNext || k.shift == ShiftNextInMonth) && next != never {
		return next
	}
	prev := none
	if k.shift != ShiftNext {
		if prev = k.open.prev(day-1, dateOf(from).month); prev < from {
			prev = none
		}
	}
	switch {
	case prev == none && k.shift == ShiftPrevious:
		return never
	case prev == none:
		return next
	case (k.shift == ShiftNearest || k.shift == ShiftNearestInMonth) && next-day <= day-prev:
		return next
	}
	return prev
}
