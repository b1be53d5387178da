package recurrence

import (
	"fmt"
	"strconv"
	"time"
)

// An element is a list of numbers in a schedule or a filter. Zero is out of range if low is negative.
type element struct {
	name              string
	badType, badRange Code
	low, high         int64
	reason            string // for a number out of range
}

var (
	minutes    = element{"minutes", CodeMinutesType, CodeMinutesRange, 0, 59, "must be 0 to 59"}
	hours      = element{"hours", CodeHoursType, CodeHoursRange, 0, 23, "must be 0 to 23"}
	monthDays  = element{"monthDays", CodeMonthDaysType, CodeMonthDaysRange, -31, 31, "must be 1 to 31, or -1 (the last) to -31"}
	months     = element{"months", CodeMonthsType, CodeMonthsRange, 1, 12, "must be 1 to 12"}
	seconds    = element{"seconds", CodeSecondsType, CodeSecondsRange, 0, 59, "must be 0 to 59"}
	occurrence = element{"occurrence", CodeOccurrencesType, CodeOccurrenceRange, -5, 5, "must be 1 to 5, or -1 (the last) to -5; leave it out for every such day"}
	weeks      = element{"weeks", CodeWeeksType, CodeWeeksRange, -53, 53, "must be 1 to 53, or -1 (the last) to -53"}
	yearDays   = element{"yearDays", CodeYearDaysType, CodeYearDaysRange, -366, 366, "must be 1 to 366, or -1 (the last) to -366"}

	occurrenceOfYear = element{"occurrence", CodeOccurrencesType, CodeOccurrenceRange, -53, 53, "must be 1 to 53, or -1 (the last) to -53; leave it out for every such day"}
)

// An occurrenceElement is a list of weekdays of a period, with the range of their numbers.
type occurrenceElement struct {
	name   string
	number element
}

var (
	monthlyOccurrences = occurrenceElement{"monthlyOccurrences", occurrence}
	yearlyOccurrences  = occurrenceElement{"yearlyOccurrences", occurrenceOfYear}
)

// positionsOf returns the element positions for a frequency. Frequencies that do not allow it have the widest range.
func positionsOf(f Frequency) element {
	high, with := int64(366), ""
	switch f {
	case Week:
		high, with = 7, ", with frequency week"
	case Month:
		high, with = 31, ", with frequency month"
	}
	return element{"positions", CodePositionsType, CodePositionsRange, -high, high, fmt.Sprintf("must be 1 to %d, or -1 (the last) to -%[1]d%s", high, with)}
}

// checkRange refuses a number that is out of range.
func (e element) checkRange(field, value string, n int64) *Error {
	if n < e.low || n > e.high || n == 0 && e.low < 0 {
		return newError(e.badRange, field, value, "%s", e.reason)
	}
	return nil
}

// The functions below check the elements of a Go value. They call add with the path of the element and an error or nil. object is
// the path of the object that holds the element, with a dot at its end.

func checkNumbers[T ~int](e element, object string, list []T, add func(string, *Error)) {
	field := object + e.name
	for i, n := range list {
		add(field, e.checkRange(indexPath(field, i), strconv.Itoa(int(n)), int64(n)))
	}
}

func checkWeekDays(object string, list []time.Weekday, value string, add func(string, *Error)) {
	field := object + "weekDays"
	if len(list) > 7 {
		add(field, tooManyWeekDays(field, value, len(list)))
	}
	for i, day := range list {
		if !isWeekday(day) {
			add(field, newError(CodeWeekDaysValue, indexPath(field, i), strconv.Itoa(int(day)), "must be time.Sunday to time.Saturday"))
		}
	}
}

func checkOccurrences(e occurrenceElement, object string, list []NthWeekday, add func(string, *Error)) {
	field := object + e.name
	for i, nth := range list {
		item := indexPath(field, i)
		if !isWeekday(nth.Day) {
			add(field, newError(CodeOccurrenceDay, item+".day", strconv.Itoa(int(nth.Day)), "must be time.Sunday to time.Saturday"))
		}
		if nth.N != 0 {
			add(field, e.number.checkRange(item+".occurrence", strconv.Itoa(nth.N), int64(nth.N)))
		}
	}
}

func tooManyWeekDays(field, value string, n int) *Error {
	return newError(CodeWeekDaysSize, field, value, "must have at most 7 days, has %d", n)
}
