package recurrence

// days is a set of calendar days. A day is its number counted from 1 January 1970. The zero value is every day. Its methods use calendar
// arithmetic: their running time does not depend on the distance of the next day from the start.
type days struct {
	unit     calendarUnit
	interval int64 // every n-th unit
	origin   int64 // the number of the unit that holds the start

	weekStart int64  // of weekly: the first day of a week, counted from Monday
	weekDays  uint8  // of weekly; bit 0 is the first day of a week
	months    uint16 // of monthly and yearly; bit 0 is January

	// skipMonths is used by monthly. Its index is the month of the year of a month that the interval reaches. Its value is how many months later
	// the interval reaches one that is also in months; -1 means that it never does.
	skipMonths [12]int16

	// monthMasks has, for every shape of a month, a bit for each day of the set; bit 1 is the first day. Its indexes are the weekday of the first
	// day, from Monday, and the length of the month minus 28.
	monthMasks [7][4]uint32

	lengths   uint8 // of the months that may have a day in the set; bit 0 is 28 days
	lastMonth int64 // the search ends after this month
}

// A calendarUnit is what the interval counts.
type calendarUnit uint8

const (
	daily calendarUnit = iota
	weekly
	monthly
	yearly
)

// next returns the first day of the set at or after a day, or [never] if there is no such day up to the last month.
func (d *days) next(day int64) int64 {
	switch d.unit {
	case daily:
		return day + mod(d.origin-day, d.interval)
	case weekly:
		return d.nextInWeek(day)
	}
	return d.nextInMonth(day)
}

// weekOf returns the number of the week that holds a day.
func (d *days) weekOf(day int64) int64 { return floorDiv(day+3-d.weekStart, 7) }

func (d *days) nextInWeek(day int64) int64 {
	week := d.weekOf(day)
	weekday := int(day + 3 - d.weekStart - 7*week)
	if skip := mod(d.origin-week, d.interval); skip > 0 {
		week, weekday = week+skip, 0
	}
	found, ok := nextBit(uint64(d.weekDays), weekday)
	if !ok {
		week += d.interval
		found, _ = nextBit(uint64(d.weekDays), 0)
	}
	return 7*week - 3 + d.weekStart + int64(found)
}

func (d *days) nextInMonth(day int64) int64 {
	date := dateOf(day)
	month, from := d.nextMonth(date.month), 1
	if month == date.month {
		from = date.day
	}
	for month <= d.lastMonth {
		if length := lengthOf(month) - 28; d.lengths>>length&1 == 1 {
			first := firstDayOf(month)
			if found, ok := nextBit(uint64(d.monthMasks[weekdayOfDay(first)][length]), from); ok {
				return first + int64(found) - 1
			}
		}
		month, from = d.monthAfter(month), 1
	}
	return never
}

// nextMonth returns the first month at or after a month that the interval reaches and months allow.
func (d *days) nextMonth(month int64) int64 {
	if d.unit == monthly {
		return d.skip(month + mod(d.origin-month, d.interval))
	}
	year, inYear := month/12, int(month%12)
	if skip := mod(d.origin-year, d.interval); skip > 0 {
		year, inYear = year+skip, 0
	}
	return d.nextInYear(year, inYear)
}

// monthAfter returns the month that follows a month returned by nextMonth. Unlike nextMonth it does not divide by a variable, because a search
// for a rare day visits hundreds of months.
func (d *days) monthAfter(month int64) int64 {
	if d.unit == monthly {
		return d.skip(month + d.interval)
	}
	return d.nextInYear(month/12, int(month%12)+1)
}

// skip returns, from a month that the interval reaches, the first one at or after it that the interval reaches and that is also in months.
func (d *days) skip(month int64) int64 {
	skip := d.skipMonths[month%12]
	if skip < 0 {
		return never
	}
	return month + int64(skip)
}

// nextInYear returns the first month at or after a month of a year that the interval reaches and that is in months.
func (d *days) nextInYear(year int64, inYear int) int64 {
	found, ok := nextBit(uint64(d.months), inYear)
	if !ok {
		year += d.interval
		found, _ = nextBit(uint64(d.months), 0)
	}
	return year*12 + int64(found)
}

func (d *days) fillSkipMonths() {
	for m := range d.skipMonths {
		d.skipMonths[m] = -1
		for n := range int64(12) { // after twelve steps of any length the months of the year repeat
			if d.months>>((int64(m)+n*d.interval)%12)&1 == 1 {
				d.skipMonths[m] = int16(n * d.interval)
				break
			}
		}
	}
}

// fillMonthMasks calls daysOfShape for every shape of a month: its length, and the weekday of its first day, counted from Monday, which is 0.
func (d *days) fillMonthMasks(daysOfShape func(length, firstWeekday int) uint32) {
	for firstWeekday := range d.monthMasks {
		for extra := range d.monthMasks[firstWeekday] {
			if days := daysOfShape(28+extra, firstWeekday); days != 0 {
				d.monthMasks[firstWeekday][extra] = days
				d.lengths |= 1 << extra
			}
		}
	}
}
