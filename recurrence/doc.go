// Package recurrence computes when recurring jobs run. It implements the recurrences of Azure Scheduler (retired in 2020) in
// full, reads and writes their JSON, and adds time zones, seconds, months, cron text and a calendar of open days and times. It
// uses the standard library only, and works without the rest of this module and without Redis.
//
//	rule := recurrence.MustParse(`{"frequency": "week", "schedule": {"weekDays": ["monday"], "hours": [10, 22]}}`)
//	series, err := rule.Series(time.Now()) // the runs of a job created now
//	next, ok := series.Next(time.Now())
//
// A [Recurrence] is a plain struct. Write it in Go and call [Recurrence.Validate], read it from JSON with [Parse] or
// json.Unmarshal, or make it from the text of another scheduler with [Cron], [FromQuartz], [FromSpring], [FromRobfig],
// [FromAWS], [FromRRule] or [FromRRuleAt]. [Recurrence.Series] returns its runs, [Recurrence.String] describes it in English, and
// [Recurrence.RRule] writes it as an RFC 5545 rule. A Recurrence is also a column of database/sql ([Recurrence.Scan],
// [Recurrence.Value]) and a flag ([Recurrence.Set]), and [Series.Schedule] returns a schedule for robfig/cron.
//
// For the runs of a job use [Series.First] and [Series.All], which begin at its creation. For the matches of its rule use [Series.Next],
// [Series.Prev], [Series.After], [Series.Backward], [Series.Between] and [Series.Matches]. [Recurrence.NextN] returns the next runs with one call.
//
// # What it promises
//
// The package never reads the clock, keeps no state that changes a result, and does no I/O except to load a time zone by its name. All its functions
// may be called from several goroutines at once. The same rule with the same creation time and the same time zone data always has the same runs.
//
// Runs are in whole seconds, in ascending order and without duplicates. All of them are before the year 2200. The running time of [Series.Next] and
// [Series.Prev] does not depend on how long ago the start was, and they allocate nothing.
//
// # What to know before you use it
//
//   - A rule with a frequency and without startTime runs once at creation, and then by its schedule. A cron rule does not run at creation, and
//     NoImmediateRun omits the run for every rule.
//   - Runs before creation are not caught up. The interval still counts from startTime, even if it is long ago.
//   - count limits the number of runs from creation on, including the run at creation. [Series.Next] and [Series.Between] ignore it.
//   - Fields that the schedule does not set come from the start. At frequency day, {"hours": [5]} runs once a day, at the minute of the start;
//     {"minutes": [15]} runs 24 times a day. At frequency week or month, a schedule with only hours and minutes runs on the weekday or on the day of
//     the month of the start.
//   - A month that does not have the day is skipped: a rule for the 31st runs in seven months a year. Use -1 for the last day of every month.
//   - monthDays and monthlyOccurrences together mean days that match both: the 13th, if it is a Friday.
//   - The frequencies second, minute and hour follow elapsed time. From frequency day on, and in cron text, named hours follow the local clock: a
//     time that the clocks skip runs later by the length of the gap (02:30 runs at 03:30), and a time that they repeat runs the first time only. A
//     rule that names all 24 hours follows elapsed time: it runs in both passes of a repeated hour, and not in a skipped hour. ClockChanges changes
//     this for named hours.
//   - A calendar (Only, Except) closes days and times. While the local clock shows a closed time, nothing runs except the instants of Also. A run
//     whose day is closed is dropped, unless Shift moves it.
//   - Holidays are stored as a list of dates, and this list has an end: see [Recurrence.DatesEnd].
//
// # The JSON
//
//	startTime     date or date-time      when the rule begins; it may lie in the past. Left out: creation
//	frequency     second to year         required, unless there is cron or the rule runs once
//	interval      1 to 1000              every n-th period; month at most 18, week 78, day 548. Left out: 1
//	count         1 to 2147483647        runs from creation on. Left out: endless
//	endTime       date or date-time      the last instant that may run. Left out: endless
//	schedule      object                 the elements below
//	timeZone      IANA name              the zone of the local clock. Left out: UTC
//	cron          cron text              replaces frequency, interval and schedule; see [Cron]
//	only          filters                a day or time is open only if it fits one of them. Left out: all is open
//	except        filters                a day or time that fits one of them is closed
//	shift         next, previous, …      where a run moves if its day is closed; see [Shift]. With frequency day and above, and with
//	                                     cron fields. Left out: drop
//	shiftBy       -31 to 31              moves every run by a number of open days: -2 is the second open day before. With frequency
//	                                     day and above, and with cron fields. Left out: 0
//	also          times and rules        more runs: at most 1,000 times, in the form of startTime, and 16 rules
//	clockChanges  once, skip, shown      what happens to times that the clocks skip or repeat; see [ClockChanges]. With frequency
//	                                     day and above, and with cron fields. Left out: once
//	immediateRun  true, false            false omits the run at creation. Left out: true
//
// Each element of a schedule is a number (word, object) or an array of them:
//
//	minutes             0 to 59
//	hours               0 to 23
//	weekDays            monday to sunday         with frequency week
//	monthDays           1 to 31, -1 to -31       with frequency month; -1 is the last day
//	monthlyOccurrences  {"day": "friday",        with frequency month; occurrence is 1 to 5, -1 (the last) to -5,
//	                     "occurrence": -1}       or left out: every such day
//	months              1 to 12                  with frequency month or year
//	seconds             0 to 59
//	positions           1, 2, … or -1, -2, …     which of the open days of the week (at most 7), the month (31) or the year (366);
//	                                             with frequency week, month or year
//	days                filters without times    the rule has only the days that fit one of them; each rule of also has its own days.
//	                                             In week, month and year without weekDays, monthDays and monthlyOccurrences: all such days
//	weekStart           monday to sunday         the first day of a week, for frequency week and for weeks in days. Left out: monday
//
// A filter is an object; each of its fields is a value or an array. At least one field must be given. A day or time fits the filter if it fits all
// given fields. only and except take a filter or an array of at most 32:
//
//	weekDays, monthDays, monthlyOccurrences, months    as in a schedule, with every frequency
//	weeks                 1 to 53, -1 to -53           weeks of the year by ISO 8601; -1 is the last
//	yearDays              1 to 366, -1 to -366         days of the year; -1 is the last
//	yearlyOccurrences     {"day": "monday",            weekdays of the year; occurrence is 1 to 53, -1 (the last)
//	                       "occurrence": 20}           to -53, or left out: every such day
//	dates    "2026-12-25", "12-25"                     at most 1,000; a date without a year is in every year
//	         "2026-12-20/2027-01-03", "12-20/01-03"    a range, both ends included
//	         "easter", "easter-2", "orthodoxEaster+1"  a day around Easter, by at most 70 days; also as ranges
//	times    "09:00", "09:00:30"                       at most 100; a time without seconds is the whole minute
//	         "02:00/03:59", "22:00/05:59"              a range, both ends included; there is no 24:00
//
// An entry of also is a time, {"startTime": …}, or a rule: an object with some of startTime, frequency, interval, endTime, schedule and cron. The
// type [Recurrence] describes which fields of the outer rule apply to it. A rule with startTime and also, but without frequency and cron, is a list
// of dates:
//
//	{"startTime": "2026-01-05T09:00", "also": ["2026-02-05T09:00", "2026-03-04T09:00"]}
//
// The form of an Azure job is accepted too: startTime, and next to it an object recurrence with all other fields. Both may be inside an object
// properties. The keys id, name, type, action, state and status are skipped. The two forms must not be mixed.
//
// Some variants from published examples are accepted: keys and words in any case, plurals and adverbs as frequency (days,
// daily), minute and hour for minutes and hours, monthlyOccurences, and for shift the words following, preceding,
// modifiedFollowing and modifiedPreceding. null and [] mean not set, and so does {} for schedule.
// Likely mistakes are refused: an unknown key, a key given twice, "5" or 5.0 in place of 5, null inside an array, a value out
// of range, an element that does not go with the frequency, and a rule that never fires.
//
// A time is written as 2026-03-08, 2026-03-08T09:30 or 2026-03-08T09:30:00, with an optional fraction, which is dropped. Z or an offset such as +01,
// +0100 or +01:00 may follow. Without an offset the time is local time in timeZone: a time that the clocks skip gets the offset before the gap, and a
// time that they repeat means its first pass. startTime lies in the years 1900 to 2199, endTime in 1900 to 9999.
//
// # Errors
//
// Every mistake is an [*Error] with a [Code] for programs, the path of the field, its value and a reason for people. If there are several, they
// are joined in the order of the text; [Errors] lists them. [Recurrence.Validate] returns the same errors for Go values.
//
// # Time zone data
//
// The package does not contain the time zone database. A program that may run on a system without one, such as in an empty container, must import
// it:
//
//	import _ "time/tzdata"
//
// If both this import and the system's tzdata package are missing, every timeZone other than UTC is refused. The error contains this reason.
package recurrence
