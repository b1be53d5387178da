package recurrence

import (
	"fmt"
	"strings"
)

// A dateEntry is one entry of [Filter.Dates]: the days from first to last, both included. The zero value is not an entry.
//
// With a feast, first and last are days counted from it, and first <= last. Such an entry is yearly.
//
// With years, first and last are days counted from 1 January 1970, and first <= last. A yearly entry, which is for every year, has values of
// month*32+day, as [yearDay] returns them. If its first is greater than its last, the range contains New Year: a day fits at or after first, or
// at or before last. 29 February is a day of leap years only, also as the end of a range: in other years 02-29/03-01 is only 1 March.
type dateEntry struct {
	feast       feast
	yearly      bool
	first, last int64
}

// yearDay returns a number for a day of the year that grows from 1 January to 31 December. A month is 1 to 12.
func yearDay(month, day int) int64 { return int64(month)*32 + int64(day) }

// The reasons why an entry of dates is refused.
const (
	datesWant    = "must be written as 2026-12-25, as 12-25 for every year, as easter, easter-2 or orthodoxEaster+1, or as a range of one kind such as 2026-12-20/2027-01-03 or 12-20/01-03"
	datesNoDay   = "names a day that does not exist"
	datesYears   = "must lie in the years 1900 to 2199"
	datesMixed   = "has a year at one end only: write it at both ends, or at none for every year"
	datesReverse = "ends before it begins: only a range for every year, without years, may contain New Year"
	datesFeasts  = "has Easter at one end only, or another one at each: write the same one at both ends"
	datesFar     = "must be at most 70 days before or after Easter"
)

// parseDates reads an entry of dates: 2026-12-25, 12-25, 2026-12-20/2027-01-03 12-20/01-03, or the same
// with days such as easter-2. If it refuses the text, reason is the cause, without the text itself; otherwise reason is "".
func parseDates(text string) (entry dateEntry, reason string) {
	from, to, isRange := strings.Cut(text, "/")
	entry, reason = parseDay(from)
	if reason != "" || !isRange {
		return entry, reason
	}
	end, reason := parseDay(to)
	entry.last = end.last
	switch {
	case reason != "":
		return dateEntry{}, reason
	case end.feast != entry.feast:
		return dateEntry{}, datesFeasts
	case end.yearly != entry.yearly:
		return dateEntry{}, datesMixed
	case (!end.yearly || end.feast != noFeast) && end.last < entry.first:
		return dateEntry{}, datesReverse
	}
	return entry, ""
}

// parseDay reads an entry of one day.
func parseDay(text string) (entry dateEntry, reason string) {
	if f, days, ok := cutFeast(text); ok {
		entry.feast, entry.yearly = f, true
		entry.first, reason = parseFromFeast(days)
	} else {
		entry.yearly, entry.first, reason = parseDate(text)
	}
	entry.last = entry.first
	return entry, reason
}

// parseDate reads 2026-12-25 as a day counted from 1 January 1970, and 12-25 as its [yearDay].
func parseDate(text string) (yearly bool, day int64, reason string) {
	yearly = len(text) == len("12-25")
	scan := timeScan{rest: text, ok: true}
	year := 2000 // a leap year
	if !yearly {
		year = scan.digits(4)
		scan.need('-')
	}
	month := scan.digits(2)
	scan.need('-')
	inMonth := scan.digits(2)
	switch {
	case !scan.ok || scan.rest != "":
		return yearly, 0, datesWant
	case month < 1 || month > 12 || inMonth < 1 || inMonth > lengthOf(int64(year*12+month-1)):
		return yearly, 0, datesNoDay
	case year < minTime.Year() || year >= horizonTime.Year():
		return yearly, 0, datesYears
	case yearly:
		return true, yearDay(month, inMonth), ""
	}
	return false, firstDayOf(int64(year*12+month-1)) + int64(inMonth) - 1, ""
}

// String returns the entry in its canonical form: a range of one day is written as that day.
func (e dateEntry) String() string {
	if e.first == e.last {
		return e.format(e.first)
	}
	return e.format(e.first) + "/" + e.format(e.last)
}

func (e dateEntry) format(day int64) string {
	if e.feast != noFeast {
		return e.feast.format(day)
	}
	if e.yearly {
		return fmt.Sprintf("%02d-%02d", day/32, day%32)
	}
	d := dateOf(day)
	return fmt.Sprintf("%04d-%02d-%02d", d.month/12, d.month%12+1, d.day)
}
