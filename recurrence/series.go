package recurrence

import (
	"cmp"
	"iter"
	"strings"
	"time"
)

// A Series is the sequence of runs of a rule from its start on. [Recurrence.Series] returns one. It never changes, so several goroutines may use it
// at once. The running time of a call does not depend on how long ago the start was, and [Series.Next] and [Series.Prev] allocate nothing.
//
// The times that it returns are whole seconds in the rule's time zone, all before 2200-01-01T00:00:00Z.
type Series struct {
	rule  *rule
	also  *additions // nil: none
	zone  *zone
	end   int64 // the last second at which a run may be, in Unix seconds, like all instants here
	count int   // 0: endless

	created   int64 // with its fraction: the first run that must match is not before it
	immediate int64 // the run that need not match; never: there is no such run
}

// Series returns the runs of a job that was created at created. Runs before created are not caught up: First and All begin at created. A rule without
// StartTime starts at created. This start and a run at creation are in whole seconds: the fraction of created is dropped. Every other first run is at
// or after created, so a cron rule that was created at 09:00:00.5 does not run at 09:00:00.
//
// Series returns the errors of [Recurrence.Validate], and an error with [CodeNeverFires] if no instant ever matches. There is
// one exception: a rule without StartTime whose MonthDays and MonthlyOccurrences never fall on the same day is accepted and
// runs once, when created. A rule whose next match lies in the year 2200 or later is accepted and has no more runs.
func (r Recurrence) Series(created time.Time) (*Series, error) {
	if err := checkRule(r); err != nil {
		return nil, err
	}
	calendars, err := r.compileCalendars()
	if err != nil {
		return nil, err
	}
	return r.series(created, &calendars)
}

// series is Series for a rule without a mistake, with its calendars.
func (r Recurrence) series(created time.Time, calendars *calendars) (*Series, error) {
	fields, zone, err := r.expandCron()
	if err != nil {
		return nil, err
	}

	s := &Series{zone: zone, end: endOf(r.EndTime), count: r.Count, created: unixFrom(created), immediate: never}
	start := unixOf(created)
	if !r.StartTime.IsZero() {
		start = unixOf(r.StartTime)
	}
	if runsOnce := r.Frequency == 0; fields == nil && (runsOnce || r.StartTime.IsZero()) {
		switch {
		case !r.NoImmediateRun:
			s.immediate = max(start, unixOf(created))
		case r.StartTime.IsZero(): // its first period begins at creation
			s.created = unixOf(created) + 1
		}
	}
	open, limit := calendars.of(0, r.Frequency)
	if s.rule, err = compile(r, start, zone, open, limit, fields); err != nil {
		if !r.combinesDayElements() {
			return nil, err
		}
		s.rule = &rule{} // there are no matches; the immediate run is the only one, if there is one
	}
	if s.also, err = newAdditions(r, start, zone, calendars); err != nil {
		return nil, err
	}
	if whole := calendars.whole; s.immediate != never && whole != nil && !whole.isOpen(s.immediate+zone.offsetAt(s.immediate)) {
		s.immediate = never
	}
	return s, nil
}

// expandCron compiles the cron text, if there is one, and loads the zone. An @every becomes a frequency and an interval.
func (r *Recurrence) expandCron() (fields *cronFields, z *zone, err error) {
	zoneName := r.TimeZone
	if r.Cron != "" {
		f, err := compileCron(r.Cron)
		if err != nil {
			return nil, nil, err
		}
		zoneName = cmp.Or(zoneName, f.zone)
		if f.every.Frequency != 0 {
			r.Frequency, r.Interval = f.every.Frequency, f.every.Interval
		} else {
			fields = &f
		}
	}
	z, err = loadZone(zoneName)
	return fields, z, err
}

// endOf returns the last second at which a run may be.
func endOf(end time.Time) int64 {
	if end.IsZero() {
		return horizon - 1
	}
	return min(horizon-1, unixOf(end))
}

// combinesDayElements reports whether a rule without StartTime has both month days and monthly occurrences. Its author cannot
// easily see that the two never fall on the same day, so such a rule is not refused: it runs when it is created.
func (r Recurrence) combinesDayElements() bool {
	return r.StartTime.IsZero() && len(r.MonthDays) > 0 && len(r.MonthlyOccurrences) > 0
}

// mayRunAtCreation reports whether the rule has a run at creation from some creation on, unless NoImmediateRun is set.
func (r Recurrence) mayRunAtCreation() bool {
	unit := r.unit()
	return unit != 0 && r.StartTime.IsZero() || unit == 0 && r.Cron == ""
}

