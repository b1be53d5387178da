package chime

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	leaderTick  = 2 * time.Second // how often the leader looks for schedules that nobody placed
	lookEvery   = 5               // leader's ticks between two looks for lapsed sessions
	sweepEvery  = 30              // leader's ticks between two sweeps
	declareStep = 100             // schedules declared in one call of the store
	handOver    = 5 * time.Second // how long the end of Run waits for the store
	warnAfter   = 10 * time.Second
)

// A ticker is the loop of a scheduler. It declares, and then looks again and again for what no worker has placed: every two
// seconds while it leads, about every thirty while it does not. What it does twice, or two of them do at once, the store's
// compares make once.
type ticker struct {
	store     Store
	scheduler *Scheduler
	log       *slog.Logger
	line      Line
	election  election
	reaper    *reaper
	plans     plans
	trouble   trouble
	told      reminders

	handled []Handled // what the declared schedules need
	warnAt  time.Time
	warned  map[Handled]bool

	ticks    int
	declared bool          // the declarations are written
	pending  []Declaration // those that are not
	queues   []Partition
}

func newTicker(s *Scheduler) *ticker {
	id := newID()
	return &ticker{
		store: s.store, scheduler: s, log: s.options.Logger,
		election: election{store: s.store, id: id, ttl: s.options.LeaderTTL, log: s.options.Logger},
		reaper:   newReaper(s.store, DefaultSessionTTL, s.options.Logger, nil),
		trouble:  trouble{log: s.options.Logger},
		pending:  s.declared,
		handled:  s.needed(),
	}
}

// run ends when ctx does, with the lease handed back.
func (t *ticker) run(ctx context.Context) error {
	t.line = t.store.Listen(t.election.id)
	defer t.line.Close()
	ctx, stop := context.WithCancel(ctx)
	var reaping sync.WaitGroup
	reaping.Go(func() { t.reaper.run(ctx) })
	defer reaping.Wait()
	defer stop()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			t.handOver()
			return nil
		case signal := <-t.line.Signals():
			if !signal.Elect && !signal.Connected {
				continue
			}
			if signal.Elect {
				t.election.next = time.Time{}
			}
		case <-timer.C:
		}
		timer.Reset(t.tick(ctx))
	}
}

// handOver gives the lease back, so that another scheduler leads at once.
func (t *ticker) handOver() {
	ctx, cancel := context.WithTimeout(context.Background(), handOver)
	defer cancel()
	if err := t.election.abdicate(ctx); err != nil {
		t.log.Warn("chime: could not hand the lead over; it lapses by itself", "after", t.scheduler.options.LeaderTTL, "error", err)
	}
}

// tick does what is to be done now and returns how long to wait.
func (t *ticker) tick(ctx context.Context) time.Duration {
	if !t.declared {
		if err := t.declare(ctx); err != nil {
			t.trouble.begin("declare", "declare", err, time.Now())
			t.ticks++
			return troubleDelay(t.ticks)
		}
		t.trouble.end("declare", time.Now())
		t.ticks = 0
	}
	if err := t.election.run(ctx); err != nil {
		t.trouble.begin("lead", "lead", err, time.Now())
	} else {
		t.trouble.end("lead", time.Now())
	}
	leading := t.election.leading()
	if err := t.look(ctx, leading); err != nil {
		if ctx.Err() == nil {
			t.trouble.begin("place", "place", err, time.Now())
		}
	} else {
		t.trouble.end("place", time.Now())
	}
	t.warn(ctx)
	t.ticks++
	wait := leaderTick
	if !leading {
		wait = t.scheduler.options.SafetyTick/2 + rand.N(t.scheduler.options.SafetyTick)
	}
	return max(min(wait, time.Until(t.election.next)), time.Millisecond)
}

// look places what is owed and, less often, finds lapsed sessions and trims what only grows.
func (t *ticker) look(ctx context.Context, leading bool) error {
	if !leading || t.queues == nil || t.ticks%lookEvery == 0 {
		if err := t.readQueues(ctx); err != nil {
			return err
		}
		if err := t.restore(ctx); err != nil {
			return err
		}
		t.findLapsed(ctx)
	}
	owed, err := t.store.Owed(ctx, t.queues)
	t.place(ctx, owed)
	if leading && t.ticks%sweepEvery == 0 {
		for _, partition := range t.queues {
			for more := true; more && err == nil; {
				more, err = t.store.Sweep(ctx, partition)
			}
		}
	}
	return err
}

