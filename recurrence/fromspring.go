package recurrence

// FromSpring returns the rule of a text of at most 1000 bytes with six fields, as Spring, robfig/cron with seconds and node-cron have
// it: second, minute, hour, day of the month, month, day of the week. The fields become what [FromQuartz] makes of them, but days of the week are
// 0 (Sunday) to 7 (Sunday), and there are no years.
//
// A rule has no StartTime and no TimeZone: set them afterwards. Without a StartTime it also runs when created, as every rule
// with a frequency does.
//
// A named time that the clocks skip runs moved, one that they repeat runs on the first pass: ClockChanges stays [ClockOnce].
// Spring and node-cron do not run at times that the clocks skip: for that set [ClockSkip]. Temporal does not either, and runs
// on both passes: for that set [ClockShown].
//
// FromSpring refuses what it cannot say exactly, as [FromQuartz] does. That includes two restricted day fields, for Spring wants both
// to match and robfig/cron either one.
func FromSpring(expr string) (Recurrence, error) { return springFields.read(expr) }

var springFields = cronDialect{cronFieldTable[4], 0, false,
	"second, minute, hour, day of the month, month and day of the week"}
