package recurrence

import (
	"strings"
	"time"
)

// maxCronText is the maximum length of a cron text, in bytes. A text that names every minute, hour, day and month has 350.
const maxCronText = 1000

// cronFields holds a cron text as bit masks: bit n of minutes is minute n, and so on. A mask is empty only if every is set.
type cronFields struct {
	minutes     uint64
	hours       uint32
	daysOfMonth uint32 // bits 1 to 31
	months      uint16 // bits 1 to 12
	weekDays    uint8  // bit 0 is Sunday

	// A day field is restricted unless it is *, ? or */1. If both are restricted, a day matches if either one matches.
	domRestricted, dowRestricted bool

	zone  string     // from a CRON_TZ= or TZ= prefix, not checked yet; "" without a prefix
	every Recurrence // Frequency and Interval of an @every; the zero value otherwise
}

// Cron returns the rule of a cron text of at most 1000 bytes. The text is five fields (minute, hour, day of the month, month, day of the week),
// or one of @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly, or @every with a duration.
//
//   - A field may have numbers, names (mon, JAN), *, ?, lists, ranges and steps. n/step goes from n to the field's end. 7 is
//     Sunday.
//   - A day field is restricted unless it is *, ? or */1. If both day fields are restricted, it is enough that one of them matches.
//   - An hour field with all 24 hours (*, */1 or 0-23) follows elapsed time. Every other hour field, such as */2, follows the clock.
//   - A prefix CRON_TZ=Europe/Berlin or TZ=Europe/Berlin becomes the rule's TimeZone.
//   - "@every 90m" becomes Frequency Minute and Interval 90. The Frequency is the largest of hour, minute and second that divides the duration.
//     Durations over 1000 hours use days; in a time zone a day may be shorter or longer than 24 hours. NoImmediateRun is set: as in robfig/cron the
//     first run is one duration after the creation. (A rule whose field Cron is "@every 90m" also runs at creation, unless NoImmediateRun is set.)
//
// [Recurrence.Cron] contains the text without the prefix and with single spaces. A byte order mark at the beginning is skipped.
//
// Cron refuses six fields, @reboot, L, W, #, H, ~, steps of 0, steps longer than their field, and reversed ranges. Its error is an [*Error] with
// [CodeCronSyntax], or with [CodeTimeZoneUnknown] for the prefix; its Reason contains what to write instead. A date that no year has, such as 30
// February in "0 0 30 2 *", is refused with [CodeNeverFires].
func Cron(expr string) (Recurrence, error) {
	expr = strings.TrimPrefix(expr, byteOrderMark)
	if err := checkCron(expr, false); err != nil {
		return Recurrence{}, err
	}
	fields, err := compileCron(expr)
	if err != nil {
		return Recurrence{}, err
	}
	r := fields.every
	r.TimeZone = fields.zone
	if r.NoImmediateRun = r.Frequency != 0; !r.NoImmediateRun {
		_, _, rest := cutCronZone(expr)
		r.Cron = strings.Join(rest, " ")
	}
	if err := r.neverFires(); err != nil {
		return Recurrence{}, err
	}
	return r, nil
}

// checkCron refuses a cron text with wrong syntax, with an unknown zone in its prefix, or with a zone if the rule has its own TimeZone. It does
// not check whether the text has any instant.
func checkCron(expr string, hasTimeZone bool) error {
	fields, err := compileCron(expr)
	if err != nil {
		return err
	}
	prefixed := len(fields.zone) > 0
	if prefixed && hasTimeZone {
		return newError(CodeCronConflict, "cron", expr, "the zone is given twice: remove the prefix CRON_TZ= or the timeZone")
	}
	if prefixed {
		return checkCronZone(fields.zone)
	}
	return nil
}

// compileCron reads a cron text. It does not look up the zone, so it needs no zone data. Its running time is bounded for every text.
func compileCron(expr string) (cronFields, error) {
	if bad := cronTextTooLong(expr); bad != nil {
		return cronFields{}, bad
	}
	prefix, zone, words := cutCronZone(expr)
	if prefix != "" && zone == "" {
		return cronFields{}, newError(CodeTimeZoneUnknown, "cron", expr, "%s names no zone: write %sEurope/Berlin, or remove it for UTC", prefix, prefix)
	}
	fields, reason := compileCronWords(words)
	if reason != "" {
		return cronFields{}, newError(CodeCronSyntax, "cron", expr, "%s", reason)
	}
	fields.zone = zone
	return fields, nil
}

// cronTextTooLong refuses a cron text that is too long, in any dialect.
func cronTextTooLong(expr string) *Error {
	if len(expr) <= maxCronText {
		return nil
	}
	return newError(CodeCronSyntax, "cron", expr, "the text has %d bytes, at most %d are allowed", len(expr), maxCronText)
}

