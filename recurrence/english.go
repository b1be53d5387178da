package recurrence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// joinList joins words with commas and puts last before the last one: "a, b and c".
func joinList(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// format applies name to each value.
func format[T any](values []T, name func(T) string) []string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = name(v)
	}
	return names
}

// runs splits sorted values between two values that are not consecutive.
func runs[T ~int](values []T) (list [][]T) {
	begin := 0
	for i := range values {
		if i+1 == len(values) || values[i+1] != values[i]+1 {
			list = append(list, values[begin:i+1])
			begin = i + 1
		}
	}
	return list
}

// ranges applies name to sorted values. It writes three or more consecutive values as a range: "1", "3 to 5".
func ranges[T ~int](values []T, name func(T) string) []string {
	var names []string
	for _, run := range runs(values) {
		if len(run) > 2 {
			names = append(names, name(run[0])+" to "+name(run[len(run)-1]))
			continue
		}
		names = append(names, format(run, name)...)
	}
	return names
}

// progression returns the distance between sorted values if it is the same between all of them and there are at least atLeast values; otherwise
// 0.
func progression[T ~int](values []T, atLeast int) int {
	if len(values) < atLeast {
		return 0
	}
	step := values[1] - values[0]
	for i := 2; i < len(values); i++ {
		if values[i]-values[i-1] != step {
			return 0
		}
	}
	return max(int(step), 0)
}

// pluralize returns the noun, in the plural unless there is exactly one value.
func pluralize(noun string, values []int) string {
	if len(values) == 1 {
		return noun
	}
	return noun + "s"
}

// formatClock formats a time of day, with seconds unless they are 0.
func formatClock(hour, minute, second int) string {
	if second == 0 {
		return fmt.Sprintf("%02d:%02d", hour, minute)
	}
	return fmt.Sprintf("%02d:%02d:%02d", hour, minute, second)
}

// dateText formats a date: "4 August 2012".
func dateText(t time.Time) string { return t.Format("2 January 2006") }

// mondayFirst returns the weekdays sorted from Monday on, each once.
func mondayFirst(days []time.Weekday) []time.Weekday {
	days = slices.Clone(days)
	slices.SortFunc(days, byWeekday)
	return slices.Compact(days)
}

// weekDayNames describes sorted weekdays: "Monday to Friday and Sunday".
func weekDayNames(days []time.Weekday, last string) string {
	positions := make([]int, len(days))
	for i, day := range days {
		positions[i] = daysSinceMonday(day)
	}
	return joinList(ranges(positions, func(at int) string { return days[slices.Index(positions, at)].String() }), last)
}

// monthNames describes sorted months: "January and March to May".
func monthNames(months []time.Month, last string) string {
	if len(months) == 12 {
		return "every month"
	}
	return joinList(ranges(months, time.Month.String), last)
}

// dayNames describes sorted days of the month. Days counted from the end of the month come last.
func dayNames(days []int) (names []string) {
	firstPositive, _ := slices.BinarySearch(days, 0)
	fromStart, fromEnd := days[firstPositive:], days[:firstPositive]
	switch step := progression(fromStart, maxUneven); {
	case len(fromStart) == 31:
		names = append(names, "every day")
	case step > 1:
		names = append(names, fmt.Sprintf("every %s day from %s to %s", ordinal(step), dayName(fromStart[0]), dayName(fromStart[len(fromStart)-1])))
	default:
		names = ranges(fromStart, dayName)
	}
	for _, run := range runs(fromEnd) {
		if len(run) > 2 && run[len(run)-1] == -1 {
			names = append(names, fmt.Sprintf("the last %d days", len(run)))
			continue
		}
		names = append(names, ranges(run, dayName)...)
	}
	return names
}

// dayName describes a day of the month: "the 15th", "the last day", "the second to last day".
func dayName(day int) string {
	if day < 0 {
		return "the " + fromLast(day) + " day"
	}
	return "the " + ordinal(day)
}

// fromLast describes a number that counts from the end: "last", "second to last", "10th to last".
func fromLast(n int) string {
	if n == -1 {
		return "last"
	}
	return nthName(-n) + " to last"
}

// ordinal returns 1st, 2nd, 3rd, 4th, …
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}

// occurrenceNames describes weekdays of the month by weekday: "the first and the last Friday". article is the word before a weekday without a
// number: "every Friday".
func occurrenceNames(occurrences []NthWeekday, article, last string) []string {
	var names []string
	for _, day := range mondayFirst(occurrenceDays(occurrences)) {
		var numbers []int
		for _, o := range occurrences {
			if o.Day == day {
				numbers = append(numbers, o.N)
			}
		}
		numbers = sortedSet(numbers)
		if at, any := slices.BinarySearch(numbers, 0); any {
			names = append(names, article+" "+day.String())
			numbers = slices.Delete(numbers, at, at+1)
		}
		firstPositive, _ := slices.BinarySearch(numbers, 0)
		nths := format(slices.Concat(numbers[firstPositive:], numbers[:firstPositive]), func(n int) string { return "the " + occurrenceName(n) })
		if len(nths) > 0 {
			names = append(names, joinList(nths, last)+" "+day.String())
		}
	}
	return names
}

// occurrenceDays returns the weekdays of occurrences.
func occurrenceDays(occurrences []NthWeekday) []time.Weekday {
	days := make([]time.Weekday, len(occurrences))
	for i, o := range occurrences {
		days[i] = o.Day
	}
	return days
}

// occurrenceName describes the number of a weekday: "first", "last", "second to last".
func occurrenceName(n int) string {
	if n < 0 {
		return fromLast(n)
	}
	return nthName(n)
}

// nthName describes a number: "first" to "fifth", "6th".
func nthName(n int) string {
	names := [...]string{"first", "second", "third", "fourth", "fifth"}
	if 0 < n && n <= len(names) {
		return names[n-1]
	}
	return ordinal(n)
}
