package recurrence

import (
	"strconv"
	"strings"
	"time"
)

// FromAWS returns the rule of a schedule expression of Amazon EventBridge (of its Scheduler and of its rules) of at most 1000 bytes:
//
//   - cron(minute hour day-of-month month day-of-week year), such as "cron(0 9 ? * MON-FRI *)". Exactly one of the two day fields must be ?. Days of the
//     week are 1 (Sunday) to 7 and have no steps; L is Saturday, 6L the last Friday, 6#3 the third one. In the day of the month L is the last day, and
//     15W the weekday nearest to the 15th. The fields become a rule as in [FromQuartz].
//   - rate(5 minutes), rate(1 hour), rate(7 days) become Frequency and Interval.
//   - at(2026-12-24T13:00:00) becomes a StartTime in UTC. If your schedule has another time zone, convert this time.
//
// Apart from at, a rule has no StartTime. No rule has a TimeZone: set both afterwards. NoImmediateRun is set: a rate that begins now has its first run
// after the first period. (EventBridge Scheduler starts a rate without a start date at once: set NoImmediateRun to false for the same.) A byte order
// mark at the beginning is skipped.
//
// If the clocks skip a named time, its run is moved; if they repeat one, it runs on the first pass: ClockChanges remains [ClockOnce]. EventBridge
// Scheduler does not run at times that the clocks skip: set [ClockSkip] for the same behaviour.
//
// FromAWS refuses what the documents of EventBridge do not define, such as L-3 or a reversed range, with an [*Error] with [CodeCronSyntax] whose Reason
// contains what to write instead. A date that no year has is refused with [CodeNeverFires].
func FromAWS(expr string) (Recurrence, error) { return readImport(expr, readAWS) }

// The fields of EventBridge, by its "Cron expressions reference" and "Schedule types on EventBridge Scheduler".
var (
	awsMinute  = importField{name: "minute", lo: 0, hi: 59, min: 0, max: 59, maxStep: 59}
	awsHour    = importField{name: "hour", lo: 0, hi: 23, min: 0, max: 23, maxStep: 23}
	awsDay     = importField{name: "day of the month", lo: 1, hi: 31, min: 1, max: 31, maxStep: 31}
	awsMonth   = importField{name: "month", lo: 1, hi: 12, min: 1, max: 12, names: monthAbbreviations, first: 1, maxStep: 12}
	awsWeekday = importField{name: "day of the week", lo: 1, hi: 7, min: 1, max: 7, names: dayAbbreviations, first: 1, noStep: true}
	awsYear    = importField{name: "year", lo: 1970, hi: 2199, min: 1970, max: 2199}
)

// readAWS reads an expression in any of its three forms.
func readAWS(text string) (r Recurrence, reason string) {
	form, rest, opened := strings.Cut(text, "(")
	inside, closed := strings.CutSuffix(rest, ")")
	if opened && closed {
		switch form {
		case "cron":
			return readAWSCron(strings.Fields(inside))
		case "rate":
			return readAWSRate(strings.Fields(inside))
		case "at":
			return readAWSAt(inside)
		}
	}
	return r, "write cron(0 9 ? * MON-FRI *), rate(5 minutes) or at(2026-12-24T13:00:00)"
}

// readAWSCron reads the six fields.
func readAWSCron(words []string) (r Recurrence, reason string) {
	switch {
	case len(words) == 5:
		return r, "five fields: the year is missing, so write * after the day of the week"
	case len(words) != 6:
		return r, "write minute, hour, day of the month, month, day of the week and year; there is no field for seconds"
	}
	c := importedCron{seconds: 1, staysInMonth: true}
	if c.minutes, reason = awsMinute.values(words[0]); reason != "" {
		return r, reason
	}
	if c.hours, reason = awsHour.values(words[1]); reason != "" {
		return r, reason
	}
	if reason = c.readAWSDays(strings.ToUpper(words[2]), strings.ToUpper(words[4])); reason != "" {
		return r, reason
	}
	if c.months, reason = awsMonth.values(words[3]); reason != "" {
		return r, reason
	}
	c.years, reason = yearRanges(&awsYear, words[5])
	return c.rule(), reason
}

