package recurrence

import "time"

// Recurrence says when. A zero field is not set; the zero Recurrence runs once, when created.
type Recurrence struct {
	StartTime time.Time // zero: creation. An instant: its Location plays no part. Whole seconds.
	Frequency Frequency // zero: once, at StartTime
	Interval  int       // 1 to 1000; month at most 18, week 78, day 548. Zero: 1
	Count     int       // 1 to 2,147,483,647 runs from creation on. Zero: endless
	EndTime   time.Time // zero: endless; inclusive
	TimeZone  string    // IANA name. Empty: UTC. (A string, for *time.Location does not survive JSON.)

	Minutes, Hours     []int // 0 to 59, 0 to 23; nil and empty are the same
	WeekDays           []time.Weekday
	MonthDays          []int // 1 to 31, or -1 (the last) to -31
	MonthlyOccurrences []NthWeekday
	Months             []time.Month

	Cron string // instead of Frequency, Interval and the elements; StartTime, EndTime, Count and TimeZone still apply
}

// NthWeekday is a weekday of the month: the N-th from its start (1 to 5) or its end (-1 to -5); N 0 means every such day.
type NthWeekday struct {
	Day time.Weekday
	N   int
}
