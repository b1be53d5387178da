package recurrence

// FromQuartz returns the rule of a Quartz text of at most 1000 bytes: second, minute, hour, day of the month, month, day of the
// week and, if there are seven fields, year. It becomes ordinary fields, so it can be read and changed like any other rule:
//
//   - "0 15 10 ? * MON-FRI" becomes Frequency Week with WeekDays, "0 0/5 14 * * ?" Frequency Day. Days of the week are 1 (Sunday)
//     to 7. Months of such rules become Only.
//   - A day of the month becomes Frequency Month: L is MonthDays -1, L-3 is -4, LW the last day with Positions -1 and the weekend
//     in Except, 15W has the weekend in Except and [ShiftNearestInMonth].
//   - 6L and 6#3 become MonthlyOccurrences: the last and the third Friday.
//   - Years become Dates in Only.
//   - Seconds become Seconds, unless they are 0 beside Minutes.
//
// A rule has no StartTime and no TimeZone: set them afterwards. Without a StartTime it also runs when created, as every rule
// with a frequency does.
//
// A named time that the clocks skip runs moved, one that they repeat runs on the first pass: ClockChanges stays [ClockOnce].
// Quartz skips such times on some days; [ClockSkip] does so on all.
//
// FromQuartz refuses what it cannot say exactly, with an [*Error] with [CodeCronSyntax] whose Reason says what to write instead:
// five fields, two restricted day fields, C, lists with L, W or #, reversed ranges, and what [Cron] refuses in a field. A date that
// no year has is refused with [CodeNeverFires].
func FromQuartz(expr string) (Recurrence, error) { return quartzFields.read(expr) }