// readAWSDays reads both day fields. Exactly one of them is ?.
func (c *importedCron) readAWSDays(dom, dow string) (reason string) {
	if (dom == "?") == (dow == "?") {
		return "EventBridge needs ? in exactly one of the two day fields: for days that match one of two fields write two rules"
	}
	c.dates.any, c.week.any = dom == "?" || dom == "*", dow == "?" || dow == "*"
	switch {
	case !c.dates.any:
		return c.dates.readAWS(dom)
	case !c.week.any:
		return c.week.readAWS(dow)
	}
	return ""
}

// readAWS reads a day of the month: values, or L or nW alone.
func (d *importedDates) readAWS(word string) (reason string) {
	f := &awsDay
	switch {
	case word == "L":
		d.days = []int{-1}
		return ""
	case strings.ContainsAny(word, "LW") && strings.Contains(word, ","):
		return f.name + ": L and W must be alone: write a rule for each part of the list"
	case strings.HasPrefix(word, "L"):
		return f.name + ": EventBridge has L and nW only: write monthDays [-4] for L-3, positions [-1] with the weekend in except for LW"
	case strings.Contains(word, "W"):
		day, reason := nearestDay(f, word)
		d.nearest = []int{day}
		return reason
	}
	return f.each(word, func(day int) { d.days = append(d.days, day) })
}

// readAWS reads a day of the week: values, or L, dL or d#n alone.
func (w *importedWeek) readAWS(word string) (reason string) {
	f := &awsWeekday
	last, numbered := strings.Contains(word, "L"), strings.Contains(word, "#")
	switch {
	case word == "L":
		w.days = 1 << time.Saturday
		return ""
	case (last || numbered) && strings.Contains(word, ","):
		return f.name + ": L and # must be alone: write a rule for each part of the list"
	case last || numbered:
		day, n, reason := nthWeekday(f, word)
		w.nth = []NthWeekday{{weekdayFromOne(day), n}}
		return reason
	}
	return f.each(word, func(day int) { w.days |= 1 << weekdayFromOne(day) })
}

// weekdayFromOne returns the weekday of a number from 1 (Sunday) to 7.
func weekdayFromOne(n int) time.Weekday { return time.Weekday(n-1) % 7 }

// readAWSRate reads a value and its unit.
func readAWSRate(words []string) (r Recurrence, reason string) {
	const want = "rate takes a number from 1 on and minutes, hours or days: write rate(5 minutes)"
	if len(words) != 2 {
		return r, want
	}
	n, err := strconv.ParseUint(words[0], 10, 24)
	minutes, known := map[string]int{"minute": 1, "minutes": 1, "hour": 60, "hours": 60, "day": 1440, "days": 1440}[words[1]]
	if err != nil || n == 0 || !known {
		return r, want
	}
	if many := strings.HasSuffix(words[1], "s"); many != (n > 1) {
		return r, "rate takes minute, hour or day with 1, and minutes, hours or days otherwise"
	}
	for _, unit := range [...]struct {
		frequency Frequency
		minutes   int
	}{{Minute, 1}, {Hour, 60}, {Day, 1440}} {
		count := int(n) * minutes / unit.minutes
		if unit.minutes >= minutes && count*unit.minutes == int(n)*minutes && count <= maxInterval(unit.frequency) {
			return Recurrence{Frequency: unit.frequency, Interval: count, NoImmediateRun: true}, ""
		}
	}
	return r, "rate takes at most 1000 minutes, 1000 hours or 548 days, as a whole number of one of them"
}

// readAWSAt reads a single time.
func readAWSAt(text string) (r Recurrence, reason string) {
	const form = "2006-01-02T15:04:05"
	at, err := time.Parse(form, text)
	if err != nil || len(text) != len(form) {
		return r, "at takes a date and a time without a zone: write at(2026-12-24T13:00:00)"
	}
	return Recurrence{StartTime: at, NoImmediateRun: true}, ""
}
