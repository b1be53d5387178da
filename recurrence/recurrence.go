package recurrence

import "time"

// A Recurrence is a rule: it says when a job runs. A field with its zero value is not set. The zero Recurrence runs once, when
// created. [Recurrence.Validate] checks the ranges below.
type Recurrence struct {
	StartTime time.Time // when the rule begins, 1900 to 2199. An instant: its Location and fraction have no effect. Zero: creation
	Frequency Frequency // what Interval counts. Zero: the rule runs once, at StartTime
	Interval  int       // every n-th period: 1 to 1000; month at most 18, week 78, day 548. Zero: 1
	Count     int       // 1 to 2,147,483,647 runs, counted from creation on. Zero: endless
	EndTime   time.Time // the last instant that may run, 1900 to 9999, not before StartTime. Zero: endless
	TimeZone  string    // IANA name, such as Europe/Berlin. Empty: UTC. (A string, because *time.Location has no JSON.)

	Minutes, Hours     []int          // 0 to 59, 0 to 23. Nil and empty mean the same in this and every other element: not set
	WeekDays           []time.Weekday // at most 7; with Frequency Week
	MonthDays          []int          // 1 to 31, or -1 (the last) to -31; with Frequency Month
	MonthlyOccurrences []NthWeekday   // with Frequency Month
	Months             []time.Month   // time.January to time.December; with Frequency Month or Year

	Seconds, Positions []int        // 0 to 59; which of the period's open days, 1 the first and -1 the last
	Only, Except       []Filter     // a run must fit one filter of Only and none of Except
	Shift              Shift        // where a run goes whose day is closed
	Also               []Recurrence // further rules, and instants: those have a StartTime and no Frequency
	ClockChanges       ClockChanges // what becomes of local times that the clocks skip or repeat

	Cron string // see [Cron]. Replaces Frequency, Interval and the elements; StartTime, EndTime, Count and TimeZone still apply
}

// An NthWeekday is a weekday of a month, such as the last Friday.
type NthWeekday struct {
	Day time.Weekday
	N   int // 1 to 5 from the start of the month, -1 (the last) to -5 from its end. Zero: every such day
}
