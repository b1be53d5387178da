package recurrence

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// An Error is one mistake in a rule. If a rule has several, they are joined in the order of the text, at most 100 of them: [Errors] lists them,
// and errors.As finds the first.
type Error struct {
	Code   Code   `json:"code"`            // the kind of mistake; programs may branch on it
	Field  string `json:"field,omitempty"` // JSON path, such as schedule.minutes[2]. Empty: the whole rule
	Value  string `json:"value,omitempty"` // the refused value, cut at 64 characters. Empty: there is no value
	Reason string `json:"reason"`          // for people; it may change between releases
}

// Error returns the field, the reason, the value and the code as one line of text.
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

// Errors returns every *Error in err, including wrapped and joined errors, in the order of the text. It returns nil if err contains no *Error.
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

// A Code names a kind of mistake in a rule. Programs may branch on it.
type Code string

// The codes, one for each kind of mistake.
const (
	// The text as a whole.
	CodeSyntax         Code = "syntax"          // not exactly one JSON value, another value in place of an object, or more than 64 KiB
	CodeUnknownField   Code = "unknown_field"   // a key that is not known in this object
	CodeDuplicateField Code = "duplicate_field" // a key given twice, also once by an alias and once by its real name
	CodeConflict       Code = "conflict"        // the two forms of the JSON are mixed

	// When it starts and ends, and on which clock.
	CodeTimeSyntax      Code = "time_syntax"      // not a date or date-time
	CodeTimeValue       Code = "time_value"       // a time that does not exist, such as February 30
	CodeTimeRange       Code = "time_range"       // outside the years 1900 to 2199 (endTime: 1900 to 9999)
	CodeEndBeforeStart  Code = "end_before_start" // endTime before startTime
	CodeTimeZoneUnknown Code = "timezone_unknown" // not an IANA name, or the zone data are missing
	CodeCountType       Code = "count_type"       // not a whole number
	CodeCountRange      Code = "count_range"      // outside 1 to 2,147,483,647

	// How often.
	CodeFrequencyMissing Code = "frequency_missing" // a recurrence with neither frequency nor cron
	CodeFrequencyUnknown Code = "frequency_unknown" // not second, minute, hour, day, week, month or year
	CodeIntervalType     Code = "interval_type"     // not a whole number
	CodeIntervalRange    Code = "interval_range"    // outside 1 to 1000 (month: 1 to 18, week: 1 to 78, day: 1 to 548)
	CodeCronSyntax       Code = "cron_syntax"       // not a cron text that this package reads
	CodeCronConflict     Code = "cron_conflict"     // cron together with fields that it replaces, or two time zones
	CodeNeverFires       Code = "never_fires"       // no instant ever matches

	// The elements of the schedule.
	CodeMinutesType          Code = "minutes_type"          // not whole numbers
	CodeMinutesRange         Code = "minutes_range"         // outside 0 to 59
	CodeHoursType            Code = "hours_type"            // not whole numbers
	CodeHoursRange           Code = "hours_range"           // outside 0 to 23
	CodeWeekDaysType         Code = "weekdays_type"         // not strings
	CodeWeekDaysValue        Code = "weekdays_value"        // not monday to sunday
	CodeWeekDaysSize         Code = "weekdays_size"         // more than 7
	CodeWeekDaysFrequency    Code = "weekdays_frequency"    // used with a frequency other than week
	CodeMonthDaysType        Code = "monthdays_type"        // not whole numbers
	CodeMonthDaysRange       Code = "monthdays_range"       // outside -31 to -1 and 1 to 31
	CodeMonthDaysFrequency   Code = "monthdays_frequency"   // used with a frequency other than month
	CodeOccurrencesType      Code = "occurrences_type"      // not objects of a day and a number
	CodeOccurrenceDay        Code = "occurrence_day"        // no day, or not monday to sunday
	CodeOccurrenceRange      Code = "occurrence_range"      // outside -5 to -1 and 1 to 5; in yearlyOccurrences, outside -53 to -1 and 1 to 53
	CodeOccurrencesFrequency Code = "occurrences_frequency" // used with a frequency other than month
	CodeMonthsType           Code = "months_type"           // not whole numbers
	CodeMonthsRange          Code = "months_range"          // outside 1 to 12
	CodeMonthsFrequency      Code = "months_frequency"      // used with a frequency other than month and year
	CodeSecondsType          Code = "seconds_type"          // not whole numbers
	CodeSecondsRange         Code = "seconds_range"         // outside 0 to 59
	CodePositionsType        Code = "positions_type"        // not whole numbers
	CodePositionsRange       Code = "positions_range"       // 0, or beyond 7 (week), 31 (month) or 366 (year), from either end
	CodePositionsFrequency   Code = "positions_frequency"   // used with a frequency other than week, month and year
	CodeWeekStartValue       Code = "weekstart_value"       // not monday to sunday

	// The calendar.
	CodeFilterType            Code = "filter_type"            // not an object
	CodeFilterEmpty           Code = "filter_empty"           // no field is set
	CodeFilterSize            Code = "filter_size"            // more than 32 filters; more than 1,000 dates or 100 times in one filter; or filters that give too many types of days and times to compile
	CodeWeeksType             Code = "weeks_type"             // not whole numbers
	CodeWeeksRange            Code = "weeks_range"            // outside -53 to -1 and 1 to 53
	CodeYearDaysType          Code = "yeardays_type"          // not whole numbers
	CodeYearDaysRange         Code = "yeardays_range"         // outside -366 to -1 and 1 to 366
	CodeDatesType             Code = "dates_type"             // not strings
	CodeDatesValue            Code = "dates_value"            // not a date, a date that does not exist, a date too far from Easter, or a range that ends before it begins
	CodeTimesType             Code = "times_type"             // not strings
	CodeTimesValue            Code = "times_value"            // not a time of day, or a time that does not exist
	CodeShiftValue            Code = "shift_value"            // not one of the words
	CodeShiftFrequency        Code = "shift_frequency"        // used with second, minute or hour
	CodeShiftAlone            Code = "shift_alone"            // used without only and without except
	CodeShiftPositions        Code = "shift_positions"        // used with positions: they never select a closed day
	CodeShiftByType           Code = "shiftby_type"           // not a whole number
	CodeShiftByRange          Code = "shiftby_range"          // outside -31 to 31
	CodeShiftByFrequency      Code = "shiftby_frequency"      // used with second, minute or hour
	CodeAlsoType              Code = "also_type"              // neither a time nor an object
	CodeAlsoSize              Code = "also_size"              // more than 1,000 instants or 16 rules
	CodeClockChangesValue     Code = "clockchanges_value"     // not one of the words
	CodeClockChangesFrequency Code = "clockchanges_frequency" // used with second, minute or hour

	// The run at creation.
	CodeImmediateRunType Code = "immediaterun_type" // neither true nor false

	// The texts of other schedulers; see [FromRRule].
	CodeRRuleSyntax  Code = "rrule_syntax"  // not DTSTART, RRULE, RDATE and EXDATE lines in the form of RFC 5545
	CodeNoRecurrence Code = "no_recurrence" // a part that no rule of this package can express
)

