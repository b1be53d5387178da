package recurrence

import "sync"

// A feast is an Easter from which an entry of dates counts.
type feast uint8

const (
	noFeast        feast = iota
	easter               // of the Gregorian calendar
	orthodoxEaster       // of the Julian calendar, as a date of the Gregorian one
)

const maxFromEaster = 70 // the largest number of days between Easter and a date that counts from it

// The years of the table of Easter days: those in which a rule may be searched, which are 400 years from its start, and some around them.
const (
	firstEasterYear = 1890
	lastEasterYear  = 2610
)

// easterTable has, for each year, the days from 1 March to Easter and to Orthodox Easter.
var easterTable = sync.OnceValue(func() *[lastEasterYear - firstEasterYear + 1][2]uint8 {
	var table [lastEasterYear - firstEasterYear + 1][2]uint8
	for i := range table {
		year := int64(firstEasterYear + i)
		table[i] = [2]uint8{uint8(gregorianEaster(year)), uint8(julianEaster(year))}
	}
	return &table
})

// easterOf returns the days from 1 March of a year to Easter and to Orthodox Easter.
func easterOf(year int64) [2]uint8 {
	if year < firstEasterYear || year > lastEasterYear {
		return [2]uint8{uint8(gregorianEaster(year)), uint8(julianEaster(year))}
	}
	return easterTable()[year-firstEasterYear]
}

// gregorianEaster returns the days from 1 March to Easter: the algorithm that Nature published in 1876, as in Meeus, Astronomical Algorithms,
// chapter 8.
func gregorianEaster(year int64) int64 {
	golden, century, inCentury := year%19, year/100, year%100
	correction := (century - (century+8)/25 + 1) / 3
	moon := (19*golden + century - century/4 - correction + 15) % 30
	sunday := (32 + 2*(century%4) + 2*(inCentury/4) - moon - inCentury%4) % 7
	late := (golden + 11*moon + 22*sunday) / 451
	return moon + sunday - 7*late + 21 // 22 March is the first that is possible
}

// julianEaster returns the days from 1 March to Easter of the Julian calendar, both in the Gregorian one: the algorithm of Meeus, converted.
func julianEaster(year int64) int64 {
	moon := (19*(year%19) + 15) % 30
	sunday := (2*(year%4) + 4*(year%7) - moon + 34) % 7
	behind := year/100 - year/400 - 2 // the days by which the Julian calendar is behind, from March on
	return moon + sunday + 21 + behind
}
