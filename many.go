package chime

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/work"
)

// A ManyHandler handles several jobs of one name together, such as a bulk insert: see [Worker.HandleMany]. jobs has 1 to Many.Size jobs, in the order in
// which they were taken. The handler may keep the slice and the jobs.
//
// If it returns nil all jobs are done. An [Each] has the errors of single jobs. Every other error is an error of all jobs: each of them is retried, unless
// it is one of [RetryAfter], [Discard] or [Snooze]. It should return soon after ctx ends; context.Cause returns the reason.
type ManyHandler func(ctx context.Context, jobs []*Job) error

// Many sets which jobs a call of a ManyHandler gets.
type Many struct {
	// Size is the maximum number of jobs of a call, 1 to 1,000.
	Size int
	// Wait is how long the first job of a call waits for others, at most 10 s. Zero: a call begins with the jobs that one answer of the store has brought.
	// A call begins earlier if it has Size jobs or Bytes, or if no other job can come now: because of the limit of the queue or of the group, or because
	// no slot is free.
	Wait time.Duration
	// Bytes is the maximum size of the payloads of a call, 1 to 64 MiB. A larger job is handled alone. Zero means 4 MiB.
	Bytes int
	// ByGroup makes calls whose jobs have one group. Jobs without a group are one group too. False: a call may have jobs of several groups.
	ByGroup bool
	// Together handles the jobs of a call that has failed as a whole together again. False: each of them is handled alone from its next attempt on, so one
	// bad job does not make the others dead. A call has failed as a whole after an error of all its jobs, a panic or a timeout.
	Together bool
}

const (
	maxManySize  = 1000 // the outcomes of a call are sent to the store in two or three calls
	maxManyWait  = 10 * time.Second
	maxManyBytes = 64 << 20

	defaultManyBytes = 4 << 20
)

func (m Many) validate() error {
	switch {
	case m.Size < 1 || m.Size > maxManySize:
		return protocol.Invalid("Many.Size", strconv.Itoa(m.Size), "1 to 1,000")
	case m.Wait < 0 || m.Wait > maxManyWait:
		return protocol.Invalid("Many.Wait", m.Wait.String(), "0 to 10s")
	case m.Bytes < 0 || m.Bytes > maxManyBytes:
		return protocol.Invalid("Many.Bytes", strconv.Itoa(m.Bytes), "0 to 67,108,864 (64 MiB)")
	}
	return nil
}

// Each is the error of a [ManyHandler] that concerns single jobs: job ID -> error. An error in it has the meaning that it has for a [Handler]; a job with a
// nil error, or without an entry, is done. It is found through %w of a single error. In errors.Join, or beside another %w, it is an error of all jobs.
// An ID that the call does not have makes all its jobs fail, and they are retried. A [RetryAfter] or a [Discard] around an Each has no effect: put it around
// the errors in it.
//
// If ctx has ended because the time is up, the handler may not have reached every job. Then a job without an entry has failed with [ErrTimeout]: give the
// finished ones a nil error.
//
// If the worker has ended ctx, because it stops or because its session is lost, the handler may not have handled every job. Then only jobs that have
// an entry are settled: give the finished ones a nil error. The others run again, and no attempt is used up.
type Each map[string]error

// Error contains how many jobs have failed, and the error of the one with the least ID.
func (e Each) Error() string {
	failed, first := 0, ""
	for id, err := range e {
		if err == nil {
			continue
		}
		if failed++; failed == 1 || id < first {
			first = id
		}
	}
	switch failed {
	case 0:
		return "none of the jobs failed"
	case 1:
		return fmt.Sprintf("1 job failed: %s: %v", first, e[first])
	}
	return fmt.Sprintf("%d jobs failed: %s: %v", failed, first, e[first])
}

