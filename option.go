package chime

import (
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// An EnqueueOption changes one job: In, At, ID, and every JobOption.
type EnqueueOption interface{ enqueue(*enqueueSettings) }

// A ScheduleOption changes one schedule: Args, JobName, NoImmediateRun, Overlap, Misfire, Grace, Kind.With, and every JobOption.
type ScheduleOption interface{ schedule(*scheduleSettings) }

// A HandlerOption changes one handler: Backoff, Timeout.
type HandlerOption interface{ handler(*handlerSettings) }

// A JobOption is both an EnqueueOption and a ScheduleOption: Queue, MaxAttempts, Timeout.
type JobOption interface {
	EnqueueOption
	ScheduleOption
}

// jobSettings are what EnqueueOptions and ScheduleOptions have in common. Problems are returned when they are checked.
type jobSettings struct {
	queue       string
	maxAttempts int           // 0: the worker's
	timeout     time.Duration // 0: the handler's
	problems    []error
}

func (s *jobSettings) refuse(format string, args ...any) {
	s.problems = append(s.problems, fmt.Errorf(format, args...))
}

func (s *jobSettings) err() error { return errors.Join(s.problems...) }

type enqueueSettings struct {
	jobSettings
	in  time.Duration
	at  time.Time
	id  string
	own bool // id was given
}

type scheduleSettings struct {
	jobSettings
	args           any
	jobName        string
	noImmediateRun bool
	overlap        OverlapPolicy
	misfire        MisfirePolicy
	grace          time.Duration
}

type handlerSettings struct {
	timeout  time.Duration
	backoff  func(failures int) time.Duration
	problems []error
}

// jobOption is a JobOption.
type jobOption func(*jobSettings)

func (o jobOption) enqueue(s *enqueueSettings)   { o(&s.jobSettings) }
func (o jobOption) schedule(s *scheduleSettings) { o(&s.jobSettings) }

type enqueueOption func(*enqueueSettings)

func (o enqueueOption) enqueue(s *enqueueSettings) { o(s) }

type scheduleOption func(*scheduleSettings)

func (o scheduleOption) schedule(s *scheduleSettings) { o(s) }

type handlerOption func(*handlerSettings)

func (o handlerOption) handler(s *handlerSettings) { o(s) }

// Queue is the queue that the job goes to, 1 to 100 of A-Z a-z 0-9 _ . : -. Without it: EnqueuerOptions.Queue, and for schedules
// "default".
func Queue(name string) JobOption {
	return jobOption(func(s *jobSettings) {
		s.queue = name
		if err := protocol.CheckName("queue", name); err != nil {
			s.refuse("%w", err)
		}
	})
}

// MaxAttempts is after how many failed attempts the job is dead, 1 to 1000. Without it: 25.
func MaxAttempts(n int) JobOption {
	return jobOption(func(s *jobSettings) {
		s.maxAttempts = n
		if n < 1 || n > 1000 {
			s.refuse("max attempts %d: want 1 to 1000", n)
		}
	})
}

// TimeoutOption is a JobOption and a HandlerOption: see Timeout.
type TimeoutOption interface {
	JobOption
	HandlerOption
}

type timeoutOption time.Duration

func (o timeoutOption) check(refuse func(string, ...any)) {
	if d := time.Duration(o); d < time.Millisecond || d > schedule.MaxTimeout {
		refuse("timeout %v: want 1ms to %v", d, schedule.MaxTimeout)
	}
}

func (o timeoutOption) enqueue(s *enqueueSettings) {
	s.timeout = time.Duration(o)
	o.check(s.refuse)
}

func (o timeoutOption) schedule(s *scheduleSettings) {
	s.timeout = time.Duration(o)
	o.check(s.refuse)
}

func (o timeoutOption) handler(s *handlerSettings) {
	s.timeout = time.Duration(o)
	o.check(func(format string, args ...any) { s.problems = append(s.problems, fmt.Errorf(format, args...)) })
}

// Timeout ends the handler's ctx after d, 1 ms to 365 days. Ten seconds later the attempt counts as failed, whether the handler has
// returned or not. A job's own timeout takes precedence over its handler's. Without either: 30 minutes.
func Timeout(d time.Duration) TimeoutOption { return timeoutOption(d) }

// In delays the job by d, at most 100 years; 0 or less means now. The store's clock measures it, so the caller's clock may be wrong.
// Of several In and At the last one counts.
func In(d time.Duration) EnqueueOption {
	return enqueueOption(func(s *enqueueSettings) {
		s.in, s.at = max(d, 0), time.Time{}
		if d > protocol.MaxDelay {
			s.refuse("in %v: want at most 100 years", d)
		}
	})
}

// At delays the job until an instant, at most 100 years from now, rounded up to milliseconds. An instant in the past means now.
func At(t time.Time) EnqueueOption {
	return enqueueOption(func(s *enqueueSettings) {
		s.at, s.in = t, 0
		if d := time.Until(t); d > protocol.MaxDelay || d < -protocol.MaxDelay {
			s.refuse("at %v: want at most 100 years from now", t.UTC().Format(time.RFC3339))
		}
	})
}

// ID gives the job an ID of the caller's own, 1 to 100 of A-Z a-z 0-9 _ . : -. As long as a job with that ID exists in its queue
// (waiting, delayed, running, or in the dead set) another one is not added: the [Receipt] says Existing.
func ID(id string) EnqueueOption {
	return enqueueOption(func(s *enqueueSettings) {
		s.id, s.own = id, true
		if err := protocol.CheckName("ID", id); err != nil {
			s.refuse("%w", err)
		}
	})
}

// Args are the arguments of every job of the schedule; see Encode. At most 1 MiB when encoded. Without it the payload is empty.
func Args(v any) ScheduleOption { return scheduleOption(func(s *scheduleSettings) { s.args = v }) }

// JobName is the name of the schedule's jobs, which says who handles them: 1 to 100 of A-Z a-z 0-9 _ . : -. Without it: the
// schedule's name.
func JobName(name string) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.jobName = name
		if err := protocol.CheckName("job name", name); err != nil {
			s.refuse("%w", err)
		}
	})
}

