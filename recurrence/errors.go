package recurrence

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// An Error is one thing that is wrong with a rule. Where several are wrong they come joined, in the
// order of the text, at most 100; [Errors] lists them and errors.As finds the first.
type Error struct {
	Code   Code   `json:"code"`            // what is wrong; programs may branch on it
	Field  string `json:"field,omitempty"` // the JSON path, such as schedule.minutes[2]; empty: the rule as a whole
	Value  string `json:"value,omitempty"` // what stood there, cut at 64 characters
	Reason string `json:"reason"`          // for people; it may change between releases
}

// Error says where, what and why.
func (e *Error) Error() string {
	text := "recurrence: "
	if e.Field != "" {
		text += e.Field + ": "
	}
	text += e.Reason
	if e.Value != "" {
		text += ", got " + strconv.Quote(e.Value)
	}
	return text + " (" + string(e.Code) + ")"
}

// Errors lists every *Error within err, in the order of the text. It is empty where there is none.
func Errors(err error) []*Error {
	var list []*Error
	switch e := err.(type) {
	case nil:
	case *Error:
		list = append(list, e)
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			list = append(list, Errors(part)...)
		}
	default:
		list = Errors(errors.Unwrap(err))
	}
	return list
}

// A Code names what is wrong with a rule; programs may branch on it.
type Code string

// The codes, one for each kind of mistake.
const (
	// The text as a whole.
	CodeSyntax         Code = "syntax"          // not one JSON value, an object missing where one must stand, or more than 64 KiB
	CodeUnknownField   Code = "unknown_field"   // a key that means nothing here
	CodeDuplicateField Code = "duplicate_field" // a key given twice, an alias and its real name included
	CodeConflict       Code = "conflict"        // the two forms of the JSON mixed

	// When it starts and ends, and on which clock.
	CodeTimeSyntax      Code = "time_syntax"      // not a date or date-time
	CodeTimeValue       Code = "time_value"       // no such time, such as February 30
	CodeTimeRange       Code = "time_range"       // outside the years 1900 to 2199
	CodeEndBeforeStart  Code = "end_before_start" // endTime before startTime
	CodeTimeZoneUnknown Code = "timezone_unknown" // not an IANA name, or no zone data to look it up in
	CodeCountType       Code = "count_type"       // not a whole number
	CodeCountRange      Code = "count_range"      // outside 1 to 2,147,483,647

	// How often.
	CodeFrequencyMissing Code = "frequency_missing" // a recurrence with neither frequency nor cron
	CodeFrequencyUnknown Code = "frequency_unknown" // not one of the words
	CodeIntervalType     Code = "interval_type"     // not a whole number
	CodeIntervalRange    Code = "interval_range"    // outside 1 to 1000; month 18, week 78, day 548
	CodeCronSyntax       Code = "cron_syntax"       // not the cron text that this package reads
	CodeCronConflict     Code = "cron_conflict"     // cron beside what it replaces
	CodeNeverFires       Code = "never_fires"       // no instant matches

	// The elements of the schedule.
	CodeMinutesType          Code = "minutes_type"          // not whole numbers
	CodeMinutesRange         Code = "minutes_range"         // outside 0 to 59
	CodeHoursType            Code = "hours_type"            // not whole numbers
	CodeHoursRange           Code = "hours_range"           // outside 0 to 23
	CodeWeekDaysType         Code = "weekdays_type"         // not words
	CodeWeekDaysValue        Code = "weekdays_value"        // not monday to sunday
	CodeWeekDaysSize         Code = "weekdays_size"         // more than 7
	CodeWeekDaysFrequency    Code = "weekdays_frequency"    // not with week
	CodeMonthDaysType        Code = "monthdays_type"        // not whole numbers
	CodeMonthDaysRange       Code = "monthdays_range"       // outside -31 to -1 and 1 to 31
	CodeMonthDaysFrequency   Code = "monthdays_frequency"   // not with month
	CodeOccurrencesType      Code = "occurrences_type"      // not objects of a day and a number
	CodeOccurrenceDay        Code = "occurrence_day"        // no day, or not monday to sunday
	CodeOccurrenceRange      Code = "occurrence_range"      // outside -5 to -1 and 1 to 5
	CodeOccurrencesFrequency Code = "occurrences_frequency" // not with month
	CodeMonthsType           Code = "months_type"           // not whole numbers
	CodeMonthsRange          Code = "months_range"          // outside 1 to 12
	CodeMonthsFrequency      Code = "months_frequency"      // not with month or year
)

// refuse makes an Error. The value is cut at 64 characters.
func refuse(code Code, field, value, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Value: cut(value), Reason: fmt.Sprintf(format, args...)}
}

// longestValue is how many characters of a value an Error carries.
const longestValue = 64

// cut keeps the first 64 characters, each of them valid UTF-8.
func cut(value string) string {
	kept := make([]byte, 0, min(len(value), 4*longestValue))
	for n := 0; n < longestValue && value != ""; n++ {
		r, size := utf8.DecodeRuneInString(value)
		kept = utf8.AppendRune(kept, r)
		value = value[size:]
	}
	return string(kept)
}

// problems gathers what is wrong with one rule.
type problems struct{ list []located }

type located struct {
	*Error
	at int // where in the text; equal positions keep their order
}

func (p *problems) add(at int, e *Error) { p.list = append(p.list, located{e, at}) }

// mostErrors is how many are told of one rule, so that 64 KiB of mistakes do not make megabytes of answer.
const mostErrors = 100

// join is nil where nothing is wrong, the *Error itself where one thing is, else the first hundred in the order of the text.
func (p *problems) join() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b located) int { return a.at - b.at })
	if len(p.list) == 1 {
		return p.list[0].Error
	}
	var all []error
	for _, e := range p.list[:min(len(p.list), mostErrors)] {
		all = append(all, e.Error)
	}
	return errors.Join(all...)
}
