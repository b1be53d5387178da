package recurrence

import "strings"

// A textElement is a list of texts in a filter.
type textElement struct {
	name              string
	badType, badValue Code
	example           string
	limit             int                                         // the largest number of texts
	canonical         func(text string) (form string, bad string) // a refused text is its own form; bad is the reason
}

var (
	dateTexts = textElement{"dates", CodeDatesType, CodeDatesValue, "2026-12-25", 1000, canonicalDates}
	timeTexts = textElement{"times", CodeTimesType, CodeTimesValue, "09:00/17:30", 100, canonicalTimes}
)

// check refuses a text that the element cannot hold.
func (e textElement) check(field, text string) *Error {
	if _, bad := e.canonical(text); bad != "" {
		return newError(e.badValue, field, text, "%s", bad)
	}
	return nil
}

// canonicalDates returns the canonical form of an entry of dates. Only a range and a day that counts from Easter may have another one.
func canonicalDates(text string) (string, string) {
	entry, bad := parseDates(text)
	if bad == "" && (entry.feast != noFeast || strings.Contains(text, "/")) {
		return entry.String(), ""
	}
	return text, bad
}

// canonicalTimes returns the canonical form of an entry of times. Only a range may have another one.
func canonicalTimes(text string) (string, string) {
	first, last, bad := parseTimes(text)
	if bad == "" && strings.Contains(text, "/") {
		return formatTimes(first, last), ""
	}
	return text, bad
}