// NoImmediateRun leaves out the run that a rule without a start time makes when the schedule is created.
func NoImmediateRun() ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) { s.noImmediateRun = true })
}

// Overlap says what happens if an occurrence is due while the last one still runs. Without it: OverlapSkip.
func Overlap(policy OverlapPolicy) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.overlap = policy
		switch policy {
		case OverlapSkip, OverlapWait, OverlapCancel, OverlapAllow:
		default:
			s.refuse("overlap policy %q: want skip, wait, cancel or allow", string(policy))
		}
	})
}

// Misfire says what becomes of occurrences that were not run in time. Without it: MisfireRunOnce.
func Misfire(policy MisfirePolicy) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.misfire = policy
		switch policy {
		case MisfireRunOnce, MisfireSkip, MisfireCatchUp:
		default:
			s.refuse("misfire policy %q: want run_once, skip or catch_up", string(policy))
		}
	})
}

// Grace is how late an occurrence may be taken before its misfire policy applies: 1 s to 365 days, and never more than the time to
// the next occurrence. Without it: 60 s.
func Grace(d time.Duration) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.grace = d
		if d < time.Second || d > 365*24*time.Hour {
			s.refuse("grace %v: want 1s to 8760h", d)
		}
	})
}

// Backoff sets the delay before the next attempt, by the number of failures so far: 1, 2, …. A negative delay counts as 0, one of
// more than 100 years as 100 years. Without it the delay is random, at most 1 s after the first failure, doubled with each up to
// 1 h.
func Backoff(delay func(failures int) time.Duration) HandlerOption {
	return handlerOption(func(s *handlerSettings) {
		s.backoff = delay
		if delay == nil {
			s.problems = append(s.problems, errors.New("backoff is nil"))
		}
	})
}
