package chime

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

const (
	leaderTick = 4 * time.Second  // between the leader's looks for schedules that nobody placed
	leaderLook = 10 * time.Second // between its looks for lapsed sessions
	newQueues  = 30 * time.Second // between its looks for queues that it does not know
	sweepEvery = 5 * time.Minute  // between two rounds of trimming
	sweepAgain = time.Minute      // after one that left something
	sweepSteps = 20               // of a partition in a round
	placeTurns = 20               // so often are they listed before other duties have their turn
	lagToTell  = time.Minute      // a schedule that was owed for longer is told
	warnAfter  = 10 * time.Second // from the start until workers that handle a schedule's job are missed
	handOver   = 5 * time.Second  // how long the end of Run waits for the store
	longestNap = time.Second      // a machine may have slept meanwhile
)

// A ticker is the loop of a scheduler. It declares, and then looks again and again for what no worker has placed: every four
// seconds while it leads, about every thirty while it does not. What it does twice, or two of them do at once, the store's
// compares make once; so it does not matter whether it still leads when it does it.
//
// It never sleeps for more than a second at a time: timers stand still while a machine does.
type ticker struct {
	store      protocol.Store
	options    SchedulerOptions
	log        *slog.Logger
	election   election
	registrar  registrar
	reaper     *reaper
	plans      schedule.Plans
	trouble    trouble
	told       reminders
	partitions []protocol.Partition
	listed     time.Time          // when these were
	needed     []protocol.Handled // jobs of the declared schedules
	scheduled  bool               // there are schedules, or were: nothing is owed before
	warned     map[protocol.Handled]bool

	declaring, leading, placing, looking, sweeping, warning duty
}

func newTicker(s *Scheduler) *ticker {
	t := &ticker{
		store: s.store, options: s.options, log: s.options.Logger,
		election:  election{store: s.store, id: newID(), ttl: s.options.LeaderTTL, log: s.options.Logger},
		registrar: registrar{store: s.store, log: s.options.Logger, declared: s.declared, removed: s.removed},
		reaper:    newReaper(s.store, DefaultSessionTTL, s.options.Logger, nil),
		trouble:   trouble{log: s.options.Logger},
		needed:    s.needed(),
		scheduled: len(s.declared) > 0,
	}
	t.registrar.begin()
	t.declaring = duty{act: "declare", do: t.declare}
	t.leading = duty{act: "lead", do: t.lead}
	t.placing = duty{act: "place", do: t.placeOwed}
	t.looking = duty{act: "look", do: t.look}
	t.sweeping = duty{act: "sweep", do: t.sweep}
	t.warning = duty{act: "look for handlers", do: t.warn, next: time.Now().Add(warnAfter)}
	return t
}

// run ends when ctx does, with the lease handed back.
func (t *ticker) run(ctx context.Context) {
	line := t.store.Listen(t.election.id)
	defer line.Close()
	ctx, stop := context.WithCancel(ctx)
	var reaping sync.WaitGroup
	reaping.Go(func() { t.reaper.run(ctx) })
	defer reaping.Wait()
	defer stop()
	defer t.handOver()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case signal := <-line.Signals():
			if !signal.Elect && !signal.Connected {
				continue
			}
			t.leading.now()
			if signal.Connected { // the store was away, or this is the beginning
				t.placing.now()
				t.declaring.retry()
			}
		case <-timer.C:
		}
		timer.Reset(t.turn(ctx))
	}
}

// handOver gives the lease back, so that another scheduler leads at once.
func (t *ticker) handOver() {
	ctx, cancel := context.WithTimeout(context.Background(), handOver)
	defer cancel()
	if err := t.election.abdicate(ctx); err != nil {
		t.log.Warn("chime: could not hand the lead over; it lapses by itself", "after", t.options.LeaderTTL, "error", err)
	}
}

// turn does what is to be done now and returns how long to wait.
func (t *ticker) turn(ctx context.Context) time.Duration {
	duties := []*duty{&t.declaring, &t.leading, &t.placing, &t.looking, &t.sweeping, &t.warning}
	for _, d := range duties {
		d.turn(ctx, &t.trouble)
	}
	wait := longestNap
	for _, d := range duties {
		wait = min(wait, time.Until(d.next))
	}
	return max(wait, 0)
}

// pace is how long to wait between two looks: the leader so long, others about a safety tick.
func (t *ticker) pace(leader time.Duration) time.Duration {
	if t.election.leading() {
		return leader
	}
	return t.options.SafetyTick/2 + rand.N(t.options.SafetyTick)
}

// declare writes some more of what the program declared and places the first occurrences.
func (t *ticker) declare(ctx context.Context) (time.Duration, error) {
	var failed error
	more, err := t.registrar.step(ctx, func(owed []protocol.Owed) {
		if _, problem := t.place(ctx, owed); problem != nil {
			failed = problem
		}
	})
	if err == nil && failed != nil {
		t.placing.now() // it is owed now, which its turn will see
	}
	if more {
		return 0, err
	}
	return never, err
}

