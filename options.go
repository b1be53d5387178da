package chime

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// An EnqueueOption changes one job: In, At, Expire, ID, ArgsID, Once, Replace, InBatch, SameBatch, and every JobOption.
type EnqueueOption interface {
	KindOption
	TriggerOption
	enqueue(*enqueueSettings)
}

// A ScheduleOption changes one schedule: Args, JobName, NoImmediateRun, Overlap, Misfire, Grace, Spread, PauseAfter, MaxUnfinished, Meta, KeepRuns, Kind.With, and every
// JobOption.
type ScheduleOption interface {
	PutOption
	schedule(*scheduleSettings)
}

// A HandlerOption changes one handler, or all handlers of a worker as a default: Backoff, and every AttemptOption.
type HandlerOption interface {
	KindOption
	handler(*handlerSettings)
}

// A JobOption is both an EnqueueOption and a ScheduleOption: Queue, Group, Header, Keep, OnDone, OnDeath, and every AttemptOption.
type JobOption interface {
	EnqueueOption
	ScheduleOption
}

// An AttemptOption is a JobOption and a HandlerOption: MaxAttempts, Timeout, Retry. Each setting is taken from the first of these that has
// it: the call, the kind, the handler, the worker (WorkerOptions.Defaults), chime's own default.
type AttemptOption interface {
	JobOption
	HandlerOption
}

// attemptSettings are the settings that jobs, schedules, handlers and workers have in common. A zero field is not set: the next source
// in the order above provides it. Problems are returned when the settings are checked.
type attemptSettings struct {
	maxAttempts int
	timeout     time.Duration
	retry       wire.Retry
	problems    []error
}

func (s *attemptSettings) refuse(err error) { s.problems = append(s.problems, err) }

func (s *attemptSettings) err() error { return errors.Join(s.problems...) }

// jobSettings are the settings that EnqueueOptions and ScheduleOptions have in common.
type jobSettings struct {
	attemptSettings
	queue   string
	group   string // empty: none
	header  map[string]string
	keep    time.Duration
	onDone  []byte // the body of the job to add
	onDeath []byte // likewise
}

// or returns the settings, with farther's values for those that are not set. The header gets the keys of both, so its size must be checked
// again: see checkHeaderSize.
func (s jobSettings) or(farther jobSettings) jobSettings {
	s.maxAttempts = cmp.Or(s.maxAttempts, farther.maxAttempts)
	s.timeout = cmp.Or(s.timeout, farther.timeout)
	s.retry = cmp.Or(s.retry, farther.retry)
	s.queue = cmp.Or(s.queue, farther.queue)
	s.group = cmp.Or(s.group, farther.group)
	s.keep = cmp.Or(s.keep, farther.keep)
	if len(farther.header) > 0 {
		header := maps.Clone(farther.header)
		maps.Copy(header, s.header)
		s.header = header
	}
	if s.onDone == nil {
		s.onDone = farther.onDone
	}
	if s.onDeath == nil {
		s.onDeath = farther.onDeath
	}
	return s
}

// details returns the settings that few jobs have; nil if none of them is set.
func (s *jobSettings) details() *wire.Details {
	if s.retry == (wire.Retry{}) && s.header == nil && s.keep == 0 && s.onDone == nil && s.onDeath == nil {
		return nil
	}
	return &wire.Details{Retry: s.retry, Header: s.header, Keep: s.keep, OnDone: s.onDone, OnDeath: s.onDeath}
}

type enqueueSettings struct {
	jobSettings
	in      time.Duration
	at      time.Time
	timed   bool // in or at was given
	expire  time.Duration
	id      string
	own     bool // id was given, or will be created
	argsID  bool // the ID is created from the arguments
	once    time.Duration
	replace bool

	inBatch   string // the batch that runs and of which it becomes a member; empty: none
	sameBatch bool   // of a job that follows another one: it is a member of the batch of that one
}

