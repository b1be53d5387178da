package builder

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// CronText returns the cron text of a rule, without its zone. why is the reason if cron text cannot express the rule, and "" if it can.
// noImmediateRun is true if the schedule has no run at creation. A cron text never has one.
func CronText(rule recurrence.Recurrence, noImmediateRun bool) (text, why string) {
	if rule.Cron != "" {
		rule.Cron, text = "", rule.Cron
		return text, unsaid(rule)
	}
	if why := notCron(rule, noImmediateRun); why != "" {
		return "", why
	}
	minutes, hours, days, months, weekDays := "*", "*", "*", "*", "*"
	if rule.Frequency != recurrence.Minute {
		minutes = cronList(rule.Minutes, 60)
	}
	if rule.Frequency >= recurrence.Day {
		hours = cronList(rule.Hours, 24)
	}
	switch rule.Frequency {
	case recurrence.Week:
		weekDays = cronList(numbersOf(rule.WeekDays), 7)
	case recurrence.Month:
		days = joinRanges(rule.MonthDays, ",")
		if len(rule.MonthDays) == 31 || len(rule.MonthDays) == 0 {
			days = "*"
		}
		if len(rule.Months) > 0 {
			months = joinRanges(numbersOf(rule.Months), ",")
		}
		var every []int
		for _, o := range rule.MonthlyOccurrences {
			every = append(every, int(o.Day))
		}
		if len(every) > 0 {
			weekDays = cronList(every, 7)
		}
	}
	return strings.Join([]string{minutes, hours, days, months, weekDays}, " "), ""
}

// notCron returns the reason why cron text cannot express a frequency rule.
func notCron(rule recurrence.Recurrence, noImmediateRun bool) string {
	given := func(elements ...int) bool { return !slices.Contains(elements, 0) }
	nth := slices.ContainsFunc(rule.MonthlyOccurrences, func(o recurrence.NthWeekday) bool { return o.N != 0 })
	switch {
	case unsaid(rule) != "":
		return unsaid(rule)
	case rule.Frequency == 0:
		return "the rule runs once"
	case rule.Frequency == recurrence.Second || rule.Frequency == recurrence.Year:
		return "cron text does not have the frequency " + rule.Frequency.String()
	case rule.Interval > 1:
		return "its interval counts from the start of the rule, and cron text has no start to count from"
	case rule.StartTime.IsZero() && !noImmediateRun:
		return "the rule runs once when created, and cron text does not"
	case !slices.Equal(rule.Seconds, []int{0}):
		return "cron text runs at second 0, and the rule has other seconds"
	case nth:
		return "cron text can only name a weekday of every week, such as every Friday, and not the last Friday of a month"
	case slices.ContainsFunc(rule.MonthDays, func(day int) bool { return day < 0 }):
		return "cron text cannot count days from the end of a month"
	case len(rule.MonthDays) > 0 && len(rule.MonthlyOccurrences) > 0:
		return "cron text runs on days that match the day of the month or the weekday, and the rule on days that match both"
	case rule.Frequency == recurrence.Minute && len(rule.Hours)+len(rule.Minutes)+len(rule.Months) > 0,
		rule.Frequency == recurrence.Hour && (!given(len(rule.Minutes)) || len(rule.Hours) > 0),
		rule.Frequency >= recurrence.Day && !given(len(rule.Hours), len(rule.Minutes)),
		rule.Frequency == recurrence.Week && !given(len(rule.WeekDays)),
		rule.Frequency == recurrence.Month && len(rule.MonthDays)+len(rule.MonthlyOccurrences) == 0:
		return "the rule takes missing parts from its start: name the days, hours and minutes"
	}
	return ""
}

// cronList returns the field of a cron text for numbers of n.
func cronList(numbers []int, n int) string {
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	if len(numbers) == n {
		return "*"
	}
	if step := n / max(len(numbers), 1); len(numbers) > 2 && slices.Equal(numbers, steps(n, step)) {
		return "*/" + strconv.Itoa(step)
	}
	return joinRanges(numbers, ",")
}

// steps returns every step-th number from 0 to n-1.
func steps(n, step int) []int {
	var all []int
	for i := 0; i < n; i += step {
		all = append(all, i)
	}
	return all
}

// numbersOf returns weekdays or months as numbers.
func numbersOf[T time.Weekday | time.Month](named []T) []int {
	numbers := make([]int, len(named))
	for i, n := range named {
		numbers[i] = int(n)
	}
	return numbers
}

// FromCron returns a frequency rule with the same runs as a cron rule, provided that it does not run at creation. why is the reason if no such rule exists.
func FromCron(rule recurrence.Recurrence) (same recurrence.Recurrence, why string) {
	fields := strings.Fields(rule.Cron)
	rule.Cron = ""
	if why := unsaid(rule); why != "" {
		return rule, why
	}
	if alias, ok := aliases[strings.ToLower(strings.Join(fields, " "))]; ok {
		fields = strings.Fields(alias)
	}
	if len(fields) != 5 {
		return rule, "the cron text does not have five fields"
	}
	minutes, _ := cronField(fields[0], 0, 59, "")
	hours, _ := cronField(fields[1], 0, 23, "")
	days, anyDay := cronField(fields[2], 1, 31, "")
	months, anyMonth := cronField(fields[3], 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec")
	weekDays, anyWeekDay := cronField(fields[4], 0, 7, "sunmontuewedthufrisat")
	rule.Frequency, rule.Minutes, rule.Hours, rule.Seconds = recurrence.Day, minutes, hours, []int{0}
	switch {
	case !anyDay && !anyWeekDay:
		return rule, "the cron text runs on days that match the day of the month or the weekday"
	case anyDay && !anyWeekDay && anyMonth:
		rule.Frequency = recurrence.Week
		for _, day := range weekDays {
			rule.WeekDays = append(rule.WeekDays, time.Weekday(day%7))
		}
	case !anyWeekDay:
		rule.Frequency = recurrence.Month
		for _, day := range weekDays {
			rule.MonthlyOccurrences = append(rule.MonthlyOccurrences, recurrence.NthWeekday{Day: time.Weekday(day % 7)})
		}
	case !anyDay || !anyMonth:
		rule.Frequency, rule.MonthDays = recurrence.Month, days
	}
	if !anyMonth {
		for _, month := range months {
			rule.Months = append(rule.Months, time.Month(month))
		}
	}
	return rule, ""
}

var aliases = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
	"@hourly": "0 * * * *",
}

// cronField returns the numbers of a field that recurrence.Cron has accepted, and reports whether it allows all. names have three letters each.
func cronField(field string, low, high int, names string) (numbers []int, open bool) {
	at := func(text string) int {
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
		n := strings.Index(names, strings.ToLower(text)) / 3
		return n + low
	}
	for part := range strings.SplitSeq(field, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			step = at(stepText)
		}
		first, last := low, high
		if span != "*" && span != "?" {
			from, to, ranged := strings.Cut(span, "-")
			first, last = at(from), at(from)
			if ranged {
				last = at(to)
			} else if stepped {
				last = high
			}
		} else if high == 7 {
			last = 6
		}
		for n := first; n <= last; n += max(step, 1) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), field == "*" || field == "?" || field == "*/1"
}
