package recurrence

import "strings"

// maxFilters is the largest number of filters in only and in except.
const maxFilters = 32

// checkFilters checks only or except in a Go value. It calls add with each error.
func checkFilters(name string, list []Filter, value string, add func(*Error)) {
	if len(list) > maxFilters {
		add(tooMany(name, value, "filters", len(list), maxFilters))
	}
	for i, f := range list {
		checkFilter(indexPath(name, i), f, add)
	}
}

// checkDays checks Days in a Go value.
func (r Recurrence) checkDays(value string, add func(*Error)) {
	const name = "schedule.days"
	checkFilters(name, r.Days, value, add)
	for i, f := range r.Days {
		if len(f.Times) > 0 {
			w := jsonWriter{given: map[string]source{}}
			w.filter(f)
			add(newError(CodeUnknownField, indexPath(name, i)+".times", w.given["times"].value, "does not go with days, which have no times: write only"))
		}
	}
}

func checkFilter(field string, f Filter, add func(*Error)) {
	w := jsonWriter{given: map[string]source{}}
	w.filter(f)
	if len(w.given) == 0 {
		add(emptyFilter(field, string(w.text)))
	}
	object := field + "."
	addIf := func(_ string, bad *Error) {
		if bad != nil {
			add(bad)
		}
	}
	checkWeekDays(object, f.WeekDays, w.given["weekDays"].value, addIf)
	checkNumbers(monthDays, object, f.MonthDays, addIf)
	checkOccurrences(monthlyOccurrences, object, f.MonthlyOccurrences, addIf)
	checkNumbers(months, object, f.Months, addIf)
	checkNumbers(weeks, object, f.Weeks, addIf)
	checkNumbers(yearDays, object, f.YearDays, addIf)
	checkOccurrences(yearlyOccurrences, object, f.YearlyOccurrences, addIf)
	checkTexts(dateTexts, object, f.Dates, w.given["dates"].value, addIf)
	checkTexts(timeTexts, object, f.Times, w.given["times"].value, addIf)
}

func checkTexts(e textElement, object string, list []string, value string, add func(string, *Error)) {
	field := object + e.name
	if len(list) > e.limit {
		add(field, tooMany(field, value, e.name, len(list), e.limit))
	}
	for i, text := range list {
		add(field, e.check(indexPath(field, i), text))
	}
}

func emptyFilter(field, value string) *Error {
	names := "yearlyOccurrences, dates or times"
	if strings.Contains(field, "schedule.days") {
		names = "yearlyOccurrences or dates"
	}
	return newError(CodeFilterEmpty, field, value, "must set weekDays, monthDays, monthlyOccurrences, months, weeks, yearDays, %s: an empty filter would fit always", names)
}

func tooMany(field, value, noun string, n, limit int) *Error {
	return newError(CodeFilterSize, field, value, "must have at most %d %s, has %d", limit, noun, n)
}
