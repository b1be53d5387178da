package recurrence

import (
	"slices"
	"strings"
	"time"
)

// neverFires refuses a rule that no instant matches, as far as this can be known without a creation time, and a calendar that is too large. r has
// no other mistake. The rule and each rule of also are checked separately, with the calendar; instants of also always run.
func (r Recurrence) neverFires() error {
	if !r.hasCalendar() && len(r.Also) == 0 {
		if !r.StartTime.IsZero() {
			return r.firesUnder(nil, nil)
		}
		return r.neverFiresFromAnyStart()
	}
	calendars, err := r.compileCalendars()
	if err != nil {
		return err
	}
	var list errorList
	n := -1
	for path, rule := range r.rules() {
		n++
		rule = rule.within(r)
		if rule.StartTime.IsZero() {
			rule.StartTime = r.StartTime
		}
		bad := rule.neverFiresAlone(path != "", n, &calendars)
		if bad == nil {
			continue
		}
		if path != "" {
			bad.Field = path
		}
		list.add(0, bad)
	}
	return list.join()
}

// neverFiresFromAnyStart checks a rule without start, calendar and also.
func (r Recurrence) neverFiresFromAnyStart() error {
	if r.combinesDayElements() && !r.NoImmediateRun || r.Cron == "" && len(r.MonthDays) == 0 && len(r.MonthlyOccurrences) == 0 {
		return nil // it fires from some start: at any time of day, and on the first of any month
	}
	// A rule that fires from some start at some interval also fires with interval 1 from this start.
	r.StartTime = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	r.Interval, r.Count, r.EndTime = 0, 0, time.Time{}
	return r.firesUnder(nil, nil)
}

// firesUnder returns the error of a rule with a start that never fires with a calendar and a limit of its days.
func (r Recurrence) firesUnder(open, limit *calendar) error {
	fields, zone, err := r.expandCron()
	if err == nil {
		_, err = compileUnbounded(r, unixOf(r.StartTime), zone, open, limit, fields)
	}
	return err
}

// hasCalendar reports whether the rule has more than elements to determine its days and times.
func (r Recurrence) hasCalendar() bool {
	return len(r.Only) > 0 || len(r.Except) > 0 || len(r.Positions) > 0 || len(r.Days) > 0
}

// neverFiresAlone checks the n-th rule of a definition with its calendar. It returns nil for a rule that fires, and for one without a start that may fire from some
// start.
func (r Recurrence) neverFiresAlone(inAlso bool, n int, calendars *calendars) *Error {
	if !inAlso && r.combinesDayElements() && !r.NoImmediateRun {
		return nil // it runs when it is created
	}
	if r.StartTime.IsZero() {
		r = r.fromAnyStart()
	}
	open, limit := calendars.of(n, r.Frequency)
	err := r.firesUnder(open, limit)
	for _, bad := range Errors(err) {
		if bad.Code == CodeNeverFires {
			return bad
		}
	}
	return nil
}

// fromAnyStart returns a rule that runs at least whenever a rule without start would run from any start: if the result never fires, the original
// never fires either. It begins before all dates of a calendar. Every field that comes from the start has all values instead, and the interval is
// 1. The zone is UTC, which shows every time once: a rule in a zone runs only at times whose names are open in its calendar.
func (r Recurrence) fromAnyStart() Recurrence {
	wide := r
	wide.StartTime, wide.EndTime = minTime, time.Time{}
	wide.Interval, wide.Count, wide.TimeZone, wide.ClockChanges = 0, 0, "", ClockOnce
	unit := r.unit()
	if r.Cron != "" && unit == 0 {
		_, _, words := cutCronZone(r.Cron)
		wide.Cron = strings.Join(words, " ") // none of its fields come from the start
		return wide
	}
	if unit < Day || unit == Day && len(r.Days) == 0 {
		// Every second of every open day. Closed days move to open ones, which the rule contains already.
		wide.Frequency, wide.Cron, wide.Shift, wide.ShiftBy = Second, "", ShiftDrop, 0
		return wide
	}
	wide.Hours = orEvery(r.Hours, 0, 23)
	wide.Minutes = orEvery(r.Minutes, 0, 59)
	wide.Seconds = orEvery(r.Seconds, 0, 59)
	if len(r.Positions) > 0 {
		return wide // they count all days of the period that the elements name, and no field comes from the start
	}
	switch unit {
	case Week:
		wide.WeekDays = orEvery(r.WeekDays, time.Sunday, time.Saturday)
	case Month:
		if len(r.MonthlyOccurrences) == 0 {
			wide.MonthDays = orEvery(r.MonthDays, 1, 31)
		}
	case Year:
		wide.Frequency, wide.MonthDays = Month, orEvery([]int(nil), 1, 31)
	}
	return wide
}

// orEvery returns the list, or every value from first to last if it is empty.
func orEvery[T ~int](list []T, first, last T) []T {
	if len(list) > 0 {
		return list
	}
	every := slices.Grow(list, int(last-first)+1)
	for v := first; v <= last; v++ {
		every = append(every, v)
	}
	return every
}
