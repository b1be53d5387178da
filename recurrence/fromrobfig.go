package recurrence

import (
	"strings"
	"time"
)

// FromRobfig returns the rule of a text of at most 1000 bytes in the form of robfig/cron (version 3) with seconds: second, minute, hour, day of the
// month, month and day of the week; a name such as @daily; or @every with a duration. [Cron] reads its texts of five fields.
//
//   - Days of the week are 0 (Sunday) to 6, and SUN to SAT. 7 is refused.
//   - ? means * in every field.
//   - A day field is restricted unless a part of it is *, ? or */1. If both day fields are restricted, it is enough that one of them matches.
//     Then the rule has two filters in Only.
//   - A step may be longer than its field: */90 is the first value.
//   - A prefix CRON_TZ=Europe/Berlin or TZ=Europe/Berlin becomes the rule's TimeZone.
//   - "@every 90m" becomes Frequency Minute and Interval 90, as in [Cron].
//
// A rule has no StartTime: set it afterwards, and set TimeZone to the Location of your cron.Cron. NoImmediateRun is set, because robfig/cron has no run
// at creation. A byte order mark at the beginning is skipped.
//
// If the clocks skip a named time, its run is moved; if they repeat one, it runs on the first pass: ClockChanges remains [ClockOnce]. robfig/cron does
// not run at times that the clocks skip, and runs on both passes of a repeated time: set [ClockShown] for the same behaviour.
//
// FromRobfig refuses what robfig/cron refuses, and empty parts of lists, with an [*Error] with [CodeCronSyntax] whose Reason contains what to write
// instead. An unknown zone has [CodeTimeZoneUnknown], and a date that no year has [CodeNeverFires].
func FromRobfig(expr string) (Recurrence, error) {
	text := strings.TrimSpace(strings.TrimPrefix(expr, byteOrderMark))
	zone := ""
	if prefix, name, words := cutCronZone(text); strings.HasPrefix(prefix, "TZ=") || strings.HasPrefix(prefix, "CRON_TZ=") {
		if _, bad := findZone(name); bad != nil && len(expr) <= maxCronText {
			return Recurrence{}, newError(CodeTimeZoneUnknown, "cron", expr, "%s", bad.Reason)
		}
		text, zone = strings.Join(words, " "), name
	}
	return readImport(expr, func(string) (Recurrence, string) {
		r, reason := readRobfig(text)
		r.TimeZone = zone
		return r, reason
	})
}

// The fields of robfig/cron, by its package page and the source of its parser (3.0.1).
var (
	robfigSecond  = importField{name: "second", lo: 0, hi: 59, min: 0, max: 59, question: true}
	robfigMinute  = importField{name: "minute", lo: 0, hi: 59, min: 0, max: 59, question: true}
	robfigHour    = importField{name: "hour", lo: 0, hi: 23, min: 0, max: 23, question: true}
	robfigDay     = importField{name: "day of the month", lo: 1, hi: 31, min: 1, max: 31, question: true}
	robfigMonth   = importField{name: "month", lo: 1, hi: 12, min: 1, max: 12, names: monthAbbreviations, first: 1, question: true}
	robfigWeekday = importField{name: "day of the week", lo: 0, hi: 6, min: 0, max: 6, names: dayAbbreviations, question: true}
)

// robfigMacros maps each name to its fields.
var robfigMacros = map[string]string{
	"@yearly":   "0 0 0 1 1 *",
	"@annually": "0 0 0 1 1 *",
	"@monthly":  "0 0 0 1 * *",
	"@weekly":   "0 0 0 * * 0",
	"@daily":    "0 0 0 * * *",
	"@midnight": "0 0 0 * * *",
	"@hourly":   "0 0 * * * *",
}

// readRobfig reads a text without its prefix.
func readRobfig(text string) (r Recurrence, reason string) {
	if fields, known := robfigMacros[text]; known {
		text = fields
	}
	words := strings.Fields(text)
	switch {
	case strings.HasPrefix(text, "@every "):
		r, reason = cronEvery(strings.Fields(text)[1:])
		r.NoImmediateRun = reason == ""
		return r, reason
	case strings.HasPrefix(text, "@"):
		return r, "unknown name: write @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, @every with a duration, or six fields"
	case len(words) > 0 && strings.Contains(words[0], "="):
		return r, "a prefix is TZ= or CRON_TZ= in capital letters"
	case len(words) == 5:
		return r, "five fields: use Cron"
	case len(words) == 7:
		return r, "seven fields: there is no field for years, so write six, or use FromQuartz"
	case len(words) != 6:
		return r, "write second, minute, hour, day of the month, month and day of the week"
	}
	c := importedCron{either: true}
	for i, list := range [...]struct {
		field  *importField
		values *uint64
	}{
		{&robfigSecond, &c.seconds}, {&robfigMinute, &c.minutes}, {&robfigHour, &c.hours}, {}, {&robfigMonth, &c.months}, {},
	} {
		if list.field == nil {
			continue
		}
		if *list.values, reason = list.field.values(words[i]); reason != "" {
			return r, reason
		}
	}
	c.dates.any, c.week.any = robfigStar(words[3]), robfigStar(words[5])
	if reason = robfigDay.each(words[3], func(day int) { c.dates.days = append(c.dates.days, day) }); reason != "" {
		return r, robfigAdvice(words[3], reason)
	}
	if reason = robfigWeekday.each(words[5], func(day int) { c.week.days |= 1 << time.Weekday(day) }); reason != "" {
		return r, robfigAdvice(words[5], reason)
	}
	return c.rule(), ""
}

// robfigStar reports whether a part of a day field is *, ? or */1.
func robfigStar(word string) bool {
	for part := range strings.SplitSeq(word, ",") {
		if !cronRestricted(part) {
			return true
		}
	}
	return false
}

// robfigAdvice adds what to use for the signs of other programs, and for 7.
func robfigAdvice(word, reason string) string {
	switch {
	case strings.ContainsAny(word, "LW#lw"):
		return reason + "; robfig/cron has no L, W and #: FromQuartz and FromSpring read them"
	case strings.Contains(word, "7"):
		return reason + "; in robfig/cron Sunday is 0"
	}
	return reason
}
