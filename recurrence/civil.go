package recurrence

import (
	"math/bits"
	"time"
)

// secondsPerDay is the length of a day without clock changes.
const secondsPerDay = 86400

// never represents an instant, a wall second, a day or a month that does not exist. It lies far beyond the horizon, and adding an offset to it
// does not overflow.
const never = int64(1) << 60

// none represents the same as never, in searches backwards.
const none = -never

// floorDiv divides and rounds down, for b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// mod is the remainder of [floorDiv]: 0 to b-1, for b > 0.
func mod(a, b int64) int64 {
	r := a % b
	if r < 0 {
		r += b
	}
	return r
}

// A date is a day of the Gregorian calendar.
type date struct {
	month int64 // counted from January of year 0
	day   int   // of that month, from 1
}

// dateOf returns the date of a day counted from 1 January 1970. It is right for the years 0 to 5,000,000.
func dateOf(day int64) date {
	// Years that begin in March have the leap day at their end. 1 March of year 0 is 719,468 days before 1 January 1970.
	sinceMarch := uint64(day + 719468)
	century := (4*sinceMarch + 3) / 146097
	inCentury := sinceMarch - century*146097/4
	year := (4*inCentury + 3) / 1461
	inYear := inCentury - year*1461/4
	month := (5*inYear + 2) / 153 // 0 is March; March to July and August to December have 153 days each
	return date{
		month: int64((century*100+year)*12 + month + 2),
		day:   int(inYear-(153*month+2)/5) + 1,
	}
}

// firstDayOf returns the first day of a month, counted from 1 January 1970. It is the inverse of [dateOf].
func firstDayOf(month int64) int64 {
	m := uint64(month - 2)
	year, m := m/12, m%12
	return int64(year*365+year/4-year/100+year/400+(153*m+2)/5) - 719468
}

// lengthOf returns the number of days in a month.
func lengthOf(month int64) int {
	const longMonths = 0b1010_1101_0101 // bit 0 is January
	year, m := uint64(month)/12, uint64(month)%12
	if m != 1 {
		return 30 + int(longMonths>>m&1)
	}
	if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return 28
}

// weekdayOfDay returns the weekday of a day, counted from Monday, which is 0.
func weekdayOfDay(day int64) int64 { return mod(day+3, 7) }

// daysSinceMonday returns the number of a weekday, counted from Monday, which is 0.
func daysSinceMonday(day time.Weekday) int { return (int(day) + 6) % 7 }

// nextBit returns the number of the lowest bit that is set in mask at or above bit n; ok is false if there is no such bit.
func nextBit(mask uint64, n int) (bit int, ok bool) {
	mask = mask >> n << n
	return bits.TrailingZeros64(mask), mask != 0
}

// prevBit returns the number of the highest bit that is set in mask at or below bit n; ok is false if there is no such bit.
func prevBit(mask uint64, n int) (bit int, ok bool) {
	if n < 0 {
		return 0, false
	}
	mask = mask << (63 - n) >> (63 - n)
	return 63 - bits.LeadingZeros64(mask), mask != 0
}
