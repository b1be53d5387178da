package recurrence

import (
	"slices"
	"time"
)

// setDays sets the elements of days and the filter that limits them.
func (r *rruleReader) setDays() error {
	switch r.rule.Frequency {
	case Week:
		r.rule.WeekDays, r.limit.Months = r.days(), monthsOf(r.months)
		if r.weekDays == nil && (r.kept != nil || r.months != nil) {
			r.rule.WeekDays = []time.Weekday{r.start.Weekday()}
		}
	case Month:
		r.setMonth()
	case Year:
		r.setYear()
	default:
		r.limit = Filter{WeekDays: r.days(), MonthDays: r.monthDays, Months: monthsOf(r.months), YearDays: r.yearDays}
	}
	if f := r.limit; len(f.WeekDays)+len(f.MonthDays)+len(f.MonthlyOccurrences)+len(f.Months) > 0 || f.countsInYear() {
		r.rule.Days = []Filter{f}
	}
	return nil
}

// setMonth sets the elements of MONTHLY, and of a YEARLY that means the same.
func (r *rruleReader) setMonth() {
	r.rule.Frequency, r.rule.Months, r.rule.MonthDays = Month, monthsOf(r.months), r.monthDays
	if r.kept == nil || r.numbered() {
		r.rule.MonthlyOccurrences = r.weekDays
		return
	}
	r.limit.WeekDays = r.days()
	if r.weekDays == nil && r.monthDays == nil {
		r.rule.MonthDays = []int{r.start.Day()}
	}
}

// setYear sets the elements of YEARLY. RFC 5545 applies its parts one after another, so a day must fit all of them. Days that no part determines come from
// DTSTART.
func (r *rruleReader) setYear() {
	inYear := r.weeks != nil || r.yearDays != nil || r.numbered() && r.months == nil
	dayParts := len(r.monthDays) + len(r.weekDays)
	switch {
	case !inYear && dayParts == 0 && r.kept == nil:
		r.rule.Months = monthsOf(r.months)
		return
	case !inYear && dayParts > 0 && r.kept == nil && r.rule.Interval <= 1:
		r.setMonth()
		return
	}
	f := &r.limit
	f.Months, f.Weeks, f.YearDays, f.MonthDays = monthsOf(r.months), r.weeks, r.yearDays, r.monthDays
	switch {
	case !r.numbered():
		f.WeekDays = r.days()
	case r.months != nil:
		f.MonthlyOccurrences = r.weekDays
	default:
		f.YearlyOccurrences = r.weekDays
	}
	switch {
	case dayParts > 0 || r.yearDays != nil:
	case r.weeks != nil:
		f.WeekDays = []time.Weekday{r.start.Weekday()}
	default: // BYSETPOS of the start's day
		f.MonthDays = []int{r.start.Day()}
		if r.months == nil {
			f.Months = []time.Month{r.start.Month()}
		}
	}
}

// numberWeekday turns positions of one weekday into its numbers: the second of all Tuesdays of a month is the second Tuesday. ok is false if no period has
// such a weekday.
func (r *rruleReader) numberWeekday(rule *Recurrence) (ok bool) {
	if len(rule.Positions) == 0 || len(rule.Days) == 0 {
		return true
	}
	f := rule.Days[0]
	alone := len(f.WeekDays) == 1 && len(f.MonthDays)+len(f.MonthlyOccurrences)+len(f.Months) == 0 && !f.countsInYear()
	limit := 5
	switch {
	case rule.Frequency == Month && alone && len(rule.MonthDays) == 0:
	case rule.Frequency == Year && alone:
		limit = maxYearWeeks
	default:
		return true
	}
	var numbers []NthWeekday
	for _, n := range rule.Positions {
		if -limit <= n && n <= limit {
			numbers = append(numbers, NthWeekday{f.WeekDays[0], n})
		}
	}
	rule.Positions = nil
	if rule.Frequency == Month {
		rule.MonthlyOccurrences, rule.Days = numbers, nil
	} else {
		rule.Days = []Filter{{YearlyOccurrences: numbers}}
	}
	return len(numbers) > 0
}

// days returns the weekdays without their numbers.
func (r *rruleReader) days() (list []time.Weekday) {
	for _, d := range r.weekDays {
		if !slices.Contains(list, d.Day) {
			list = append(list, d.Day)
		}
	}
	return list
}

// monthsOf converts numbers.
func monthsOf(numbers []int) (list []time.Month) {
	for _, n := range numbers {
		list = append(list, time.Month(n))
	}
	return list
}

// dropSixthWeekdays removes weekdays with numbers that no month has, if the numbers count in a month. It refuses a list that becomes empty,
// because an empty list would mean the day of the start.
func (r *rruleReader) dropSixthWeekdays() error {
	if r.weekDays == nil || r.rule.Frequency != Month && r.months == nil {
		return nil
	}
	r.weekDays = slices.DeleteFunc(r.weekDays, func(d NthWeekday) bool { return d.N < -5 || d.N > 5 })
	if len(r.weekDays) == 0 {
		return newError(CodeNeverFires, "", r.part("BYDAY"), "no month has a weekday more than five times")
	}
	return nil
}
