// Package recurrence says when things happen: the schedules of Azure Scheduler (retired in 2020), in full and with their
// JSON, extended by time zones, seconds, months and cron text. It is pure: it never asks what time it is, keeps no state
// and does no I/O but to load a time zone by its name.
//
//	rule := recurrence.MustParse(`{"frequency": "week", "schedule": {"weekDays": ["monday"], "hours": [10, 22]}}`)
//
// A [Recurrence] is a plain struct: write it in Go and call [Recurrence.Validate], or read it from JSON with [Parse] or
// json.Unmarshal. [Cron] turns cron text into one. [Recurrence.Series] then computes its instants.
//
// # The JSON
//
//	startTime   date or date-time      when it begins; it may lie in the past. Left out: creation
//	frequency   second … year          needed, unless there is cron or the rule runs once
//	interval    1 to 1000              month at most 18, week 78, day 548. Left out: 1
//	count       1 to 2147483647        runs from creation on. Left out: endless
//	endTime     date or date-time      inclusive. Left out: endless
//	schedule    object                 the elements below
//	timeZone    IANA name              the clock of the rule. Left out: UTC
//	cron        cron text              instead of frequency, interval and schedule; see [Cron]
//
// The elements of a schedule, each a number (word, object) or an array of them:
//
//	minutes             0 to 59
//	hours               0 to 23
//	weekDays            monday to sunday         with frequency week
//	monthDays           1 to 31, -1 to -31       with frequency month; -1 is the last day
//	monthlyOccurrences  {"day": "friday",        with frequency month; occurrence is 1 to 5, -1 (the last) to -5,
//	                     "occurrence": -1}       or left out: every such day
//	months              1 to 12                  with frequency month or year
//
// Azure's job form is read as well: startTime beside an object recurrence that holds the rest, within properties or
// not; its id, name, type, action, state and status are skipped. The two forms do not mix.
//
// What the published examples need is let through: keys and words in any case, plurals and adverbs as frequency (days,
// daily), minute and hour for minutes and hours, monthlyOccurences. null and [] mean not set, as does {} for schedule.
// A mistake that could hide is refused: an unknown key, a key given twice, "5" for 5, 5.0, null within an array, a
// value out of range, an element that its frequency does not know, a rule that never fires.
//
// Times are written 2026-03-08, 2026-03-08T09:30 or 2026-03-08T09:30:00 with an optional fraction, which is dropped, and
// end with Z, an offset such as +01, +0100 or +01:00, or neither: then they are on the clock of timeZone. There, a time
// that the clocks skip counts at the offset before the gap, and one that they show twice is the first. Starts lie in
// the years 1900 to 2199; an endTime may lie later.
//
// # Errors
//
// What is wrong is told as an [*Error] with a [Code] for programs, the path of the field, its value and a reason. Several
// are joined in the order of the text; [Errors] lists them. [Recurrence.Validate] tells the same of Go values.
//
// # Time zone data
//
// The package does not carry the time zone database. Programs that may run where there is none, such as in an empty
// container, import it:
//
//	import _ "time/tzdata"
//
// Without it and without the system's tzdata package every timeZone is refused, and the error says so.
package recurrence