type scheduleSettings struct {
	jobSettings
	kind           jobSettings // the kind's defaults, for settings that the call does not set
	args           any
	jobName        string
	noImmediateRun bool
	overlap        OverlapPolicy
	misfire        MisfirePolicy
	grace          time.Duration
	spread         time.Duration
	pauseAfter     int
	maxUnfinished  int
	meta           json.RawMessage
	keepRuns       *int
}

type handlerSettings struct {
	attemptSettings
	backoff func(failures int) time.Duration
}

// newHandlerSettings applies options; if an option is repeated, the last one counts. It returns all problems, joined.
func newHandlerSettings(options []HandlerOption) (s handlerSettings, err error) {
	for _, option := range options {
		if option == nil {
			s.refuse(errNilOption)
			continue
		}
		option.handler(&s)
	}
	return s, s.err()
}

// or returns the settings, with farther's values for those that are not set.
func (s handlerSettings) or(farther handlerSettings) handlerSettings {
	s.maxAttempts = cmp.Or(s.maxAttempts, farther.maxAttempts)
	s.timeout = cmp.Or(s.timeout, farther.timeout)
	if s.backoff == nil && s.retry == (wire.Retry{}) {
		s.backoff, s.retry = farther.backoff, farther.retry
	}
	return s
}

// jobOption is a JobOption.
type jobOption func(*jobSettings)

func (o jobOption) put(s *putSettings) { o(&s.jobSettings) }

func (o jobOption) enqueue(s *enqueueSettings)   { o(&s.jobSettings) }
func (o jobOption) trigger(s *triggerSettings)   { o(&s.jobSettings) }
func (o jobOption) schedule(s *scheduleSettings) { o(&s.jobSettings) }
func (o jobOption) kind(d *kindDefaults) {
	d.enqueues, d.schedules = append(d.enqueues, o), append(d.schedules, o)
}

// attemptOption is an AttemptOption.
type attemptOption func(*attemptSettings)

func (o attemptOption) put(s *putSettings) { o(&s.attemptSettings) }

func (o attemptOption) enqueue(s *enqueueSettings)   { o(&s.attemptSettings) }
func (o attemptOption) trigger(s *triggerSettings)   { o(&s.attemptSettings) }
func (o attemptOption) schedule(s *scheduleSettings) { o(&s.attemptSettings) }
func (o attemptOption) handler(s *handlerSettings)   { o(&s.attemptSettings) }
func (o attemptOption) kind(d *kindDefaults) {
	d.enqueues, d.schedules, d.handlers = append(d.enqueues, o), append(d.schedules, o), append(d.handlers, o)
}

// enqueueOption is an EnqueueOption.
type enqueueOption func(*enqueueSettings)

func (o enqueueOption) enqueue(s *enqueueSettings) { o(s) }
func (o enqueueOption) trigger(s *triggerSettings) { o(&s.enqueueSettings) }
func (o enqueueOption) kind(d *kindDefaults)       { d.enqueues = append(d.enqueues, o) }

// ownOption is an EnqueueOption that belongs to a single job: as a default of a kind it is refused.
type ownOption struct {
	enqueueOption
	name string
}

func (o ownOption) kind(d *kindDefaults) {
	d.problems = append(d.problems, protocol.Invalid("default", o.name, "an option that every job of the kind can have"))
}

// batchOption is ownOption for batches: a manual run of a schedule belongs to none.
type batchOption struct{ ownOption }

func (o batchOption) trigger(s *triggerSettings) {
	s.refuse(protocol.Invalid("option of Trigger", o.name, "Args, or another option of one job: a manual run belongs to no batch"))
}

type scheduleOption func(*scheduleSettings)

func (o scheduleOption) schedule(s *scheduleSettings) { o(s) }
func (o scheduleOption) put(s *putSettings)           { o(&s.scheduleSettings) }

// handlerOption is a HandlerOption.
type handlerOption func(*handlerSettings)

func (o handlerOption) handler(s *handlerSettings) { o(s) }
func (o handlerOption) kind(d *kindDefaults)       { d.handlers = append(d.handlers, o) }

