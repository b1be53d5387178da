package recurrence

import (
	"sync"
	"time"
)

// A Schedule is a [Series] with the method of the interface Schedule of robfig/cron and of programs that follow it. [Series.Schedule] returns one.
// Several goroutines may use it at once.
type Schedule struct {
	series *Series

	// The rest is for a rule with a Count. All counted runs before number n are at or before asked.
	mu    sync.Mutex
	asked time.Time // the latest argument of Next
	n     int       // the number of the counted run at; 0: nothing is counted yet
	at    time.Time
	more  bool // at is a run; false: there are no more runs
}

// Schedule returns the series in the form that a scheduler such as robfig/cron runs:
//
//	c.Schedule(series.Schedule(), cron.FuncJob(report))
//
// Other than [Series.Next], [Schedule.Next] respects Count.
func (s *Series) Schedule() *Schedule { return &Schedule{series: s} }

// Next returns the first run strictly after an instant, and the zero time if there is no such run. With a Count it returns the counted runs only, those
// of [Series.All]. They begin at creation, with the run at creation, if there is one: a scheduler that calls Next after the creation does not execute
// that run, although it counts, so set NoImmediateRun. A call with a Count takes time for each run since the instant of the call before it, or since
// the creation if the instant is earlier than that of the call before it.
func (s *Schedule) Next(after time.Time) time.Time {
	count := s.series.count
	if count == 0 {
		at, _ := s.series.Next(after)
		return at
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 || after.Before(s.asked) {
		s.n = 1
		s.at, s.more = s.series.First()
	}
	s.asked = after
	for s.more && !s.at.After(after) {
		if s.n == count {
			s.at, s.more = time.Time{}, false
			break
		}
		s.n++
		s.at, s.more = s.series.Next(s.at)
	}
	return s.at
}
