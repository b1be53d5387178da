package recurrence

// keptDays are the days of a rule that remain after the calendar is applied: the open days at the positions, and the days to which shift and shiftBy
// move others. If filters have times, only days remain on which a time of the rule is open.
type keptDays struct {
	days      *days     // of the rule
	limit     *calendar // of these days, those that are open in it are days of the rule; nil: all
	calendar  *calendar // nil: every day is open
	windows   [][]span  // if the calendar has times: the open times of each type of days that contain a time of the rule
	shift     Shift
	shiftBy   int64
	positions *positions  // nil: all
	lastMonth int64       // the search ends after this month
	years     *yearSet    // the years with a kept day; nil: a search goes through all years
	recent    *daysOfYear // the year with positions that was computed last; nil: none is kept, because several goroutines may search
}

// next returns the first kept day at or after a day, or [never].
func (k *keptDays) next(day int64) int64 {
	if k.years == nil {
		return k.nextUntil(day, k.lastMonth)
	}
	year := dateOf(day).month / 12
	if k.years.has(year) {
		if found := k.nextUntil(day, min(year*12+11, k.lastMonth)); found != never {
			return found
		}
	}
	if year = k.years.next(year + 1); year == never {
		return never
	}
	return k.nextUntil(firstDayOf(year*12), min(year*12+11, k.lastMonth))
}

// prev returns the last kept day at or before a day, or [none] if there is no such day from a month on.
func (k *keptDays) prev(day, firstMonth int64) int64 {
	if k.years == nil {
		return k.prevUntil(day, firstMonth)
	}
	year := dateOf(day).month / 12
	if k.years.has(year) {
		if found := k.prevUntil(day, max(year*12, firstMonth)); found != none {
			return found
		}
	}
	if year = k.years.prev(year - 1); year == none {
		return none
	}
	return k.prevUntil(firstDayOf(year*12+12)-1, max(year*12, firstMonth))
}

// setYears computes the years with a kept day. It calls visit with the first kept day of each.
func (k *keptDays) setYears(firstMonth int64, visit func(day int64)) {
	years := newYearSet(firstMonth/12, k.lastMonth/12)
	for month := firstMonth; month <= k.lastMonth; {
		day := k.nextUntil(firstDayOf(month), k.lastMonth)
		if day == never {
			break
		}
		visit(day)
		year := dateOf(day).month / 12
		years.add(year)
		month = year*12 + 12
	}
	k.years = years
}

// nextUntil is next without the years. It searches up to the end of a month.
func (k *keptDays) nextUntil(day, lastMonth int64) int64 {
	if k.shiftBy != 0 {
		return k.nextCounted(day, lastMonth)
	}
	if k.positions != nil && k.positions.unit == yearly {
		return k.nextInYears(day, lastMonth)
	}
	return nextDay(day, lastMonth, k.mask)
}

// prevUntil is prev without the years. It searches back to the beginning of a month.
func (k *keptDays) prevUntil(day, firstMonth int64) int64 {
	if k.shiftBy != 0 {
		return k.prevCounted(day, firstMonth)
	}
	if k.positions != nil && k.positions.unit == yearly {
		return k.prevInYears(day, firstMonth)
	}
	return prevDay(day, firstMonth, k.mask)
}

// mask returns the kept days of a month, for a rule without shiftBy and without positions in years: a [monthMask].
func (k *keptDays) mask(month, first int64) uint32 {
	if k.calendar == nil {
		if k.positions == nil {
			return k.named(month, first)
		}
		return k.positions.mask(k.named, month, first)
	}
	k.calendar.meter.add(1)
	row := k.calendar.row(month, first)
	open := k.calendar.open[row]
	runs := open
	if k.windows != nil {
		runs = k.running(row)
	}
	if runs == 0 {
		return 0
	}
	if k.positions != nil {
		return k.positions.mask(k.candidates, month, first) & runs
	}
	days := k.named(month, first)
	kept := days & open
	if k.shift != ShiftDrop {
		kept |= k.moved(month, first, days, open)
	}
	return kept & runs
}

// running returns the days of a row of the calendar on which a time of the rule is open.
func (k *keptDays) running(row int) (days uint32) {
	for _, t := range k.calendar.types[row] {
		if len(k.windows[t.kind]) > 0 {
			days |= t.days
		}
	}
	return days
}

// named returns the days of the rule in a month, open or not: a [monthMask].
func (k *keptDays) named(month, first int64) uint32 {
	mask := k.days.mask(month, first)
	if mask != 0 && k.limit != nil {
		k.limit.meter.add(1)
		mask &= k.limit.openDays(month, first)
	}
	return mask
}

// candidates returns the open days of the rule in a month: a [monthMask].
func (k *keptDays) candidates(month, first int64) uint32 {
	mask := k.named(month, first)
	if mask != 0 && k.calendar != nil {
		k.calendar.meter.add(1)
		mask &= k.calendar.openDays(month, first)
	}
	return mask
}
