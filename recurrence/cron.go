package recurrence

import (
	"strings"
	"time"
)

// maxCronText is the longest cron text that is read, in bytes. Naming every minute, hour, day and month takes 350.
const maxCronText = 1000

// cronFields is a cron text as bit masks: bit n of minutes is minute n, and so on. No mask is empty unless every is set.
type cronFields struct {
	minutes     uint64
	hours       uint32
	daysOfMonth uint32 // bits 1 to 31
	months      uint16 // bits 1 to 12
	weekDays    uint8  // bit 0 is Sunday

	// A day field other than *, ? and */1 is restricted. Where both are, a day that matches either one matches.
	domRestricted, dowRestricted bool

	zone  string     // of a CRON_TZ= or TZ= prefix, unchecked; "" without one
	every Recurrence // Frequency and Interval of an @every; otherwise zero
}

// Cron returns the rule that a cron text describes: five fields (minute, hour, day of the month, month, day of the week),
// or one of @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly, or @every with a duration.
//
//   - The fields take numbers, names (mon, JAN), *, ?, lists, ranges and steps; n/step runs from n to the end; 7 is Sunday.
//   - A day field is restricted unless it is *, ? or */1. Where both day fields are, either one is enough.
//   - A prefix CRON_TZ=Europe/Berlin or TZ=Europe/Berlin becomes the rule's TimeZone.
//   - "@every 90m" becomes Frequency Minute, Interval 90: the longest of second, minute and hour that divides it. Days are
//     used only beyond 1000 hours, for in a zone a day is not always 24 hours. Such a rule is a frequency rule like any
//     other: without a StartTime it also runs when it is created, which a rule of fields never does.
//
// The rest of the text is kept in [Recurrence.Cron] with its white space made single. Six fields, @reboot, L, W and #, steps of
// 0 and reversed ranges are refused, and the error names what to write instead. Texts over 1000 bytes are refused.
func Cron(expr string) (Recurrence, error) {
	if err := checkCron(expr, false); err != nil {
		return Recurrence{}, err
	}
	fields, err := compileCron(expr)
	if err != nil {
		return Recurrence{}, err
	}
	r := fields.every
	r.TimeZone = fields.zone
	if r.Frequency == 0 {
		_, rest := cutCronZone(expr)
		r.Cron = strings.Join(rest, " ")
	}
	return r, nil
}

// checkCron says what is wrong with a rule's cron text: its syntax, a zone in its prefix that is unknown, or one that stands
// beside the rule's own TimeZone. Whether it ever fires is not asked here.
func checkCron(expr string, timeZoneSet bool) error {
	fields, err := compileCron(expr)
	if err != nil {
		return err
	}
	prefixed := len(fields.zone) > 0
	if prefixed && timeZoneSet {
		return refuse(CodeCronConflict, "cron", expr, "the zone is given twice: drop the prefix CRON_TZ= or the timeZone")
	}
	if prefixed {
		return checkCronZone(fields.zone)
	}
	return nil
}

// compileCron reads a cron text. It does not look the zone up, so it needs no zone data. Its time is bounded whatever the text.
func compileCron(expr string) (cronFields, error) {
	if len(expr) > maxCronText {
		return cronFields{}, refuse(CodeCronSyntax, "cron", expr, "the text has %d bytes; at most %d are read", len(expr), maxCronText)
	}
	prefix, words := cutCronZone(expr)
	zone, hasZone := "", prefix != ""
	if hasZone {
		_, zone, _ = strings.Cut(prefix, "=")
		if zone == "" {
			return cronFields{}, refuse(CodeTimeZoneUnknown, "cron", expr, "%s names no zone: write %sEurope/Berlin, or drop it for UTC", prefix, prefix)
		}
	}
	fields, reason := compileCronWords(words)
	if reason != "" {
		return cronFields{}, refuse(CodeCronSyntax, "cron", expr, "%s", reason)
	}
	fields.zone = zone
	return fields, nil
}

// cutCronZone splits a text into its CRON_TZ= or TZ= word, if it begins with one, and the words after it.
func cutCronZone(expr string) (prefix string, words []string) {
	words = strings.Fields(expr)
	if len(words) == 0 {
		return "", nil
	}
	name, _, found := strings.Cut(words[0], "=")
	if found && (strings.EqualFold(name, "CRON_TZ") || strings.EqualFold(name, "TZ")) {
		return words[0], words[1:]
	}
	return "", words
}

// cronMacros holds the names that stand for five fields.
var cronMacros = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// compileCronWords reads the words after the prefix. A reason other than "" says why they are refused.
func compileCronWords(words []string) (f cronFields, reason string) {
	if len(words) == 0 {
		return f, `the text is empty: write five fields (minute, hour, day of the month, month, day of the week), such as "0 9 * * *"`
	}
	if strings.HasPrefix(words[0], "@") {
		return compileCronMacro(words)
	}
	if why := wrongFieldCount(words); why != "" {
		return f, why
	}
	var masks [5]uint64
	for i, word := range words {
		if masks[i], reason = cronColumns[i].parse(word); reason != "" {
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
		return cronFields{}, "@reboot is no time: a rule without frequency and cron runs once, when it is created"
	}
	expansion, known := cronMacros[macro]
	if !known {
		return cronFields{}, "unknown name: write @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, @every with a duration, or five fields"
	}
	if len(words) > 1 {
		return cronFields{}, macro + " stands alone: drop what follows it, or write five fields"
	}
	return compileCronWords(strings.Fields(expansion))
}

// wrongFieldCount says what to write where the words are not five.
func wrongFieldCount(words []string) string {
	switch n := len(words); {
	case n == 5:
		return ""
	case n < 5:
		return "fewer than five fields: write minute, hour, day of the month, month and day of the week"
	case n == 6 || n == 7:
		return "more than five fields: there is none for seconds or years; " +
			"for seconds use frequency second or minute with an interval, for years startTime and endTime"
	}
	return "more than five fields: write minute, hour, day of the month, month and day of the week"
}

// cronRestricted reports whether a day field limits the days: whether it is anything but *, ? and */1.
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
		most      time.Duration
	}{
		{Hour, time.Hour, 1000},
		{Minute, time.Minute, 1000},
		{Second, time.Second, 1000},
		{Day, 24 * time.Hour, 548},
	}
	for _, u := range units {
		if n := d / u.length; d%u.length == 0 && n <= u.most {
			return Recurrence{Frequency: u.frequency, Interval: int(n)}, ""
		}
	}
	return Recurrence{}, "@every takes at most 1000 seconds, 1000 minutes, 1000 hours or 548 days, as a whole number of one of them"
}