// cutCronZone splits a text into its prefix, if its first word begins with CRON_TZ= or TZ=, and the words after it. zone is the name in the
// prefix, not checked yet.
func cutCronZone(expr string) (prefix, zone string, words []string) {
	words = strings.Fields(expr)
	if len(words) == 0 {
		return "", "", nil
	}
	name, zone, found := strings.Cut(words[0], "=")
	if found && (strings.EqualFold(name, "CRON_TZ") || strings.EqualFold(name, "TZ")) {
		return words[0], zone, words[1:]
	}
	return "", "", words
}

// cronMacros maps each name to its five fields.
var cronMacros = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// compileCronWords reads the words after the prefix. If it refuses them, reason is the cause; otherwise reason is "".
func compileCronWords(words []string) (f cronFields, reason string) {
	if len(words) == 0 {
		return f, `the text is empty: write five fields (minute, hour, day of the month, month, day of the week), such as "0 9 * * *"`
	}
	if strings.HasPrefix(words[0], "@") {
		return compileCronMacro(words)
	}
	if reason := checkFieldCount(words); reason != "" {
		return f, reason
	}
	var masks [5]uint64
	for i, word := range words {
		if masks[i], reason = cronFieldTable[i].parse(word); reason != "" {
			return cronFields{}, reason
		}
	}
	return cronFields{
		minutes:       masks[0],
		hours:         uint32(masks[1]),
		daysOfMonth:   uint32(masks[2]),
		months:        uint16(masks[3]),
		weekDays:      uint8(masks[4]&0x7f | masks[4]>>7),
		domRestricted: cronRestricted(words[2]),
		dowRestricted: cronRestricted(words[4]),
	}, ""
}

// compileCronMacro reads a text that begins with @.
func compileCronMacro(words []string) (cronFields, string) {
	macro := strings.ToLower(words[0])
	if macro == "@every" {
		every, reason := cronEvery(words[1:])
		return cronFields{every: every}, reason
	}
	if macro == "@reboot" {
		return cronFields{}, "@reboot is not a time: a rule without frequency and cron runs once, when it is created"
	}
	expansion, known := cronMacros[macro]
	if !known {
		return cronFields{}, "unknown name: write @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, @every with a duration, or five fields"
	}
	if len(words) > 1 {
		return cronFields{}, macro + " must be alone: remove the text after it, or write five fields"
	}
	return compileCronWords(strings.Fields(expansion))
}

// checkFieldCount returns "" for five words, and otherwise what to write instead.
func checkFieldCount(words []string) string {
	switch n := len(words); {
	case n == 5:
		return ""
	case n < 5:
		return "fewer than five fields: write minute, hour, day of the month, month and day of the week"
	case n == 6:
		return "six fields: in AWS and Temporal the last one is the year; FromAWS reads cron(…), and for Temporal write frequency with schedule, and the years as dates " +
			"in only. In Quartz, Spring and robfig/cron the first one is the second: use FromQuartz, FromSpring or FromRobfig, or write frequency second or minute"
	case n == 7:
		return "seven fields: the first one is the second and the last one is the year; FromQuartz reads them, and for Temporal write frequency with schedule, and the " +
			"years as dates in only"
	}
	return "more than five fields: write minute, hour, day of the month, month and day of the week"
}

// cronRestricted reports whether a day field is anything other than *, ? and */1.
func cronRestricted(word string) bool {
	base, step, stepped := strings.Cut(word, "/")
	if base != "*" && base != "?" {
		return true
	}
	n, ok := cronNumber(step)
	return stepped && !(ok && n == 1)
}

// cronEvery turns the duration of an @every into a frequency and an interval.
func cronEvery(words []string) (Recurrence, string) {
	if len(words) != 1 {
		return Recurrence{}, "@every takes one duration: write @every 90m"
	}
	d, err := time.ParseDuration(words[0])
	if err != nil {
		return Recurrence{}, "@every takes a duration in hours, minutes and seconds: write @every 1h30m (days as @every 24h)"
	}
	if d <= 0 || d%time.Second != 0 {
		return Recurrence{}, "@every takes whole seconds, at least one: write @every 1s"
	}
	units := [...]struct {
		frequency Frequency
		length    time.Duration
		max       time.Duration
	}{
		{Hour, time.Hour, 1000},
		{Minute, time.Minute, 1000},
		{Second, time.Second, 1000},
		{Day, 24 * time.Hour, 548},
	}
	for _, u := range units {
		if n := d / u.length; d%u.length == 0 && n <= u.max {
			return Recurrence{Frequency: u.frequency, Interval: int(n)}, ""
		}
	}
	return Recurrence{}, "@every takes at most 1000 seconds, 1000 minutes, 1000 hours or 548 days, as a whole number of one of them"
}
