package recurrence

// days is a set of days of the calendar, counted from 1 January 1970. The zero value is every day.
// Its methods work by calendar arithmetic; the time they take does not depend on how far the next day is from the start.
type days struct {
	period   period
	interval int64 // every n-th day, week, month or year
	origin   int64 // the day, week, month or year that holds the start

	weekDays uint8  // of weekly; bit 0 is Monday
	months   uint16 // of monthly and yearly; bit 0 is January

	// skip is, for a month of the year that is on, how many months it is to the first one on that is also in months.
	skip [12]int16

	// inMonth holds the days of a month (bit 1 is its first) by the weekday it begins with, from Monday, and by its length less 28.
	inMonth [7][4]uint32

	limit int64 // days beyond are not looked for
}

// A period is what the interval counts.
type period uint8

const (
	daily period = iota
	weekly
	monthly
	yearly
)

// next is the first day of the set at or after a day; [never] where there is none up to the limit.
func (d *days) next(day int64) int64 {
	switch d.period {
	case daily:
		return day + mod(d.origin-day, d.interval)
	case weekly:
		return d.nextInWeek(day)
	}
	return d.nextInMonth(day)
}

// weekOf numbers weeks, which begin on Monday.
func weekOf(day int64) int64 { return floorDiv(day+3, 7) }

func (d *days) nextInWeek(day int64) int64 {
	week := weekOf(day)
	weekday := int(day + 3 - 7*week)
	if wait := mod(d.origin-week, d.interval); wait > 0 {
		week, weekday = week+wait, 0
	}
	found, ok := lowest(uint64(d.weekDays), weekday)
	if !ok {
		week += d.interval
		found, _ = lowest(uint64(d.weekDays), 0)
	}
	return 7*week - 3 + int64(found)
}

func (d *days) nextInMonth(day int64) int64 {
	date := dateOf(day)
	for {
		month := d.nextMonth(date.month)
		if month != date.month {
			date.month, date.day = month, 1
		}
		if month == never {
			return never
		}
		first := firstOf(month)
		if first > d.limit {
			return never
		}
		mask := d.inMonth[weekdayAt(first)][lengthOf(month)-28]
		if found, ok := lowest(uint64(mask), date.day); ok {
			return first + int64(found) - 1
		}
		date.month, date.day = month+1, 1
	}
}

// nextMonth is the first month at or after a month that the interval and months allow.
func (d *days) nextMonth(month int64) int64 {
	if d.period == monthly {
		month += mod(d.origin-month, d.interval)
		skip := d.skip[month%12]
		if skip < 0 {
			return never
		}
		return month + int64(skip)
	}
	year, inYear := month/12, int(month%12)
	if wait := mod(d.origin-year, d.interval); wait > 0 {
		year, inYear = year+wait, 0
	}
	found, ok := lowest(uint64(d.months), inYear)
	if !ok {
		year += d.interval
		found, _ = lowest(uint64(d.months), 0)
	}
	return year*12 + int64(found)
}

// fillSkip finds, from each month of the year, the first allowed one at a multiple of the interval; -1 where there is none.
func (d *days) fillSkip() {
	for m := range d.skip {
		d.skip[m] = -1
		for n := range int64(12) { // after twelve steps of any length the year's months repeat
			if d.months>>((int64(m)+n*d.interval)%12)&1 == 1 {
				d.skip[m] = int16(n * d.interval)
				break
			}
		}
	}
}

// fillMonth asks, for every shape a month can have, which of its days are in the set.
func (d *days) fillMonth(has func(day, length, weekday int) bool) {
	for begins := range d.inMonth {
		for short := range d.inMonth[begins] {
			length := 28 + short
			for day := 1; day <= length; day++ {
				if has(day, length, (begins+day-1)%7) {
					d.inMonth[begins][short] |= 1 << day
				}
			}
		}
	}
}