// newError makes an Error. It cuts the value at 64 characters.
func newError(code Code, field, value, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Value: cutValue(value), Reason: fmt.Sprintf(format, args...)}
}

// maxValueChars is the number of characters of a value that an Error keeps.
const maxValueChars = 64

// cutValue keeps the first 64 characters. It replaces invalid UTF-8 by U+FFFD.
func cutValue(value string) string {
	kept := make([]byte, 0, min(len(value), 4*maxValueChars))
	for n := 0; n < maxValueChars && value != ""; n++ {
		r, size := utf8.DecodeRuneInString(value)
		kept = utf8.AppendRune(kept, r)
		value = value[size:]
	}
	return string(kept)
}

// An errorList collects the errors of one rule.
type errorList struct{ list []positionedError }

type positionedError struct {
	*Error
	at int // its position in the text; errors at the same position keep their order
}

func (l *errorList) add(at int, e *Error) { l.list = append(l.list, positionedError{e, at}) }

// addPart adds the errors of a part of the rule, with its path before their fields.
func (l *errorList) addPart(path string, part errorList) {
	for _, e := range part.list {
		e.Field = path + "." + e.Field
		l.list = append(l.list, e)
	}
}

func byPosition(a, b positionedError) int { return a.at - b.at }

// maxErrors limits the errors returned for one rule, because 64 KiB of JSON may hold thousands.
const maxErrors = 100

// join returns nil for no error, the *Error itself for one, and the first maxErrors joined for several.
func (l *errorList) join() error {
	if len(l.list) == 0 {
		return nil
	}
	slices.SortStableFunc(l.list, byPosition)
	if len(l.list) == 1 {
		return l.list[0].Error
	}
	var all []error
	for _, e := range l.list[:min(len(l.list), maxErrors)] {
		all = append(all, e.Error)
	}
	return errors.Join(all...)
}