// warn tells, once each, of declared schedules whose job no live worker handles: first ten seconds after the start, to give
// the workers time to come up.
func (t *ticker) warn(ctx context.Context) {
	now := time.Now()
	if t.warnAt.IsZero() {
		t.warnAt = now.Add(warnAfter)
	}
	if now.Before(t.warnAt) || len(t.handled) == 0 {
		return
	}
	t.warnAt = now.Add(announceEvery)
	missing, err := t.store.Unhandled(ctx, t.handled)
	if err != nil {
		return // the store's trouble is told elsewhere
	}
	unhandled := make(map[Handled]bool, len(missing))
	for _, h := range missing {
		unhandled[h] = true
		if !t.warned[h] {
			t.log.Warn("chime: no live worker handles the job of a schedule", "job", h.Name, "queue", h.Queue)
		}
	}
	t.warned = unhandled
}

func (t *ticker) readQueues(ctx context.Context) error {
	queues, err := t.store.Queues(ctx)
	if err != nil {
		return err
	}
	t.queues = t.queues[:0]
	for queue, partitions := range queues {
		for i := range partitions {
			t.queues = append(t.queues, Partition{Queue: queue, Index: i})
		}
	}
	return nil
}

func (t *ticker) findLapsed(ctx context.Context) {
	calls := make([]LookCall, len(t.queues))
	for i, partition := range t.queues {
		calls[i] = LookCall{Partition: partition, Worker: t.election.id}
	}
	for i, answer := range t.store.Look(ctx, calls) {
		if answer.Err == nil {
			t.reaper.note(calls[i].Partition, answer.Lapsed, time.Now())
		}
	}
}

// restore declares again when the store has lost everything, as a server that was restarted empty has: then none of the
// declared names is there. A name that somebody deleted stays deleted.
func (t *ticker) restore(ctx context.Context) error {
	if len(t.scheduler.declared) == 0 || len(t.queues) > 0 {
		return nil
	}
	t.log.Warn("chime: the store has lost its queues: declaring the schedules again")
	t.pending, t.declared = t.scheduler.declared, false
	if err := t.declare(ctx); err != nil {
		return err
	}
	return t.readQueues(ctx)
}

// declare removes and writes what the program declared, and places the first occurrences.
func (t *ticker) declare(ctx context.Context) error {
	for len(t.scheduler.removed) > 0 && ctx.Err() == nil {
		if _, err := t.store.Remove(ctx, t.scheduler.removed[0]); err != nil {
			return err
		}
		t.scheduler.removed = t.scheduler.removed[1:]
	}
	for len(t.pending) > 0 && ctx.Err() == nil {
		step := t.pending[:min(declareStep, len(t.pending))]
		var failed []error
		var owed []Owed
		for i, answer := range t.store.Declare(ctx, step) {
			if answer.Err != nil {
				failed = append(failed, answer.Err)
				continue
			}
			if answer.Changed {
				t.log.Info("chime: schedule changed", "schedule", step[i].Name, "old", string(answer.Old), "new", string(answer.Stored))
			}
			if answer.Owed != nil {
				owed = append(owed, *answer.Owed)
			}
		}
		t.place(ctx, owed)
		if err := errors.Join(failed...); err != nil {
			return err
		}
		t.pending = t.pending[len(step):]
	}
	t.declared = len(t.pending) == 0
	return ctx.Err()
}

// place places what is owed. What cannot be computed here is told and put off, so that the others are not held up.
func (t *ticker) place(ctx context.Context, owed []Owed) {
	placements := make([]Placement, 0, len(owed))
	for _, o := range owed {
		p, err := t.plans.of(o.Name, o.Definition)
		if err != nil {
			if t.told.due(o.Name, time.Now()) {
				t.log.Error("chime: cannot compute what follows a schedule, trying again in a minute", "schedule", o.Name, "error", err)
			}
			if err := t.store.Postpone(ctx, o); err != nil {
				t.log.Warn("chime: cannot put a schedule off", "schedule", o.Name, "error", err)
			}
			continue
		}
		placements = append(placements, p.next(o))
	}
	if len(placements) == 0 {
		return
	}
	for i, answer := range t.store.Place(ctx, placements) {
		if answer.Err != nil {
			if t.told.due("place", time.Now()) {
				t.log.Warn("chime: cannot place, trying again", "schedule", placements[i].Name, "error", answer.Err)
			}
			continue
		}
		if answer.Completed {
			t.log.Info("chime: schedule completed", "schedule", placements[i].Name)
		}
	}
}
