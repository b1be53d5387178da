package recurrence

import "time"

// A Recurrence is a rule: it determines when a job runs. A field with its zero value is not set. The zero Recurrence runs once, at creation.
// [Recurrence.Validate] checks the ranges below. The canonical JSON of a rule has at most 64 KiB.
//
// Only and Except are its calendar: they determine which days and times are open. The rule runs at no other time. Days limits the days of one rule before
// Positions are counted and the calendar is applied: unlike a day that Only closes, a day that is not in Days is never moved. Each rule in Also has its own Days.
//
// ShiftBy counts open days from the day that the rule names, which may be closed: -2 is the second open day before it, as WORKDAY of spreadsheets
// counts. With Shift, it counts from the day to which Shift moves the run; with Positions, from the day at the position. Without Only and Except every
// day is open. A run may leave its month, also with a Shift in the month. It is dropped if the day is more than 92 days from the one from which
// ShiftBy counts. Runs that move to the same instant count as one run. StartTime itself is not a run then, because its day moves like every other.
//
// Also adds runs. An entry is an instant, with StartTime alone, or a rule, with some of StartTime, Frequency, Interval, EndTime, the elements and
// Cron; the error for any other field has [CodeUnknownField]. An instant also runs on closed days and is never moved. A rule in Also uses the
// TimeZone, Only, Except, Shift, ShiftBy, ClockChanges and EndTime of the outer rule. If it has no StartTime, it begins with the outer rule. An entry may
// begin before the outer rule. Runs at the same instant count as one run. Count is the number of all runs, including those of Also. A rule with Also
// needs a Frequency, a Cron or a StartTime. If it has only a StartTime, this is the first date of a list of dates. If that date is in the past at
// creation, the list also runs once at creation, like every rule without a Frequency.
type Recurrence struct {
	StartTime time.Time // when the rule begins, 1900 to 2199. Its Location and its fraction of a second have no effect. Zero: creation
	Frequency Frequency // what Interval counts. Zero: the rule runs once, at StartTime
	Interval  int       // every n-th period: 1 to 1000; month at most 18, week 78, day 548. Zero: 1
	Count     int       // 1 to 2,147,483,647 runs, counted from creation on. Zero: endless
	EndTime   time.Time // the last instant that may run, 1900 to 9999, not before StartTime. Zero: endless
	TimeZone  string    // IANA name, such as Europe/Berlin. Empty: UTC. (A string, because *time.Location has no JSON.)

	Minutes, Hours     []int          // 0 to 59, 0 to 23. Here and in every other element, nil and empty both mean: not set
	WeekDays           []time.Weekday // at most 7; with Frequency Week
	MonthDays          []int          // 1 to 31, or -1 (the last) to -31; with Frequency Month
	MonthlyOccurrences []NthWeekday   // with Frequency Month
	Months             []time.Month   // time.January to time.December; with Frequency Month or Year
	Seconds            []int          // 0 to 59
	Positions          []int          // 1, 2, … or -1 (the last), -2, …: which of the open days of the week (to 7), month (31) or year (366)
	Days               []Filter       // at most 32, without Times: the rule has only the days that fit one of them. In Frequency Week and above without WeekDays, MonthDays and MonthlyOccurrences: all such days
	WeekStart          WeekStart      // the first day of a week, for periods of Frequency Week and for Weeks in Days. Zero: Monday

	Cron string // see [Cron]. Replaces Frequency, Interval and the elements; all other fields still apply

	Only         []Filter     // at most 32: a day or time is open only if it fits one of them
	Except       []Filter     // at most 32: a day or time that fits one of them is closed
	Shift        Shift        // where a run moves if its day is closed; with Frequency Day and above, and with Cron. Zero: it is dropped
	ShiftBy      int          // moves every run by a number of open days, -31 to 31; see above. With Frequency Day and above, and with Cron
	Also         []Recurrence // more runs: at most 1,000 instants (a StartTime alone) and 16 rules; see above
	ClockChanges ClockChanges // what happens to times that the clocks skip or repeat; with Frequency Day and above, and with Cron

	// NoImmediateRun omits the run that a rule without StartTime has at creation, and the one of a rule without a Frequency whose StartTime has
	// passed. The other runs stay the same. It changes nothing for rules without such a run. In JSON: "immediateRun": false.
	NoImmediateRun bool
}

// An NthWeekday is a weekday of a month, such as the last Friday, or of a year in [Filter.YearlyOccurrences].
type NthWeekday struct {
	Day time.Weekday
	N   int // 1 to 5 from the start of the month (of the year: to 53), -1 (the last) to -5 (-53) from its end. Zero: every such day
}
