package recurrence

import (
	"cmp"
	"iter"
	"time"
)

// A Series is a rule with its start in place, ready to be asked when it runs. It never changes: any number of goroutines may
// ask it. Asking costs the same however long ago the start was, and [Series.Next] allocates nothing.
//
// The times it returns are whole seconds in the rule's zone, none at or after 2200-01-01T00:00:00Z.
type Series struct {
	rule    rule
	created int64 // whole seconds, as are all
	end     int64 // the last second that may run
	count   int   // 0: endless

	firstFrom int64 // where First begins to look
	immediate bool  // the first run is at firstFrom, whether or not it matches
	once      bool  // nothing matches, see meets: the immediate run is the only one
}

// Series puts the rule's start in place. Created is when the job comes to be; its fraction of a second is dropped. It is the
// start where the rule has none, and past occurrences are counted from it.
//
// It returns what [Recurrence.Validate] says is wrong, and an error of code never_fires where nothing ever matches. Of that there
// is one exception: without a StartTime, month days that never fall on the monthly occurrences beside them leave the run at
// creation. A rule whose next match lies in the year 2200 or later has simply ended.
func (r Recurrence) Series(created time.Time) (*Series, error) {
	if err := checkRule(r); err != nil {
		return nil, err
	}
	var fields *cronFields
	zoneName := r.TimeZone
	if r.Cron != "" {
		f, err := compileCron(r.Cron)
		if err != nil {
			return nil, err
		}
		zoneName = cmp.Or(zoneName, f.zone)
		if f.every.Frequency != 0 {
			r.Frequency, r.Interval = f.every.Frequency, f.every.Interval
		} else {
			fields = &f
		}
	}
	zone, err := loadZone(zoneName)
	if err != nil {
		return nil, err
	}

	s := &Series{created: unixOf(created), end: horizon - 1, count: r.Count}
	if !r.EndTime.IsZero() {
		s.end = min(s.end, unixOf(r.EndTime))
	}
	start := s.created
	if !r.StartTime.IsZero() {
		start = unixOf(r.StartTime)
	}
	s.firstFrom = max(start, s.created)
	runsOnce := fields == nil && r.Frequency == 0
	s.immediate = runsOnce || fields == nil && r.StartTime.IsZero()
	if s.rule, err = compile(r, start, zone, fields); err != nil {
		if !s.immediate || !r.meets() {
			return nil, err
		}
		s.once, s.rule.zone = true, zone
	}
	return s, nil
}

// meets tells that a rule asks for month days and monthly occurrences at once. Whether they ever fall together is hard to see
// for whoever writes it, so without a StartTime such a rule is not refused: it runs when it is created.
func (r Recurrence) meets() bool {
	return r.StartTime.IsZero() && len(r.MonthDays) > 0 && len(r.MonthlyOccurrences) > 0
}

// First is the first run of a job made at creation. Without a StartTime a rule with a frequency runs at once, and so does one
// without recurrence whose StartTime has passed; a cron rule never does. Otherwise it is the first match from creation and from
// StartTime on. The bool is false where EndTime or the horizon comes first.
func (s *Series) First() (time.Time, bool) {
	if s.immediate {
		return s.time(s.firstFrom)
	}
	return s.time(s.rule.next(s.firstFrom))
}

// Next is the first match strictly after an instant. It knows the rule, not the job: matches begin at StartTime, those before
// creation included; the immediate run is none unless it matches; EndTime is honoured, Count is not. Given the planned time of one
// run it returns that of the following. The bool is false where there is none.
func (s *Series) Next(after time.Time) (time.Time, bool) {
	if s.once {
		return time.Time{}, false
	}
	return s.time(s.rule.next(unixOf(after) + 1))
}

// All yields the runs of a job made at creation, in order: First, then the matches after it, until Count, EndTime or the
// horizon.
func (s *Series) All() iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		at, ok := s.First()
		for n := 1; ok && yield(at) && n != s.count; n++ {
			at, ok = s.Next(at)
		}
	}
}

// Between yields the matches from one instant to another, which it does not include. Like [Series.Next] it knows the rule
// only: it ignores Count, and yields matches before creation too.
func (s *Series) Between(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		at, ok := s.Next(from.Add(-1))
		for ok && at.Before(to) && yield(at) {
			at, ok = s.Next(at)
		}
	}
}

// time gives an instant in the rule's zone, if it may run.
func (s *Series) time(instant int64) (time.Time, bool) {
	if instant > s.end {
		return time.Time{}, false
	}
	return time.Unix(instant, 0).In(s.rule.zone.location), true
}

// unixOf drops the fraction of a second. Instants beyond the years 1 to 9999 become the nearest in them.
func unixOf(t time.Time) int64 {
	const firstYear, lastYear = -62135596800, 253402300799
	return min(max(t.Unix(), firstYear), lastYear)
}