// First returns the first run of a job that was created at the creation of the Series. A rule with a frequency and without StartTime runs at
// creation, unless the calendar closes that time. A rule without a frequency runs once: at StartTime, or at creation if StartTime has passed or is
// not set. NoImmediateRun omits these runs at creation. For every other rule, including cron rules, the first run is the first match that is neither before StartTime nor before creation (with
// its fraction of a second). The bool is false if EndTime or the year 2200 comes first.
func (s *Series) First() (time.Time, bool) {
	if s.immediate != never && s.also == nil {
		return s.time(s.immediate)
	}
	return s.time(min(s.immediate, s.next(s.created)))
}

// Next returns the first match strictly after an instant. To get the run that follows another, pass the planned time of that run. Next depends on
// the rule and not on the job: it also returns matches between StartTime and creation, it respects EndTime, and it ignores Count. The run at
// creation is not a match unless the rule matches it. The bool is false if there is no later match.
func (s *Series) Next(after time.Time) (time.Time, bool) {
	from := unixOf(after) + 1
	if s.also == nil { // for most rules: it saves a call
		return s.time(s.rule.next(from))
	}
	return s.time(s.next(from))
}

// Prev returns the last match strictly before an instant, and not before StartTime (or creation, if there is no StartTime). Like [Series.Next] it
// depends on the rule and not on the job: it also returns matches before creation, it respects EndTime, and it ignores Count. The bool is false
// if there is no earlier match.
func (s *Series) Prev(before time.Time) (time.Time, bool) {
	to := min(unixFrom(before), s.end+1)
	found := max(s.rule.prev(to), s.also.prev(to))
	if found == none {
		return time.Time{}, false
	}
	return s.time(found)
}

// All yields the runs of a job that was created at creation, in order: First, then the matches after it. It ends after Count runs, after EndTime,
// or before the year 2200.
func (s *Series) All() iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		at, ok := s.First()
		for n := 1; ok && yield(at) && n != s.count; n++ {
			at, ok = s.Next(at)
		}
	}
}

// Between yields the matches at or after from and before to, in order. Like [Series.Next] it depends on the rule and not on the job: it also
// yields matches between StartTime and creation, it respects EndTime, and it ignores Count.
func (s *Series) Between(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		at, ok := s.Next(from.Add(-1))
		for ok && at.Before(to) && yield(at) {
			at, ok = s.Next(at)
		}
	}
}

// After yields the matches strictly after an instant, in order: the results of repeated calls of [Series.Next]. Like Next it depends on the rule and
// not on the job: it respects EndTime and ignores Count. It ends before the year 2200.
func (s *Series) After(t time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		at, ok := s.Next(t)
		for ok && yield(at) {
			at, ok = s.Next(at)
		}
	}
}

// Backward yields the matches strictly before an instant, the latest first: the results of repeated calls of [Series.Prev]. It ends at StartTime (at
// creation, if there is no StartTime), or at the first instant of Also, if that is earlier. It ignores Count.
func (s *Series) Backward(t time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		at, ok := s.Prev(t)
		for ok && yield(at) {
			at, ok = s.Prev(at)
		}
	}
}

// Matches reports whether the second that contains t is a match: its fraction has no effect, so Matches(time.Now()) is useful once a second. Like
// [Series.Next] it depends on the rule and not on the job: it respects StartTime and EndTime, and ignores Count. The run at creation is not a match
// unless the rule matches it.
func (s *Series) Matches(t time.Time) bool {
	second := unixOf(t)
	return second <= s.end && s.next(second) == second
}

// LocalTimes returns the rule's time zone if the rule names times of day in it, so that each run has another local time than every other one, and a
// later one than those before it. ok is false for a rule in UTC or in a zone below Etc, whose offsets never change, for a rule of elapsed time, and
// for a rule that runs on both passes of a repeated hour or at fixed instants.
func (s *Series) LocalTimes() (zone *time.Location, ok bool) {
	name := s.zone.location.String()
	if name == "UTC" || strings.HasPrefix(name, "Etc/") || s.rule.kind != namedHours || !s.also.named() {
		return nil, false
	}
	return s.zone.location, true
}

// next returns the first match of the rule and its additions at or after an instant, or [never].
func (s *Series) next(from int64) int64 { return min(s.rule.next(from), s.also.next(from)) }

// time returns an instant in the rule's zone; false if it lies after the end.
func (s *Series) time(instant int64) (time.Time, bool) {
	if instant > s.end {
		return time.Time{}, false
	}
	return time.Unix(instant, 0).In(s.zone.location), true
}

// unixOf drops the fraction of a second. An instant outside the years 1 to 9999 becomes the nearest one within them.
func unixOf(t time.Time) int64 {
	const minUnix, maxUnix = -62135596800, 253402300799
	return min(max(t.Unix(), minUnix), maxUnix)
}

// unixFrom returns the first whole second that is not before t, within the years of [unixOf].
func unixFrom(t time.Time) int64 {
	second := unixOf(t)
	if t.Nanosecond() > 0 {
		second++
	}
	return second
}
