package recurrence

import "strings"

// FromQuartz returns the rule of a Quartz text of at most 1000 bytes: second, minute, hour, day of the month, month, day of the week and, if there
// are seven fields, year. The result has ordinary fields, so you can read and change it like any other rule:
//
//   - "0 15 10 ? * MON-FRI" becomes Frequency Week with WeekDays, and "0 0/5 14 * * ?" becomes Frequency Day. Days of the week are 1 (Sunday) to 7.
//     The months of such rules become a filter in Only.
//   - Exactly one of the two day fields must be ?, as in Quartz.
//   - A day of the month becomes Frequency Month: L becomes MonthDays -1, and L-3 becomes -4. LW becomes Positions -1 with the weekend
//     in Except. 15W becomes MonthDays 15 with the weekend in Except and [ShiftNearestInMonth].
//   - 6L and 6#3 become MonthlyOccurrences: the last and the third Friday. L alone is Saturday.
//   - A range may continue at the beginning: 22-2 is 22, 23, 0, 1 and 2, and NOV-FEB is four months.
//   - Years become Dates in Only.
//   - Seconds become Seconds. If they are 0 and the rule has Minutes, Seconds is not set.
//
// A rule has no StartTime and no TimeZone: set them afterwards. NoImmediateRun is set, because Quartz has no run at creation. A byte order mark at
// the beginning is skipped.
//
// If the clocks skip a named time, its run is moved; if they repeat one, it runs on the first pass: ClockChanges remains [ClockOnce]. Quartz drops
// the runs at such times on some days only; [ClockSkip] drops them on all days.
//
// FromQuartz refuses everything that Quartz refuses, that its documents do not define (such as a list with W, a step after a name, or a step of 0),
// or that no rule can represent exactly (C), with an [*Error] with [CodeCronSyntax] whose Reason contains what to write instead. A date
// that no year has is refused with [CodeNeverFires].
func FromQuartz(expr string) (Recurrence, error) { return readImport(expr, readQuartz) }

// The fields of Quartz, by the documentation of its class CronExpression: names in any case, ranges that overflow, at most the step of a field.
var (
	quartzSecond  = importField{name: "second", lo: 0, hi: 59, min: 0, max: 59, bareStep: true, wraps: 60, maxStep: 59}
	quartzMinute  = importField{name: "minute", lo: 0, hi: 59, min: 0, max: 59, bareStep: true, wraps: 60, maxStep: 59}
	quartzHour    = importField{name: "hour", lo: 0, hi: 23, min: 0, max: 23, bareStep: true, wraps: 24, maxStep: 23}
	quartzDay     = importField{name: "day of the month", lo: 1, hi: 31, min: 1, max: 31, bareStep: true, wraps: 31, maxStep: 31}
	quartzMonth   = importField{name: "month", lo: 1, hi: 12, min: 1, max: 12, names: monthAbbreviations, first: 1, bareStep: true, wraps: 12, maxStep: 12, plainNames: true}
	quartzWeekday = importField{name: "day of the week", lo: 1, hi: 7, min: 1, max: 7, names: dayAbbreviations, first: 1, bareStep: true, wraps: 7, maxStep: 7, plainNames: true}
	quartzYear    = importField{name: "year", lo: 1970, hi: 2199, min: 1970, max: 2199, bareStep: true}
)

// readQuartz reads the fields, which spaces and tabs separate.
func readQuartz(text string) (r Recurrence, reason string) {
	words := strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == '\t' })
	switch {
	case strings.HasPrefix(text, "@"):
		return r, "a name such as @daily is not a text of Quartz: use Cron"
	case len(words) > 0 && strings.Contains(words[0], "="):
		return r, "a prefix is not a field: remove it and set TimeZone"
	case len(words) == 5:
		return r, "five fields: use Cron"
	case len(words) != 6 && len(words) != 7:
		return r, "write second, minute, hour, day of the month, month, day of the week and, if needed, year"
	}
	c := importedCron{staysInMonth: true}
	if c.seconds, reason = quartzSecond.values(words[0]); reason != "" {
		return r, reason
	}
	if c.minutes, reason = quartzMinute.values(words[1]); reason != "" {
		return r, reason
	}
	if c.hours, reason = quartzHour.values(words[2]); reason != "" {
		return r, reason
	}
	if reason = c.readQuartzDays(strings.ToUpper(words[3]), strings.ToUpper(words[5])); reason != "" {
		return r, reason
	}
	if c.months, reason = quartzMonth.values(words[4]); reason != "" {
		return r, reason
	}
	if len(words) == 7 {
		if c.years, reason = yearRanges(&quartzYear, words[6]); reason != "" {
			return r, reason
		}
	}
	return c.rule(), ""
}

// readQuartzDays reads both day fields. Exactly one of them is ?.
func (c *importedCron) readQuartzDays(dom, dow string) (reason string) {
	c.dates.any, c.week.any = dom == "?", dow == "?"
	switch {
	case c.dates.any && c.week.any:
		return "both day fields are ?: Quartz needs exactly one ?, so write * for the day of the month"
	case c.week.any && dom == "*":
		c.dates.any = true
		return ""
	case c.week.any:
		return c.dates.readQuartz(dom)
	case c.dates.any && dow == "*":
		c.week.any = true
		return ""
	case c.dates.any:
		return c.week.readQuartz(dow)
	case dom == "*":
		return "Quartz needs exactly one ?: write ? for the day of the month"
	case dow == "*":
		return "Quartz needs exactly one ?: write ? for the day of the week"
	}
	return "both day fields are restricted, and Quartz refuses this: for days that match one of them write two rules, for days that match both write " +
		"frequency month with monthDays and monthlyOccurrences"
}

// readQuartz reads a day of the month: values, L and L-n in any list, or LW, nW or L-nW alone.
func (d *importedDates) readQuartz(word string) (reason string) {
	f := &quartzDay
	switch {
	case strings.Contains(word, "C"):
		return notACalendar(f)
	case strings.Contains(word, "W") && strings.Contains(word, ","):
		return f.name + ": W must be alone: write a rule for each part of the list"
	case word == "LW":
		d.lastWeekday = true
		return ""
	case strings.HasPrefix(word, "L") && strings.HasSuffix(word, "W"):
		day, reason := lastDay(f, strings.TrimSuffix(word, "W"))
		d.nearest = []int{day}
		return reason
	case strings.Contains(word, "W") && !strings.HasPrefix(word, "L"):
		day, reason := nearestDay(f, word)
		d.nearest = []int{day}
		return reason
	}
	for part := range strings.SplitSeq(word, ",") {
		if strings.HasPrefix(part, "L") {
			day, reason := lastDay(f, part)
			if reason != "" {
				return reason
			}
			d.days = append(d.days, day)
			continue
		}
		if reason = f.part(part, func(day int) { d.days = append(d.days, day) }); reason != "" {
			return reason
		}
	}
	return ""
}

// readQuartz reads a day of the week: values, or L, dL or d#n alone.
func (w *importedWeek) readQuartz(word string) (reason string) {
	f := &quartzWeekday
	last, numbered := strings.Contains(word, "L"), strings.Contains(word, "#") // no name of a day contains an L
	switch {
	case strings.Contains(word, "C"):
		return notACalendar(f)
	case word == "L":
		w.days = 1 << 6
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
