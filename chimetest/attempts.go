package chimetest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/testjob"
	"github.com/chimejobs/chime/internal/wire"
)

// attempts is a store that records which jobs its workers take and how they settle them.
//
//	taken ──► begun ──► returned ──► settled: it ended, and is recorded
//	  │                                 ▲
//	  ├─────────────────────────────────┤  missed, or dead because nobody can run it
//	  └──► forgotten                       returned, parked, or refused: it was no attempt
//
// The result of an attempt comes from its settlement. The instants at which it began and ended, to the microsecond, and the handler's note come
// from a wrapper around the handler. If a worker is hidden in a role of the test's own, all of them come from the settlement.
type attempts struct {
	protocol.Store
	moved func() // called whenever an attempt begins or ends

	mu    sync.Mutex
	open  map[attempt]*openAttempt
	later map[job]*chime.RunInfo // the last attempt of each occurrence that has another attempt
	ended []*chime.RunInfo
	plans schedule.Plans
	taken int
}

// A job is one ID on one queue.
type job struct{ queue, id string }

// An attempt is one taking of a job.
type attempt struct {
	job
	fence int64
}

// An openAttempt was taken and is not settled.
type openAttempt struct {
	info     chime.RunInfo
	begun    bool
	returned time.Time // zero: its handler has not returned
	order    int       // the order in which they were taken
}

func newAttempts(store protocol.Store, moved func()) *attempts {
	return &attempts{Store: store, moved: moved, open: make(map[attempt]*openAttempt), later: make(map[job]*chime.RunInfo)}
}

// Protocol makes attempts a chime.Store.
func (a *attempts) Protocol() protocol.Store { return a }

