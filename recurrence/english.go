package recurrence

import (
	"cmp"
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

// ranges applies name to sorted values. It writes three or more consecutive values as a range: "1", "3 to 5".
func ranges[T ~int](values []T, name func(T) string) []string {
	var names []string
	for i := 0; i < len(values); {
		end := i + 1
		for end < len(values) && values[end] == values[end-1]+1 {
			end++
		}
		if end-i >= 3 {
			names = append(names, name(values[i])+" to "+name(values[end-1]))
		} else {
			names = append(names, format(values[i:end], name)...)
		}
		i = end
	}
	return names
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

// minutesPast describes minutes, for use before "the hour": "15 and 45 minutes past", "every minute of".
func minutesPast(minutes []int, second int) string {
	if len(minutes) == 60 {
		return "every minute of"
	}
	noun := " minutes"
	if len(minutes) == 1 && minutes[0] == 1 {
		noun = " minute"
	}
	text := joinList(ranges(minutes, strconv.Itoa), "and") + noun
	if second > 0 {
		text += fmt.Sprintf(" %d s", second)
	}
	return text + " past"
}

// minuteNumbers describes minutes as a limit: "minutes 0 to 29".
func minuteNumbers(minutes []int) string {
	return pluralize("minute", minutes) + " " + joinList(ranges(minutes, strconv.Itoa), "and")
}

// mondayFirst returns the weekdays sorted from Monday on, each once.
func mondayFirst(days []time.Weekday) []time.Weekday {
	days = slices.Clone(days)
	slices.SortFunc(days, func(a, b time.Weekday) int { return cmp.Compare(daysSinceMonday(a), daysSinceMonday(b)) })
	return slices.Compact(days)
}

// weekDayNames describes sorted weekdays: "Monday to Friday and Sunday".
func weekDayNames(days []time.Weekday) string {
	positions := make([]int, len(days))
	for i, day := range days {
		positions[i] = daysSinceMonday(day)
	}
	return joinList(ranges(positions, func(at int) string { return days[slices.Index(positions, at)].String() }), "and")
}

// dayNames describes sorted days of the month. Those that count from its end come last.
func dayNames(days []int) []string {
	firstPositive, _ := slices.BinarySearch(days, 0)
	return append(ranges(days[firstPositive:], dayName), format(days[:firstPositive], dayName)...)
}

// dayName describes a day of the month: "the 15th", "the last day", "the 2nd last day".
func dayName(day int) string {
	switch {
	case day == -1:
		return "the last day"
	case day < 0:
		return "the " + ordinal(-day) + " last day"
	}
	return "the " + ordinal(day)
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

// occurrenceNames describes weekdays of the month and groups them by weekday: "the first and last Friday". The article stands
// before a weekday without a number: "every Friday".
func occurrenceNames(occurrences []NthWeekday, article string) []string {
	var names []string
	for _, day := range mondayFirst(occurrenceDays(occurrences)) {
		var numbers []int
		for _, o := range occurrences {
			if o.Day == day {
				numbers = append(numbers, o.N)
			}
		}
		numbers = sortedSet(numbers)
		if slices.Contains(numbers, 0) {
			names = append(names, article+" "+day.String())
			continue
		}
		firstPositive, _ := slices.BinarySearch(numbers, 0)
		nths := format(append(slices.Clone(numbers[firstPositive:]), numbers[:firstPositive]...), nthName)
		names = append(names, "the "+joinList(nths, "and")+" "+day.String())
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

// nthName describes the number of a weekday: "first", "last", "second last".
func nthName(n int) string {
	names := [...]string{"", "first", "second", "third", "fourth", "fifth"}
	switch {
	case n == -1:
		return "last"
	case 0 < n && n < len(names):
		return names[n]
	case n < 0 && -n < len(names) && -n > 0:
		return names[-n] + " last"
	}
	return "number " + strconv.Itoa(n)
}
