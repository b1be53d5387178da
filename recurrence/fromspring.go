package recurrence

// FromSpring returns the rule of a text of at most 1000 bytes with six fields, in the form of Spring, robfig/cron with seconds and node-cron: second,
// minute, hour, day of the month, month, day of the week. The fields are converted as in [FromQuartz], but days of the week are 0 (Sunday) to 7
// (Sunday), and there are no years.
//
// A rule has no StartTime and no TimeZone: set them afterwards. Without a StartTime it also runs at creation, like every rule with a Frequency.
//
// If the clocks skip a named time, its run is moved; if they repeat one, it runs on the first pass: ClockChanges remains [ClockOnce]. Spring and
// node-cron do not run at times that the clocks skip: set [ClockSkip] for the same behaviour. Temporal does not run at these times either, and runs
// on both passes of a repeated time: set [ClockShown] for this.
//
// FromSpring refuses what it cannot represent exactly, as [FromQuartz] does. It also refuses two restricted day fields, because in Spring both must
// match, and in robfig/cron one match is enough.
func FromSpring(expr string) (Recurrence, error) { return springFields.read(expr) }

var springFields = cronDialect{cronFieldTable[4], 0, false,
	"second, minute, hour, day of the month, month and day of the week"}