// Work records which jobs the answers take and the calls settle.
func (a *attempts) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	answers := a.Store.Work(ctx, calls)
	for i := range answers {
		if len(answers[i].Taken)+len(calls[i].Settle) > 0 {
			a.moved()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range answers {
		if answers[i].Err == nil {
			a.note(&calls[i], &answers[i])
		}
	}
	return answers
}

func (a *attempts) note(call *protocol.WorkCall, answer *protocol.WorkAnswer) {
	queue := call.Partition.Queue
	for i := range call.Settle {
		s := &call.Settle[i]
		which := attempt{job{queue, s.ID}, s.Fence}
		if !slices.Contains(answer.Refused, i) {
			a.settle(which, s, answer.Now)
		}
		delete(a.open, which)
	}
	for _, id := range answer.Superseded {
		a.supersede(job{queue, id}, answer.Now)
	}
	for i := range answer.Taken {
		taken := &answer.Taken[i]
		a.taken++
		open := &openAttempt{info: a.describe(taken), order: a.taken}
		open.info.Queue, open.info.Started, open.info.Worker = queue, answer.Now, call.Worker
		a.open[attempt{job{queue, taken.ID}, taken.Fence}] = open
	}
}

// describe reads the job's data.
func (a *attempts) describe(taken *protocol.TakenJob) chime.RunInfo {
	info := chime.RunInfo{ID: taken.ID, Fence: taken.Fence, Name: wire.NoName, Attempt: 1}
	name, planned, err := schedule.SplitOccurrence(taken.ID)
	info.Schedule, info.Planned = name, planned
	var message wire.Envelope
	switch {
	case err != nil:
		return info
	case len(taken.Body) > 0:
		message, err = wire.DecodeEnvelope(taken.Body)
	case len(taken.Definition) > 0:
		var plan *schedule.Plan
		if plan, err = a.plans.Of(name, taken.Definition); err == nil {
			message = plan.Job(name, planned)
		}
	}
	if err != nil || message.Name == "" {
		return info
	}
	info.Name, info.Planned, info.Attempt = message.Name, message.Planned, message.Failures+1
	if info.Schedule == "" && message.Schedule != "" {
		info.Schedule = message.Schedule
		info.Manual = !message.Follows() && strings.HasPrefix(taken.ID, message.Schedule+"#")
	}
	return info
}

// settle records how an attempt has ended.
func (a *attempts) settle(which attempt, s *protocol.Settlement, now time.Time) {
	info := chime.RunInfo{ID: s.ID, Queue: which.queue, Name: wire.NoName, Fence: s.Fence, Started: now}
	open := a.open[which]
	if open != nil {
		info = open.info
	}
	switch info.Ended = now; s.Kind {
	case protocol.SettleDone:
		info.Outcome = chime.RunDone
	case protocol.SettleDead:
		info.Outcome = chime.RunDead
	case protocol.SettleCancelled:
		info.Outcome = chime.RunCancelled
	case protocol.SettleMissed, protocol.SettleReplan:
		info.Outcome, info.Attempt = chime.RunMissed, 0
	case protocol.SettleExpired:
		info.Outcome, info.Attempt = chime.RunExpired, 0
	case protocol.SettleLater:
		if info.Outcome = chime.RunSnoozed; s.Failed {
			info.Outcome = chime.RunFailed
		}
	default: // returned or parked: no attempt has ended
		return
	}
	if s.Failed {
		if message, err := wire.DecodeEnvelope(s.Body); err == nil {
			if info.Error = message.LastError; message.Sealed != nil {
				info.Error = protocol.SealedBy(message.Sealed).Text()
			}
			if d := message.Details; d != nil && len(d.Failures) > 0 {
				info.Ended = d.Failures[len(d.Failures)-1].At
			}
		}
	}
	if s.Run != nil {
		info.Started, info.Ended = s.Run.Started, s.Run.Ended
	}
	if open != nil && open.begun {
		info.Started = open.info.Started
		if !open.returned.IsZero() {
			info.Ended, info.Note = open.returned, open.info.Note
		}
	}
	if info.Outcome == chime.RunMissed || info.Outcome == chime.RunExpired {
		info.Started = time.Time{}
	}
	if delete(a.later, which.job); s.Kind == protocol.SettleLater && info.Schedule != "" {
		a.later[which.job] = &info
	}
	a.record(info)
}

// supersede records that an occurrence with another attempt to come has ended because a newer occurrence replaces it.
func (a *attempts) supersede(which job, now time.Time) {
	info := chime.RunInfo{ID: which.id, Name: wire.NoName, Queue: which.queue}
	info.Schedule, info.Planned, _ = schedule.SplitOccurrence(which.id)
	if last := a.later[which]; last != nil {
		info.Name, info.Attempt, info.Error = last.Name, last.Attempt, last.Error
	}
	delete(a.later, which)
	info.Outcome, info.Ended = chime.RunSuperseded, now
	a.record(info)
}

// record keeps an attempt for Advance. The store's clock counts in microseconds, and so do all instants.
func (a *attempts) record(info chime.RunInfo) {
	for _, at := range []*time.Time{&info.Planned, &info.Started, &info.Ended} {
		*at = at.UTC().Truncate(time.Microsecond)
	}
	a.ended = append(a.ended, &info)
}

// take returns the attempts that have ended since the last take, in the order in which they ended.
func (a *attempts) take() []*chime.RunInfo {
	a.mu.Lock()
	defer a.mu.Unlock()
	ended := a.ended
	a.ended = nil
	slices.SortStableFunc(ended, func(x, y *chime.RunInfo) int { return x.Ended.Compare(y.Ended) })
	return ended
}

// unsettled reports whether the outcome of an attempt that ended by an instant is not yet stored, or a job was taken that has not begun.
func (a *attempts) unsettled(by time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, open := range a.open {
		if !open.begun || !open.returned.IsZero() && !open.returned.After(by) {
			return true
		}
	}
	return false
}

// running returns the attempts whose handlers have begun and have not returned.
func (a *attempts) running() []*chime.RunInfo {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []*openAttempt
	for _, open := range a.open {
		if open.begun && open.returned.IsZero() {
			all = append(all, open)
		}
	}
	slices.SortFunc(all, func(x, y *openAttempt) int { return x.order - y.order })
	runs := make([]*chime.RunInfo, len(all))
	for i, open := range all {
		info := open.info
		runs[i] = &info
	}
	return runs
}

// listenTo wraps a worker's handlers, to record when they begin and return and to count them in handling. It does not change a role of another
// kind, or one that already runs.
func (a *attempts) listenTo(role chime.Role, handling *atomic.Int64) {
	defer func() { _ = recover() }() // it already runs, or is nil: chime.Run reports that
	if worker, ok := role.(interface {
		Use(...func(chime.Handler) chime.Handler)
	}); ok {
		worker.Use(func(next chime.Handler) chime.Handler { return a.around(next, handling) })
	}
	if worker, ok := role.(interface {
		UseMany(...func(chime.ManyHandler) chime.ManyHandler)
	}); ok {
		worker.UseMany(func(next chime.ManyHandler) chime.ManyHandler { return a.aroundMany(next, handling) })
	}
}

// around is the innermost middleware of a worker.
func (a *attempts) around(next chime.Handler, handling *atomic.Int64) chime.Handler {
	return func(ctx context.Context, j *chime.Job) error {
		which := attempt{job{j.Queue, j.ID}, j.Fence}
		handling.Add(1)
		defer handling.Add(-1)
		a.begin(which, j.Started)
		defer func() { a.end(which, testjob.Note(j)) }()
		return next(ctx, j)
	}
}

// aroundMany is the innermost middleware of a worker, for handlers of several jobs.
func (a *attempts) aroundMany(next chime.ManyHandler, handling *atomic.Int64) chime.ManyHandler {
	return func(ctx context.Context, jobs []*chime.Job) error {
		handling.Add(1)
		defer handling.Add(-1)
		for _, j := range jobs {
			which := attempt{job{j.Queue, j.ID}, j.Fence}
			a.begin(which, j.Started)
			defer func() { a.end(which, testjob.Note(j)) }()
		}
		return next(ctx, jobs)
	}
}

func (a *attempts) begin(which attempt, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if open := a.open[which]; open != nil {
		open.begun, open.info.Started = true, at
	}
}

func (a *attempts) end(which attempt, note string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if open := a.open[which]; open != nil {
		open.returned, open.info.Note = time.Now(), note
	}
}
