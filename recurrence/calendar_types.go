package recurrence

import "time"

// A Filter names days, and times of the day. All its fields that are set must hold; within a field one value is enough.
type Filter struct {
	WeekDays           []time.Weekday
	MonthDays          []int // 1 to 31, or -1 (the last) to -31
	MonthlyOccurrences []NthWeekday
	Months             []time.Month
	Dates              []string // 2026-12-25, every year 12-25, ranges 2026-12-20/2027-01-03 and 12-20/01-03; both ends included
	Times              []string // 09:00, 09:00:30, ranges 09:00/17:30 and 22:00/05:59; both ends included, a minute in full
}

// Shift says where a run goes whose day is closed.
type Shift uint8

// The shifts. Those that end in InMonth stay in the month of the closed day.
const (
	ShiftDrop Shift = iota // nowhere: it does not run
	ShiftNext
	ShiftPrevious
	ShiftNearest
	ShiftNextInMonth
	ShiftPreviousInMonth
	ShiftNearestInMonth
)

// ClockChanges says what becomes of local times that the clocks skip or repeat.
type ClockChanges uint8

// The ways to treat clock changes.
const (
	ClockOnce  ClockChanges = iota // a skipped time runs moved, a repeated one on the first pass
	ClockSkip                      // a skipped time does not run, a repeated one runs on the first pass
	ClockShown                     // every time that the clocks show runs: a skipped one never, a repeated one twice
)
