package recurrence

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// list joins words: a, b and c.
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// words says each value.
func words[T any](values []T, say func(T) string) []string {
	said := make([]string, len(values))
	for i, v := range values {
		said[i] = say(v)
	}
	return said
}

// spans says values in order, three or more in a row as a range: 1, 3 to 5.
func spans[T ~int](values []T, say func(T) string) []string {
	var said []string
	for i := 0; i < len(values); {
		end := i + 1
		for end < len(values) && values[end] == values[end-1]+1 {
			end++
		}
		if end-i >= 3 {
			said = append(said, say(values[i])+" to "+say(values[end-1]))
		} else {
			said = append(said, words(values[i:end], say)...)
		}
		i = end
	}
	return said
}

// plural is the noun as the number of values needs it.
func plural(noun string, values []int) string {
	if len(values) == 1 {
		return noun
	}
	return noun + "s"
}

// clock says a time of day, with seconds where there are any.
func clock(hour, minute, second int) string {
	if second == 0 {
		return fmt.Sprintf("%02d:%02d", hour, minute)
	}
	return fmt.Sprintf("%02d:%02d:%02d", hour, minute, second)
}

// minutesPast says minutes before "the hour": 15 and 45 minutes past, every minute of.
func minutesPast(minutes []int, second int) string {
	if len(minutes) == 60 {
		return "every minute of"
	}
	noun := " minutes"
	if len(minutes) == 1 && minutes[0] == 1 {
		noun = " minute"
	}
	text := list(spans(minutes, strconv.Itoa), "and") + noun
	if second > 0 {
		text += fmt.Sprintf(" %d s", second)
	}
	return text + " past"
}

// minuteNumbers says minutes as a limit: minutes 0 to 29.
func minuteNumbers(minutes []int) string {
	return plural("minute", minutes) + " " + list(spans(minutes, strconv.Itoa), "and")
}

// mondayFirst returns the weekdays from Monday on, each once.
func mondayFirst(days []time.Weekday) []time.Weekday {
	days = slices.Clone(days)
	slices.SortFunc(days, func(a, b time.Weekday) int { return cmp.Compare(fromMonday(a), fromMonday(b)) })
	return slices.Compact(days)
}

// weekDayNames says weekdays that are in order: Monday to Friday and Sunday.
func weekDayNames(days []time.Weekday) string {
	positions := make([]int, len(days))
	for i, day := range days {
		positions[i] = fromMonday(day)
	}
	return list(spans(positions, func(at int) string { return days[slices.Index(positions, at)].String() }), "and")
}

// dayNames says days of the month that are in order, those from its end last.
func dayNames(days []int) []string {
	firstPositive, _ := slices.BinarySearch(days, 0)
	return append(spans(days[firstPositive:], dayName), words(days[:firstPositive], dayName)...)
}

// dayName says a day of the month: the 15th, the last day, the 2nd last day.
func dayName(day int) string {
	switch {
	case day == -1:
		return "the last day"
	case day < 0:
		return "the " + ordinal(-day) + " last day"
	}
	return "the " + ordinal(day)
}

// ordinal says 1st, 2nd, 3rd, 4th, …
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

// occurrenceNames says weekdays of the month, those of one weekday together: the first and last Friday. The article is for
// a weekday without number.
func occurrenceNames(occurrences []NthWeekday, article string) []string {
	var said []string
	for _, day := range mondayFirst(occurrenceDays(occurrences)) {
		var numbers []int
		for _, o := range occurrences {
			if o.Day == day {
				numbers = append(numbers, o.N)
			}
		}
		numbers = sortedSet(numbers)
		if slices.Contains(numbers, 0) {
			said = append(said, article+" "+day.String())
			continue
		}
		firstPositive, _ := slices.BinarySearch(numbers, 0)
		names := words(append(slices.Clone(numbers[firstPositive:]), numbers[:firstPositive]...), nthName)
		said = append(said, "the "+list(names, "and")+" "+day.String())
	}
	return said
}

// occurrenceDays lists the weekdays of occurrences.
func occurrenceDays(occurrences []NthWeekday) []time.Weekday {
	days := make([]time.Weekday, len(occurrences))
	for i, o := range occurrences {
		days[i] = o.Day
	}
	return days
}

// nthName says the number of a weekday: first, last, second last.
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
