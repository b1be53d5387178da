package recurrence

import "time"

// A Filter is a set of days and times. A day or time fits it if it fits all fields that are set; at least one must be set.
type Filter struct {
	WeekDays           []time.Weekday // at most 7
	MonthDays          []int          // 1 to 31, or -1 (the last) to -31
	MonthlyOccurrences []NthWeekday   // as in a schedule
	Months             []time.Month   // time.January to time.December

	// Dates has at most 1,000 of 2026-12-25, 12-25 (every year; 02-29 in leap years only) and ranges of either kind, both ends
	// included: 2026-12-20/2027-01-03, 12-20/01-03. The years are 1900 to 2199.
	Dates []string

	// Times has at most 100 of 09:00 (that whole minute), 09:00:30 and ranges, both ends included: 02:00/03:59, 22:00/05:59 (it contains
	// midnight; both parts are on the same day). In Except a filter with times closes no day, only these times.
	Times []string
}
