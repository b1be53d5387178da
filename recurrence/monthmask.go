package recurrence

// A monthMask returns days of a month, given the number of its first day. Bit 1 is that day.
type monthMask func(month, first int64) uint32

// nextDay returns the first day of a mask at or after a day, or [never] if there is no such day up to a month.
func nextDay(day, lastMonth int64, mask monthMask) int64 {
	date := dateOf(day)
	first := day - int64(date.day-1)
	for month, from := date.month, date.day; month <= lastMonth; month, from = month+1, 1 {
		if found, ok := nextBit(uint64(mask(month, first)), from); ok {
			return first + int64(found) - 1
		}
		first += int64(lengthOf(month))
	}
	return never
}

// prevDay returns the last day of a mask at or before a day, or [none] if there is no such day from a month on.
func prevDay(day, firstMonth int64, mask monthMask) int64 {
	date := dateOf(day)
	first := day - int64(date.day-1)
	for month, to := date.month, date.day; month >= firstMonth; month, to = month-1, 31 {
		if found, ok := prevBit(uint64(mask(month, first)), to); ok {
			return first + int64(found) - 1
		}
		first -= int64(lengthOf(month - 1))
	}
	return none
}

// mask returns the days of the set in a month that begins with a day: a [monthMask].
func (d *days) mask(month, first int64) uint32 {
	length := lengthOf(month)
	switch d.unit {
	case daily:
		if d.interval == 1 {
			return daysOf(length)
		}
		found := uint64(0)
		for at := mod(d.origin-first, d.interval); at < int64(length); at += d.interval {
			found |= 2 << at
		}
		return uint32(found)
	case weekly:
		return d.weeklyMask(first) & daysOf(length)
	case monthly:
		if d.months>>(month%12)&1 == 0 || d.interval > 1 && mod(d.origin-month, d.interval) != 0 {
			return 0
		}
	case yearly:
		if d.months>>(month%12)&1 == 0 || d.interval > 1 && mod(d.origin-month/12, d.interval) != 0 {
			return 0
		}
	}
	return d.monthMasks[weekdayOfDay(first)][length-28]
}

// weeklyMask returns the days of a weekly set in the six weeks from the one that contains a day. Bit 1 is that day.
func (d *days) weeklyMask(first int64) uint32 {
	weekday := mod(first+3-d.weekStart, 7)
	if d.interval == 1 {
		return weekdayMask(d.weekDays, int(weekday))
	}
	week := d.weekOf(first)
	found := uint64(0)
	for n := mod(d.origin-week, d.interval); n < 6; n += d.interval {
		found |= uint64(d.weekDays) << (7 * n)
	}
	return uint32(found >> weekday << 1)
}
