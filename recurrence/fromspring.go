package recurrence

import (
	"slices"
	"strings"
	"time"
)

// FromSpring returns the rule of a text of at most 1000 bytes in the form of Spring's CronExpression, from version 5.3 on: second, minute, hour, day
// of the month, month and day of the week, or a name such as @daily. Spaces separate the fields. The fields become a rule as in [FromQuartz], with
// these differences:
//
//   - Days of the week are 0 (Sunday) to 7 (Sunday), and MON to SUN. */2 begins on Monday: Monday, Wednesday, Friday and Sunday. 7-1 is Sunday and
//     Monday, and 7-7 is every day.
//   - If both day fields are restricted, a day must match both: "0 0 9 13 * FRI" becomes MonthDays 13 with MonthlyOccurrences.
//   - ? is allowed in the day fields, alone, and means *.
//   - Lists may have L, W and #, such as "1W,15W" and "MON#1,MON#3". What no other field can express becomes filters in Only.
//   - 28W to 31W have no run in a month that ends with this day on a Sunday. Spring skips these months too. 29W to 31W must be alone.
//
// A rule has no StartTime and no TimeZone: set them afterwards. NoImmediateRun is set, because Spring has no run at creation. A byte order mark at
// the beginning is skipped.
//
// If the clocks skip a named time, its run is moved; if they repeat one, it runs on the first pass: ClockChanges remains [ClockOnce]. Spring does not
// run at times that the clocks skip: set [ClockSkip] for the same behaviour.
//
// FromSpring is for Spring alone. It refuses what Spring refuses, such as FRI-MON and L-3W, and what Spring never reaches, such as FRI#6, with an
// [*Error] with [CodeCronSyntax] whose Reason contains what to write instead. Days that no month has are refused with [CodeNeverFires].
func FromSpring(expr string) (Recurrence, error) { return readImport(expr, readSpring) }

// The fields of Spring, by the documentation and the source of its classes CronExpression, BitsCronField and QuartzCronField (6.1). Names are replaced
// by their numbers, so they may have steps and be in ranges with numbers.
var (
	springSecond  = importField{name: "second", lo: 0, hi: 59, min: 0, max: 59}
	springMinute  = importField{name: "minute", lo: 0, hi: 59, min: 0, max: 59}
	springHour    = importField{name: "hour", lo: 0, hi: 23, min: 0, max: 23}
	springDay     = importField{name: "day of the month", lo: 1, hi: 31, min: 1, max: 31}
	springMonth   = importField{name: "month", lo: 1, hi: 12, min: 1, max: 12, names: monthAbbreviations, first: 1}
	springWeekday = importField{name: "day of the week", lo: 1, hi: 7, min: 0, max: 7, names: springDays, first: 1, sunday: true}
	springDays    = append(dayAbbreviations[1:7:7], "SUN")
)

// springMacros maps each name to its fields.
var springMacros = map[string]string{
	"@yearly":   "0 0 0 1 1 *",
	"@annually": "0 0 0 1 1 *",
	"@monthly":  "0 0 0 1 * *",
	"@weekly":   "0 0 0 * * 0",
	"@daily":    "0 0 0 * * *",
	"@midnight": "0 0 0 * * *",
	"@hourly":   "0 0 * * * *",
}

// readSpring reads the fields.
func readSpring(text string) (r Recurrence, reason string) {
	if fields, known := springMacros[strings.ToLower(text)]; known {
		text = fields
	}
	words := strings.FieldsFunc(text, func(c rune) bool { return c == ' ' })
	switch {
	case strings.HasPrefix(text, "@"):
		return r, "unknown name: write @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or six fields; Cron reads @every"
	case len(words) > 0 && strings.Contains(words[0], "="):
		return r, "a prefix is not a field: remove it and set TimeZone"
	case len(words) == 5:
		return r, "five fields: use Cron"
	case len(words) == 7:
		return r, "seven fields: there is no field for years, so write six, or use FromQuartz"
	case len(words) != 6:
		return r, "write second, minute, hour, day of the month, month and day of the week, with spaces between them"
	}
	var c importedCron
	if c.seconds, reason = springSecond.values(words[0]); reason != "" {
		return r, reason
	}
	if c.minutes, reason = springMinute.values(words[1]); reason != "" {
		return r, reason
	}
	if c.hours, reason = springHour.values(words[2]); reason != "" {
		return r, reason
	}
	if reason = c.dates.readSpring(words[3]); reason != "" {
		return r, reason
	}
	if c.months, reason = springMonth.values(words[4]); reason != "" {
		return r, reason
	}
	if reason = c.week.readSpring(strings.ToUpper(words[5])); reason != "" {
		return r, reason
	}
	if c.dates.beyondMonth() && (strings.Contains(words[3], ",") || !c.week.any) {
		return r, springDay.name + ": 29W to 31W must be alone, with * for the day of the week, because Spring's result in a month without that day depends on " +
			"where its search begins: write a rule for each part of the list"
	}
	return c.rule(), ""
}

// beyondMonth reports whether a W names a day that not every month has.
func (d *importedDates) beyondMonth() bool {
	return slices.ContainsFunc(d.nearest, func(n int) bool { return n > 28 })
}

// readSpring reads a day of the month: a list of values, L, L-n, LW and nW, all in capital letters.
func (d *importedDates) readSpring(word string) (reason string) {
	f := &springDay
	if word == "?" {
		d.any = true
		return ""
	}
	for part := range strings.SplitSeq(word, ",") {
		day := 0
		switch {
		case part == "LW":
			d.lastWeekday = true
		case strings.HasPrefix(part, "L") && strings.HasSuffix(part, "W"):
			return f.name + `: Spring has no weekday nearest to L-n: write monthDays with shift nearestInMonth`
		case strings.HasPrefix(part, "L"):
			day, reason = lastDay(f, part)
			d.days = append(d.days, day)
		case strings.HasSuffix(part, "W"):
			day, reason = nearestDay(f, part)
			d.nearest = append(d.nearest, day)
		case part == "l" || part == "lw" || strings.HasSuffix(part, "w"):
			reason = f.name + ": Spring knows L and W in capital letters only"
		default:
			reason = f.part(part, func(day int) { d.days = append(d.days, day) })
		}
		if reason != "" {
			return reason
		}
	}
	d.any = d.everyDay()
	return ""
}

// readSpring reads a day of the week: a list of values, dL and d#n.
func (w *importedWeek) readSpring(word string) (reason string) {
	f := &springWeekday
	if word == "?" {
		w.any = true
		return ""
	}
	for part := range strings.SplitSeq(word, ",") {
		switch {
		case part == "L":
			return f.name + ": Spring needs a day before L: write 5L for the last Friday of the month, or SAT for Saturday"
		case strings.Contains(part, "L") || strings.Contains(part, "#"):
			day, n, reason := nthWeekday(f, part)
			if reason != "" {
				return reason
			}
			w.nth = append(w.nth, NthWeekday{time.Weekday(day % 7), n})
		default:
			if reason = f.part(part, func(day int) { w.days |= 1 << (day % 7) }); reason != "" {
				return reason
			}
		}
	}
	w.any = w.everyDay()
	return ""
}
