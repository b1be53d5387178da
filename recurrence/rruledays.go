package recurrence

import (
	"slices"
	"time"
)

// limited returns the rule with the days of Days and the limit of its calendar among its elements. If the limits require it, the elements that come from
// the start are named.
func (r rruleRule) limited(limit Filter, start time.Time) (rruleRule, error) {
	limits := func(f Filter) bool {
		return len(f.WeekDays)+len(f.MonthDays)+len(f.MonthlyOccurrences)+len(f.Months) > 0 || f.countsInYear()
	}
	if !r.selectsDays() && !limits(limit) {
		return r, nil
	}
	r.nameDays(start)
	if len(r.Days) > 0 {
		if len(r.Days) > 1 || len(r.Days[0].Dates) > 0 || !r.limit(r.Days[0]) {
			return r, noRRule("schedule.days", "RFC 5545 limits the days of a rule by one filter without dates, and not by each filter with each frequency")
		}
	}
	if limits(limit) {
		if len(limit.Weeks) > 0 && r.WeekStart != WeekStartMonday || !r.limit(limit) {
			return r, noRRule("only", "RFC 5545 cannot limit these days by this filter")
		}
	}
	if !r.joinWeekDays() {
		return r, noRRule("only", "RFC 5545 cannot write a rule without days, and the filters leave none")
	}
	if r.Frequency >= Month && len(r.MonthDays)+len(r.MonthlyOccurrences)+len(r.WeekDays)+len(r.yearDays)+len(r.yearly) == 0 {
		if len(r.weeks) > 0 {
			r.WeekDays = withoutDays(nil, nil)
		} else {
			r.MonthDays = maskValues[int](1<<32 - 2)
		}
	}
	return r, nil
}

// selectsDays reports whether Positions or Days select some of all days of a period.
func (r *rruleRule) selectsDays() bool { return len(r.Positions)+len(r.Days) > 0 }

// nameDays sets the day elements that come from the start. Positions and Days without weekdays have all days of the week.
func (r *rruleRule) nameDays(start time.Time) {
	selects := r.selectsDays()
	switch {
	case r.Frequency == Week && len(r.WeekDays) == 0 && selects:
		r.WeekDays = withoutDays(nil, nil)
	case r.Frequency == Week && len(r.WeekDays) == 0:
		r.WeekDays = []time.Weekday{start.Weekday()}
	case selects:
	case r.Frequency == Year:
		if r.MonthDays = []int{start.Day()}; len(r.Months) == 0 {
			r.Months = []time.Month{start.Month()}
		}
	case r.Frequency == Month && len(r.MonthDays)+len(r.MonthlyOccurrences) == 0:
		r.MonthDays = []int{start.Day()}
	}
}

// limit adds the fields of a filter to the elements. ok is false if RFC 5545 has no parts for both, or if they leave no days.
func (r *rruleRule) limit(f Filter) (ok bool) {
	year := r.Frequency == Year
	switch {
	case len(f.MonthDays) > 0 && r.Frequency == Week,
		len(f.Weeks) > 0 && !year,
		len(f.YearDays) > 0 && !year && r.Frequency >= Day,
		len(f.MonthlyOccurrences) > 0 && (r.Frequency < Month || len(r.MonthlyOccurrences)+len(r.yearly) > 0),
		len(f.YearlyOccurrences) > 0 && (!year || len(r.MonthlyOccurrences)+len(f.MonthlyOccurrences)+len(r.yearly) > 0):
		return false
	}
	days := r.WeekDays
	var all [5]bool
	r.Months, all[0] = both(r.Months, f.Months)
	r.WeekDays, all[1] = both(days, f.WeekDays)
	r.MonthDays, all[2] = bothNumbered(r.MonthDays, f.MonthDays)
	r.weeks, all[3] = bothNumbered(r.weeks, f.Weeks)
	r.yearDays, all[4] = bothNumbered(r.yearDays, f.YearDays)
	r.MonthlyOccurrences = slices.Concat(r.MonthlyOccurrences, f.MonthlyOccurrences)
	r.yearly = slices.Concat(r.yearly, f.YearlyOccurrences)
	numbered := len(r.MonthlyOccurrences)+len(r.yearly) > 0
	return !slices.Contains(all[:], false) && !(numbered && len(r.weeks) > 0) && !(len(r.yearly) > 0 && len(r.Months) > 0)
}

// bothNumbered returns the values that are in both lists; an empty list means all. ok is false if there are no such values, or if one list counts from the
// beginning and the other from the end: 31 and -1 may be the same day.
func bothNumbered(a, b []int) (values []int, ok bool) {
	if len(a) > 0 && len(b) > 0 {
		if all := slices.Concat(a, b); slices.Min(all) < 0 && slices.Max(all) > 0 {
			return nil, false
		}
	}
	return both(a, b)
}

// joinWeekDays limits numbered weekdays by those without numbers, because BYDAY is one list. It reports whether any weekday is left.
func (r *rruleRule) joinWeekDays() (left bool) {
	numbered := len(r.MonthlyOccurrences)+len(r.yearly) > 0
	if !numbered {
		return true
	}
	if days := r.WeekDays; len(days) > 0 {
		other := func(o NthWeekday) bool { return !slices.Contains(days, o.Day) }
		r.MonthlyOccurrences, r.yearly = slices.DeleteFunc(r.MonthlyOccurrences, other), slices.DeleteFunc(r.yearly, other)
		r.WeekDays = nil
	}
	if r.Frequency == Year && len(r.MonthlyOccurrences) > 0 && len(r.Months) == 0 {
		r.Months = maskValues[time.Month](1<<13 - 2) // the numbers count in the month
	}
	return len(r.MonthlyOccurrences)+len(r.yearly) > 0
}