// Queue sets the queue of the job, 1 to 100 of A-Z a-z 0-9 _ . : -. If neither the call nor the kind sets it, it is EnqueuerOptions.Queue,
// and for schedules "default".
func Queue(name string) JobOption {
	return queueOption{func(s *jobSettings) {
		s.queue = name
		if err := protocol.CheckName("queue", name); err != nil {
			s.refuse(err)
		}
	}}
}

// MaxAttempts sets how many attempts may fail before the job is dead, 1 to 1000. The default is 25. It is 5 for an occurrence of a schedule,
// because the next one follows soon, and for a manual run.
func MaxAttempts(n int) AttemptOption {
	return attemptOption(func(s *attemptSettings) {
		s.maxAttempts = n
		if n < 1 || n > schedule.MaxAttempts {
			s.refuse(protocol.Invalid("max attempts", strconv.Itoa(n), fmt.Sprintf("1 to %d", schedule.MaxAttempts)))
		}
	})
}

// Timeout ends the handler's ctx after d, 1 ms to 365 days. Ten seconds later the attempt counts as failed, even if the handler has not
// returned. The default is 30 minutes.
func Timeout(d time.Duration) AttemptOption {
	return attemptOption(func(s *attemptSettings) {
		s.timeout = d
		if d < time.Millisecond || d > schedule.MaxTimeout {
			s.refuse(protocol.Invalid("timeout", d.String(), "1ms to "+schedule.MaxTimeout.String()))
		}
	})
}

// Retry sets how long the job waits after a failure: [Fixed] or [Exponential]. It is stored with the job, or in the schedule's definition,
// and overrides Retry and [Backoff] of the handler. The default is described at Backoff.
func Retry(policy RetryPolicy) AttemptOption {
	err := policy.validate()
	return retryOption(func(s *attemptSettings) {
		s.retry = policy.policy
		if err != nil {
			s.refuse(err)
		}
	})
}

// retryOption is attemptOption for Retry: if a handler has both Retry and Backoff, the last one counts.
type retryOption attemptOption

func (o retryOption) enqueue(s *enqueueSettings)   { o(&s.attemptSettings) }
func (o retryOption) trigger(s *triggerSettings)   { o(&s.attemptSettings) }
func (o retryOption) put(s *putSettings)           { o(&s.attemptSettings) }
func (o retryOption) schedule(s *scheduleSettings) { o(&s.attemptSettings) }
func (o retryOption) handler(s *handlerSettings)   { o(&s.attemptSettings); s.backoff = nil }
func (o retryOption) kind(d *kindDefaults) {
	d.enqueues, d.schedules, d.handlers = append(d.enqueues, o), append(d.schedules, o), append(d.handlers, o)
}

// Keep stores the outcome of the job and the value of [Job.Return] for d (1 s to 365 days) after the job has ended. [Jobs.Wait] and [Jobs.Get]
// return them. Without Keep nothing remains of a job that is done. If an earlier job with the same ID had Keep, Jobs.Wait and Jobs.Get still return
// the earlier result. So use Keep for all jobs with the same ID, or for none. Until it expires, a kept result takes memory in Redis: up to 64 KiB,
// plus the ID.
func Keep(d time.Duration) JobOption {
	return jobOption(func(s *jobSettings) {
		s.keep = d
		if d < time.Second || d > schedule.MaxTimeout {
			s.refuse(protocol.Invalid("keep", d.String(), "1s to "+schedule.MaxTimeout.String()))
		}
	})
}

// Header adds an entry to the data that travels with the job through all its attempts, and from a schedule to its occurrences: a trace context,
// a tenant, the user who started it. The handler reads it from [Job.Header]. A key is 1 to 100 bytes of UTF-8 without control characters. The
// keys and values of a job have at most 4 KiB together. If a key is repeated, the last entry counts.
func Header(key, value string) JobOption {
	err := checkHeader(key, value)
	return jobOption(func(s *jobSettings) {
		if err != nil {
			s.refuse(err)
			return
		}
		header := map[string]string{}
		maps.Copy(header, s.header) // s.header itself never changes: another job may share it
		header[key] = value
		s.header = header
		if err := checkHeaderSize(header); err != nil {
			s.refuse(err)
		}
	})
}

