// Package work is what a Worker runs: it takes jobs from queues, runs their handlers and settles what they return.
//
// Each of its files is one part with a few fields of its own. Other parts call its methods and never use its fields; a test checks
// that. The processor is the one loop that connects them:
//
//	processor   the loop: it decides what to do next, and passes answers to the parts
//	callers     a caller for each node of the store
//	caller      the goroutine that makes the calls to one node, one at a time
//	lane        one partition as the worker sees it: its session, the call under way, when it is called again
//	outbox      what the next call of a lane carries: outcomes, begun jobs, placements
//	session     the right to hold jobs of one partition
//	heartbeat   the goroutine that keeps sessions alive
//	wakeup      the messages for this worker: wake-ups and alarms
//	flights     all jobs that this worker holds, from the answer that brought them to the outcome in an outbox
//	admission   which of them run, and how the others are settled
//	claim       a job as the store has given it, and the settlements it can end in
//	flight      a claim on its way through a slot
//	attempt     the part of a job that its handler may keep
//	output      what its handler reports in addition to its error
//	reporter    the goroutine that sends the progress of handlers
//	gatherer    flights that wait for others, to be handled together
//	call        several flights that one handler gets together
//	slots       the goroutines that run handlers
//	pace        how fast handlers are, and so how many jobs are taken ahead
//	drain       the end of a worker in bounded time
//	announcer   the goroutine that announces which jobs the worker handles
package work

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// Job is a job as its handler receives it. It has the fields of chime.Job, where they are documented.
type Job struct {
	ID       string
	Name     string
	Queue    string
	Schedule string
	Origin   string // what created it, in a word of package observe; empty: it is not a schedule's
	Planned  time.Time
	Offset   time.Duration // how long after Planned it was due
	Started  time.Time

	Attempt     int
	MaxAttempts int
	Crashes     int
	Fence       int64
	Timeout     time.Duration

	Worker    string
	Partition int

	LastError string
	Header    map[string]string
	Group     string
	Death     *wire.Death
	Prior     *wire.Prior
	Batch     string         // of which it is a member; empty: none
	BatchEnd  *wire.BatchEnd // the batch that it follows; nil: none

	Payload []byte

	Output *Output // what its handler reports in addition to its error
}

// A Handler runs jobs of one name.
type Handler struct {
	Name        string
	Run         func(ctx context.Context, job *Job) error // job's memory is reused; nil: Many handles the jobs
	Many        *Many                                     // for jobs that are handled together; nil: Run handles each job
	MaxAttempts int                                       // of a job that has no number of its own; 0: Config's
	Timeout     time.Duration                             // of an attempt; 0: Config.Timeout
	Backoff     func(failures int) time.Duration          // nil: Retry
	Retry       wire.Retry                                // zero: the default
}

// A Many sets which jobs of a name a call handles together. It has the fields of chime.Many, where they are documented.
type Many struct {
	Size, Bytes       int
	Wait              time.Duration
	ByGroup, Together bool

	// Run handles the jobs. each, if it is not nil, has the errors of some of them, by their IDs; nil: that job is done. all is the error of the others;
	// nil: they are done, and with each they may not have been handled if the ctx had ended.
	Run func(ctx context.Context, jobs []Job) (each map[string]error, all error)
}

// delay is how long a job of this handler waits for its next attempt after this many failures. own is the job's own policy, or zero.
func (h *Handler) delay(own wire.Retry, failures int, log *slog.Logger) (d time.Duration) {
	switch {
	case own != wire.Retry{}:
		return retryDelay(own, failures)
	case h.Backoff == nil && h.Retry != wire.Retry{}:
		return retryDelay(h.Retry, failures)
	case h.Backoff == nil:
		return backoff(failures)
	}
	defer func() {
		if v := recover(); v != nil {
			log.Error("chime: a Backoff panicked, the default is used", "event", "handler.backoff_panic", "job", h.Name, "attempt", failures,
				"error", wire.Printable(fmt.Sprint(v), maxLogged))
			d = backoff(failures)
		}
	}()
	return min(max(h.Backoff(failures), 0), protocol.MaxDelay)
}

// Config is the configuration of a worker.
type Config struct {
	Queues       map[string]int // name -> weight
	Strict       bool           // the weights are an order
	Handlers     map[string]*Handler
	Concurrency  int
	SessionTTL   time.Duration
	DrainTimeout time.Duration
	MaxCrashes   int
	Timeout      time.Duration // of a job if neither it nor its handler has one
	Log          *slog.Logger
	HideErrors   bool // the log has no errors of handlers

	// Astray has the handled jobs whose kind has a default queue that no worker of this program serves: job name -> queue.
	Astray map[string]string

	// MaxAttempts is the number of attempts of a job if neither it nor its handler has one; OccurrenceAttempts is that number for an occurrence.
	MaxAttempts, OccurrenceAttempts int

	// Attempt returns new memory for an attempt, with the job for its handler, which See has stored. near is how many more will be requested
	// soon; below 0: this one is to be alone. Only one goroutine calls it.
	Attempt func(near int) *Attempt

	Observe observe.Observer

	Processor, Heartbeat *observe.Pulse

	// Outcome returns the meaning of a handler's error.
	Outcome func(error) Outcome
	// Panic turns a panic into an error; StackOf returns the stack of such an error, nil of any other.
	Panic   func(value any, stack []byte) error
	StackOf func(error) []byte

	worker string // the worker's name; Run sets it
}

// gathers returns the names of the jobs that are handled together, sorted; nil: none.
func (c *Config) gathers() (names []string) {
	for name, handler := range c.Handlers {
		if handler.Many != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Drained is how a worker ended.
type Drained struct {
	CutOff    []string // IDs of jobs whose handlers had not returned
	Unsettled int      // outcomes that the store has not confirmed
}

const (
	maxBodies   = protocol.MaxBytes / 2 // bytes of bodies that one call settles, unless a single one is larger: the call also takes jobs with bodies
	settleBatch = protocol.MaxSettlements / 2
	settleWait  = 20 * time.Millisecond // an outcome waits this long for the next take, unless there are settleBatch of them
)

// earlier returns the earlier of two instants; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// logged returns the error of a handler for the log.
func (c *Config) logged(err error) string {
	if c.HideErrors {
		return "(hidden)"
	}
	return wire.Printable(fmt.Sprint(err), maxLogged)
}

// logFor returns the log for an event of a handler that has this many jobs.
func (c *Config) logFor(jobs int) *slog.Logger {
	if jobs == 1 {
		return c.Log
	}
	return c.Log.With("count", jobs)
}
