package recurrence

// The functions below search for positions in a year. They count the candidates of a year once.

// nextInYears returns the first kept day at or after a day, or [never] if there is no such day up to the end of a month.
func (k *keptDays) nextInYears(day, lastMonth int64) int64 {
	date := dateOf(day)
	month, from := date.month, date.day
	for month <= lastMonth {
		year := month / 12
		if skip := mod(k.days.origin-year, k.days.interval); skip > 0 {
			month, from = (year+skip)*12, 1
			continue
		}
		days := k.runningInYear(year, k.yearDays(year))
		for ; month < year*12+12 && month <= lastMonth; month, from = month+1, 1 {
			if found, ok := nextBit(uint64(days[month%12]), from); ok {
				return firstDayOf(month) + int64(found) - 1
			}
		}
	}
	return never
}

// prevInYears returns the last kept day at or before a day, or [none] if there is no such day from a month on.
func (k *keptDays) prevInYears(day, firstMonth int64) int64 {
	date := dateOf(day)
	month, to := date.month, date.day
	for month >= firstMonth {
		year := month / 12
		if skip := mod(year-k.days.origin, k.days.interval); skip > 0 {
			month, to = (year-skip)*12+11, 31
			continue
		}
		days := k.runningInYear(year, k.yearDays(year))
		for ; month >= year*12 && month >= firstMonth; month, to = month-1, 31 {
			if found, ok := prevBit(uint64(days[month%12]), to); ok {
				return firstDayOf(month) + int64(found) - 1
			}
		}
	}
	return none
}

// daysOfYear has the days of each month of a year that are at the positions.
type daysOfYear struct {
	year int64
	days [12]uint32
}

// yearDays returns the days of each month of a year that are at the positions.
func (k *keptDays) yearDays(year int64) [12]uint32 {
	if k.recent == nil {
		return k.countYearDays(year)
	}
	if k.recent.year != year {
		*k.recent = daysOfYear{year, k.countYearDays(year)}
	}
	return k.recent.days
}

// countYearDays is yearDays without the year that was computed last.
func (k *keptDays) countYearDays(year int64) (days [12]uint32) {
	if 337+lengthOf(year*12+1) < k.positions.least {
		return days // the year has fewer days
	}
	first := firstDayOf(year * 12)
	for i := range days {
		month := year*12 + int64(i)
		days[i] = k.candidates(month, first)
		first += int64(lengthOf(month))
	}
	k.positions.pickInYear(&days)
	return days
}

// runningInYear removes the days of each month of a year on which no time of the rule is open.
func (k *keptDays) runningInYear(year int64, days [12]uint32) [12]uint32 {
	if k.windows == nil {
		return days
	}
	first := firstDayOf(year * 12)
	for i := range days {
		month := year*12 + int64(i)
		if days[i] != 0 {
			days[i] &= k.running(k.calendar.row(month, first))
		}
		first += int64(lengthOf(month))
	}
	return days
}