const (
	maxHeader    = 4 << 10 // bytes of the keys and values of a job
	maxHeaderKey = 100     // bytes
)

func checkHeader(key, value string) error {
	if key == "" || len(key) > maxHeaderKey || !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) {
		return protocol.Invalid("header key", key, "1 to 100 bytes of UTF-8 without control characters")
	}
	if !utf8.ValidString(value) {
		return protocol.Invalid("header "+key, value, "UTF-8")
	}
	return nil
}

// checkHeaderSize checks the whole header, also one that is merged from a call, a kind and a schedule.
func checkHeaderSize(header map[string]string) error {
	size := 0
	for key, value := range header {
		size += len(key) + len(value)
	}
	if size > maxHeader {
		return protocol.Invalid("header", strconv.Itoa(size)+" bytes", strconv.Itoa(maxHeader)+" bytes at most")
	}
	return nil
}

// Backoff sets the delay before the next attempt, by the number of failures so far: 1, 2, …. A negative delay counts as 0, and a delay of
// more than 100 years as 100 years. By default the delay is about n⁴ seconds after n failures (1 s, 16 s, 81 s, …), times a random factor
// from 0.75 to 1.25: 25 attempts last about 20 days.
func Backoff(delay func(failures int) time.Duration) HandlerOption {
	return handlerOption(func(s *handlerSettings) {
		s.backoff, s.retry = delay, wire.Retry{}
		if delay == nil {
			s.refuse(protocol.Because(protocol.Invalid("backoff", "", "a function"), "is nil"))
		}
	})
}

// A RetryPolicy sets how long a job waits after a failure. Create one with [Fixed] or [Exponential]; see [Retry]. [RetryAfter] in a handler
// overrides it.
type RetryPolicy struct{ policy wire.Retry }

// Fixed waits d after each failure, 1 ms to 365 days. Each wait is lengthened at random by up to a tenth, at most a minute, so that jobs that failed
// together are not retried together. For a wait that is exactly d, return [RetryAfter] from the handler.
func Fixed(d time.Duration) RetryPolicy { return RetryPolicy{wire.Retry{First: d, Max: d}} }

// Exponential waits first after the first failure, twice as long after each further one, and never longer than max; both 1 ms to 365
// days. Each wait is shortened at random by up to a quarter, so that jobs that failed together are not retried together.
func Exponential(first, max time.Duration) RetryPolicy {
	return RetryPolicy{wire.Retry{First: first, Max: max}}
}

// String returns "1m" for a fixed policy, "1s, then twice as long each time, to 1h" for an exponential one, and "" for the zero value.
func (p RetryPolicy) String() string {
	switch {
	case p.policy == wire.Retry{}:
		return ""
	case p.policy.First == p.policy.Max:
		return format.Exact(p.policy.First)
	}
	return fmt.Sprintf("%s, then twice as long each time, to %s", format.Exact(p.policy.First), format.Exact(p.policy.Max))
}

// MarshalJSON encodes the shortest and the longest delay, in milliseconds: first_ms and max_ms.
func (p RetryPolicy) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		FirstMS int64 `json:"first_ms"`
		MaxMS   int64 `json:"max_ms"`
	}{p.policy.First.Milliseconds(), p.policy.Max.Milliseconds()})
}

// validate returns the policy's problem.
func (p RetryPolicy) validate() error {
	first, longest := p.policy.First, p.policy.Max
	switch {
	case first < time.Millisecond || first > schedule.MaxTimeout:
		return protocol.Invalid("retry", first.String(), "1ms to "+schedule.MaxTimeout.String())
	case longest < first || longest > schedule.MaxTimeout:
		return protocol.Invalid("longest retry", longest.String(), first.String()+", the first, to "+schedule.MaxTimeout.String())
	}
	return nil
}