// HandleMany registers a handler that gets several jobs of a name in one call. Names and panics are those of [Worker.Handle]: a name has one handler, and
// a Many that is out of range panics too.
//
// Jobs gather until a call begins; while they gather they occupy no slot. A crash while they gather is not counted, except for runs of schedules, and for
// jobs that a limit of the queue or of the group counts. A call occupies one slot. Its jobs are of one partition and have the same timeout, which is the
// timeout of the call. Each job has its own outcome, attempts, result, progress and note.
//
// These jobs are handled alone, as the only job of a call: one that was running when a worker vanished; one of an ordered group; one that has no attempt
// left after this one; and one whose call has failed as a whole. With Many.Together only the first two are.
//
// ctx ends when the time is up, when the worker stops or its session is lost, and when all jobs of the call were cancelled or replaced. A job that was
// cancelled ends as cancelled, whatever the handler returns. [JobFrom] of ctx is nil.
func (w *Worker) HandleMany(name string, many Many, handler ManyHandler, options ...HandlerOption) {
	if err := many.validate(); err != nil {
		panic(fmt.Sprintf("chime: HandleMany %q: %v", name, err))
	}
	w.register("HandleMany", name, &registration{many: &many, manyHandler: handler}, handler == nil, options)
}

// UseMany wraps every ManyHandler in middleware, as [Worker.Use] wraps every Handler. Use does not wrap ManyHandlers.
func (w *Worker) UseMany(middleware ...func(ManyHandler) ManyHandler) {
	addMiddleware(w, "UseMany", &w.manyMiddleware, middleware)
}

// ofWorker returns the registration for the engine, with the middleware.
func (r *registration) ofWorker(middleware []func(ManyHandler) ManyHandler) *work.Many {
	run := r.manyHandler
	for i := len(middleware) - 1; i >= 0; i-- {
		run = middleware[i](run)
	}
	m := r.many
	return &work.Many{
		Size: m.Size, Bytes: cmp.Or(m.Bytes, defaultManyBytes), Wait: m.Wait, ByGroup: m.ByGroup, Together: m.Together,
		Run: func(ctx context.Context, taken []work.Job) (each map[string]error, all error) {
			jobs := make([]*Job, len(taken))
			for i := range taken {
				jobs[i] = handedJob(&taken[i])
			}
			err := run(ctx, jobs)
			return outcomesOf(err, taken)
		},
	}
}

// A partly is the error of a ManyHandler that did not get some jobs of its call: these have errors of their own, and err concerns the others.
type partly struct {
	left Each
	err  error // nil: none
}

func (p *partly) Error() string {
	if p.err == nil {
		return p.left.Error()
	}
	return p.err.Error()
}

func (p *partly) Unwrap() error { return p.err }

// named returns the errors of all jobs of the call if err is nil: the handler has returned nil, so it has finished the jobs that it got, also if ctx has ended.
func (p *partly) named(jobs []work.Job) Each {
	all := make(Each, len(jobs))
	for i := range jobs {
		all[jobs[i].ID] = nil
	}
	maps.Copy(all, p.left)
	return all
}

// outcomesOf returns the errors of single jobs that the error of a ManyHandler has, and the error of all others. If each is nil, all concerns every job.
func outcomesOf(err error, jobs []work.Job) (each map[string]error, all error) {
	all = err
	for e := err; e != nil; {
		var found Each
		switch e := e.(type) {
		case Each:
			found, all = e, nil
		case *partly:
			if found = e.left; e.err == nil {
				found, all = e.named(jobs), nil
			}
		}
		if found != nil || all == nil {
			if each == nil {
				each = make(map[string]error, len(found))
			}
			maps.Copy(each, found)
		}
		single, ok := e.(interface{ Unwrap() error })
		if !ok || all == nil {
			break
		}
		e = single.Unwrap()
	}
	if each == nil {
		return nil, all
	}
	known := make(map[string]bool, len(jobs))
	for i := range jobs {
		known[jobs[i].ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(each)) {
		if !known[id] {
			return nil, fmt.Errorf("handler returned an error for job %q, which its call does not have: %v", id, err)
		}
	}
	return each, all
}
