package recurrence

import "time"

// A Filter is a set of days and times. A day or time fits the filter if it fits all fields that are set. At least one field must be set.
type Filter struct {
	WeekDays           []time.Weekday // at most 7
	MonthDays          []int          // 1 to 31, or -1 (the last) to -31
	MonthlyOccurrences []NthWeekday   // as in a schedule
	Months             []time.Month   // time.January to time.December
	Weeks              []int          // of the year, by ISO 8601: 1 to 53, or -1 (the last) to -53. Weeks begin on Monday
	YearDays           []int          // 1 to 366, or -1 (the last) to -366
	YearlyOccurrences  []NthWeekday   // N is 1 to 53 from the start of the year, -1 (the last) to -53 from its end, or 0: every such day

	// Dates has at most 1,000 entries: dates such as 2026-12-25, dates of every year such as 12-25 (02-29 in leap years only), and ranges of
	// either kind with both ends included, such as 2026-12-20/2027-01-03 and 12-20/01-03. The years are 1900 to 2199. The days around Easter are
	// easter, easter-2 (Good Friday) to at most 70 days before or after it, and ranges such as easter-2/easter+1; orthodoxEaster is the Easter of the
	// Julian calendar.
	Dates []string

	// Times has at most 100 entries: whole minutes such as 09:00, seconds such as 09:00:30, and ranges with both ends included, such as 02:00/03:59
	// and 22:00/05:59. A range over midnight consists of two parts of the same day: until 05:59, and from 22:00. In Except, a filter with Times
	// closes only these times, not the whole day.
	Times []string
}
