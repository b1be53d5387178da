package recurrence

// yearFields are the fields of a filter that count in the year: yearDays, yearlyOccurrences and weeks. A day must fit all fields that are given.
type yearFields struct {
	numbered, nth, inWeeks bool

	fromStart, fromEnd yearBits                  // bit n is the n-th day, and the n-th from the end
	occurrences        [2*maxYearWeeks + 1]uint8 // weekdays; the index is the occurrence plus 53, so 53 is for every one; bit 0 is Monday
	weeks              [2*maxYearWeeks + 1]bool  // the index is the number of the week plus 53
	weekStart          int64                     // the first day of a week, counted from Monday
}

// maxYearWeeks is the largest number of a week, and of a weekday, in a year.
const maxYearWeeks = 53

// newYearFields compiles the fields of the year of a filter. It returns nil if none of them is given. Weeks begin with a day, counted from Monday.
func newYearFields(f *Filter, weekStart int64) *yearFields {
	if !f.countsInYear() {
		return nil
	}
	y := &yearFields{
		numbered: len(f.YearDays) > 0, nth: len(f.YearlyOccurrences) > 0, inWeeks: len(f.Weeks) > 0, weekStart: weekStart,
	}
	for _, day := range f.YearDays {
		if day > 0 {
			y.fromStart.set(day)
		} else {
			y.fromEnd.set(-day)
		}
	}
	for _, o := range f.YearlyOccurrences {
		y.occurrences[o.N+maxYearWeeks] |= 1 << daysSinceMonday(o.Day)
	}
	for _, week := range f.Weeks {
		y.weeks[week+maxYearWeeks] = true
	}
	return y
}

// countsInYear reports whether a filter has a field that counts in the year.
func (f *Filter) countsInYear() bool {
	return len(f.YearDays)+len(f.YearlyOccurrences)+len(f.Weeks) > 0
}

// masks returns the days of each month of a year that fit. Bit 1 is the first day of the month.
func (y *yearFields) masks(year int64) (months [12]uint32) {
	first := firstDayOf(year * 12)
	length := int(firstDayOf(year*12+12) - first)
	fits := yearBits{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}
	if y.numbered {
		days := y.fromStart
		for n := 1; n <= length; n++ {
			if y.fromEnd.has(n) {
				days.set(length + 1 - n)
			}
		}
		fits.and(&days)
	}
	if y.nth {
		days := y.nthDays(first, length)
		fits.and(&days)
	}
	if y.inWeeks {
		days := y.weekDays(year)
		fits.and(&days)
	}
	day := 1
	for i := range months {
		n := lengthOf(year*12 + int64(i))
		months[i] = fits.from(day) << 1 & daysOf(n)
		day += n
	}
	return months
}

// nthDays returns the days of a year that are one of the occurrences of weekdays.
func (y *yearFields) nthDays(first int64, length int) (days yearBits) {
	begin, end := int(weekdayOfDay(first)), int(weekdayOfDay(first+int64(length)-7))
	for n := 1; n <= maxYearWeeks; n++ {
		fromStart := y.occurrences[maxYearWeeks+n] | y.occurrences[maxYearWeeks]
		days.setWeek(7*n-6, rotateWeek(fromStart, begin))
		days.setWeek(length+1-7*n, rotateWeek(y.occurrences[maxYearWeeks-n], end))
	}
	return days
}

// weekDays returns the days of a year that lie in one of the weeks. A week belongs to the year that has at least four of its days: the first days of a
// year may lie in the last week of the year before, and its last days in the first week of the year after.
func (y *yearFields) weekDays(year int64) (days yearBits) {
	first := firstDayOf(year * 12)
	begins := [4]int64{y.firstWeek(year - 1), y.firstWeek(year), y.firstWeek(year + 1), y.firstWeek(year + 2)}
	for i := range 3 {
		of := int(begins[i+1]-begins[i]) / 7
		from, to := 1, of
		switch i {
		case 0:
			from = of
		case 2:
			to = 1
		}
		for n := from; n <= to; n++ {
			if y.weeks[maxYearWeeks+n] || y.weeks[maxYearWeeks+n-of-1] {
				days.setWeek(int(begins[i]-first)+7*n-6, 1<<7-1)
			}
		}
	}
	return days
}

// firstWeek returns the first day of the first week of a year. This week is the first one of which at least four days are in the year.
func (y *yearFields) firstWeek(year int64) int64 {
	first := firstDayOf(year * 12)
	weekday := mod(first+3-y.weekStart, 7)
	if weekday <= 3 {
		return first - weekday
	}
	return first - weekday + 7
}

// rotateWeek returns weekdays, of which bit 0 is Monday, as the days of a week that begins with another day, counted from Monday.
func rotateWeek(weekDays uint8, first int) uint64 {
	return (uint64(weekDays) | uint64(weekDays)<<7) >> first & (1<<7 - 1)
}

// yearBits is a set of days of a year. Bit 1 is the first day.
type yearBits [6]uint64

func (b *yearBits) set(n int)      { b[n/64] |= 1 << (n % 64) }
func (b *yearBits) has(n int) bool { return b[n/64]>>(n%64)&1 == 1 }

func (b *yearBits) and(other *yearBits) {
	for i := range b {
		b[i] &= other[i]
	}
}

// setWeek adds seven days from a day on, of which bit 0 is the first. It leaves out days before the first day of the year.
func (b *yearBits) setWeek(from int, days uint64) {
	if from < 1 {
		from, days = 1, days>>min(1-from, 63)
	}
	if i, at := from/64, from%64; i < len(b) {
		b[i] |= days << at
		if i+1 < len(b) {
			b[i+1] |= days >> 1 >> (63 - at)
		}
	}
}

// from returns 31 days from a day on. Bit 0 is this day.
func (b *yearBits) from(n int) uint32 {
	i, at := n/64, n%64
	days := b[i] >> at
	if i+1 < len(b) {
		days |= b[i+1] << 1 << (63 - at)
	}
	return uint32(days & (1<<31 - 1))
}