// lead keeps or seeks the lease. Whoever begins to lead looks at everything at once. A store of another epoch has lost the
// schedules: they are declared again.
func (t *ticker) lead(ctx context.Context) (time.Duration, error) {
	led, epoch := t.election.leading(), t.election.epoch
	again, err := t.election.run(ctx)
	if !led && t.election.leading() {
		t.placing.now()
		t.looking.now()
		t.sweeping.now()
	}
	if epoch != "" && epoch != t.election.epoch {
		t.log.Warn("chime: the store has lost what it held: declaring the schedules again")
		t.partitions = nil
		t.registrar.begin()
		t.declaring.now()
	}
	return again, err
}

// placeOwed places what has been owed for a second, until nothing is.
func (t *ticker) placeOwed(ctx context.Context) (time.Duration, error) {
	if !t.election.leading() || t.scheduled && t.partitions == nil {
		if err := t.readQueues(ctx); err != nil {
			return 0, err
		}
	}
	if !t.scheduled {
		return t.pace(leaderLook), nil
	}
	for range placeTurns {
		owed, err := t.store.Owed(ctx, t.partitions)
		t.tellLag(owed)
		settled, failed := t.place(ctx, owed)
		if err == nil {
			err = failed
		}
		if err != nil || settled == 0 {
			return t.pace(leaderTick), err
		}
	}
	return 0, nil
}

// tellLag warns of schedules that have been waiting for longer than the ticker of any scheduler would let them.
func (t *ticker) tellLag(owed []protocol.Owed) {
	for i := range owed {
		if lag := owed[i].Now.Sub(owed[i].Since); lag > lagToTell && t.told.due("\x00lag", time.Now()) {
			t.log.Warn("chime: schedules were not placed in time", "schedule", owed[i].Name, "lag", lag.Round(time.Second))
		}
	}
}

// place places what is owed and returns how many are owed no more. What cannot be computed here is told and put off, so that
// the others are not held up.
func (t *ticker) place(ctx context.Context, owed []protocol.Owed) (settled int, failed error) {
	placements := make([]protocol.Placement, 0, len(owed))
	for i := range owed {
		o := &owed[i]
		p, err := t.plans.Of(o.Name, o.Definition)
		if err == nil {
			placements = append(placements, p.Next(*o))
			continue
		}
		if t.told.due(o.Name, time.Now()) {
			t.log.Error("chime: cannot compute what follows a schedule, trying again in a minute", "schedule", o.Name, "error", err)
		}
		if err := t.store.Postpone(ctx, *o); err != nil {
			failed = err
			continue
		}
		settled++
	}
	if len(placements) == 0 {
		return settled, failed
	}
	for i, answer := range t.store.Place(ctx, placements) {
		if answer.Err != nil {
			failed = answer.Err
			continue
		}
		settled++
		if answer.Completed {
			t.log.Info("chime: schedule completed", "schedule", placements[i].Name)
		}
	}
	return settled, failed
}

func (t *ticker) readQueues(ctx context.Context) error {
	queues, err := t.store.Queues(ctx)
	if err != nil {
		return err
	}
	if !t.scheduled {
		names, next, err := t.store.Names(ctx, "")
		if err != nil {
			return err
		}
		if t.scheduled = len(names) > 0 || next != ""; t.scheduled {
			t.placing.now()
		}
	}
	t.partitions, t.listed = t.partitions[:0], time.Now()
	for queue, partitions := range queues {
		for i := range partitions {
			t.partitions = append(t.partitions, protocol.Partition{Queue: queue, Index: i})
		}
	}
	return nil
}

// look finds lapsed sessions and new queues.
func (t *ticker) look(ctx context.Context) (time.Duration, error) {
	if !t.scheduled || t.partitions == nil || reached(t.listed.Add(newQueues), time.Now()) {
		if err := t.readQueues(ctx); err != nil {
			return 0, err
		}
	}
	calls := make([]protocol.PollCall, len(t.partitions))
	for i, partition := range t.partitions {
		calls[i] = protocol.PollCall{Partition: partition, Worker: t.election.id, Lapses: true}
	}
	var failed error
	for i, answer := range t.store.Poll(ctx, calls) {
		if answer.Err != nil {
			failed = answer.Err
			continue
		}
		t.reaper.note(calls[i].Partition, answer.Lapsed, time.Now())
	}
	return t.pace(leaderLook), failed
}

// warn tells, once each, of declared schedules whose job no live worker handles: first ten seconds after the start, to give
// the workers time to come up.
func (t *ticker) warn(ctx context.Context) (time.Duration, error) {
	if len(t.needed) == 0 {
		return never, nil
	}
	missing, err := t.store.Unhandled(ctx, t.needed)
	if err != nil {
		return 0, err
	}
	unhandled := make(map[protocol.Handled]bool, len(missing))
	for _, h := range missing {
		unhandled[h] = true
		if !t.warned[h] {
			t.log.Warn("chime: no live worker handles the job of a schedule", "job", h.Name, "queue", h.Queue)
		}
	}
	t.warned = unhandled
	return announceEvery, nil
}

// sweep trims what only grows, a little of each partition at a time. It is the leader's.
func (t *ticker) sweep(ctx context.Context) (time.Duration, error) {
	if !t.election.leading() {
		return never, nil
	}
	var failed error
	left := false
	for _, partition := range slices.Clone(t.partitions) {
		more := true
		for step := 0; more && step < sweepSteps; step++ {
			var err error
			if more, err = t.store.Sweep(ctx, partition); err != nil {
				failed, more = err, false
			}
		}
		left = left || more
	}
	if left {
		return sweepAgain, failed
	}
	return sweepEvery, failed
}
