package tick

import (
	"context"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// watchSweep is the time between two rounds of sweeping of a Watch that finds no leader.
const watchSweep = 5 * time.Minute

// WatchOptions are the options of a Watch.
type WatchOptions struct {
	Log        *slog.Logger
	SafetyTick time.Duration  // it checks about this often whether there is a leader
	SessionTTL time.Duration  // of the sessions that are reaped
	Polled     map[string]int // queues whose sessions a worker of this process polls
	Observe    observe.Observer
	Pulse      *observe.Pulse
}

// A Watch is the slow safety tick of a worker. About every SafetyTick it checks whether the leader's lease was renewed. If it was not, the Watch
//
//   - places occurrences that nobody has placed, because a worker vanished after it took an occurrence and before it placed the next one;
//   - returns the jobs of vanished workers;
//   - ends pauses that are over;
//   - takes missing samples;
//   - sweeps;
//   - repairs orphaned schedules;
//   - compares waiting occurrences with its time zone data.
//
// Every few seconds it also checks the lease, and while no scheduler leads it logs queues with jobs that no worker serves.
//
// So schedules continue where workers run and no scheduler does. It has no connection of its own and never leads: an action that the leader also
// takes has an effect once.
type Watch struct {
	upkeep
	options WatchOptions
	lease   string    // the lease at the last check
	swept   time.Time // when a round of sweeping began

	placing *retry.Duty
	often   []*retry.Duty // what each check does if there is no leader
	duties  []*retry.Duty // all of these, in the order of their turns

	counting retry.Duty
	counted  string    // the lease when queues were counted last
	renewed  time.Time // when a count found that the lease was renewed
}

// NewWatch returns a watch. It does no I/O.
func NewWatch(store protocol.Store, options WatchOptions) *Watch {
	w := &Watch{upkeep: newUpkeep(store, options.Log, "worker", options.SessionTTL, options.Observe, nil), options: options}
	duty := func(action string, do func(context.Context) (time.Duration, error)) *retry.Duty {
		return &retry.Duty{Action: action, Do: do, Next: time.Now().Add(retry.Never)} // check sets the time
	}
	checking := duty("check for a leader", w.check)
	checking.Next = time.Now().Add(safetyPause(options.SafetyTick))
	w.placing = duty("place", w.place)
	w.often = []*retry.Duty{w.placing, duty("poll", w.pollAll), duty("end pauses", w.resume), duty("sample", w.sample)}
	w.duties = append(append([]*retry.Duty{checking}, w.often...),
		duty("sweep", func(ctx context.Context) (time.Duration, error) { return w.sweep(ctx, false) }), // it skips what was swept a short while ago
		duty("repair schedules", w.repair), duty("compare time zones", w.rezone))
	w.counting = retry.Duty{Action: "count the waiting jobs", Do: w.count, Next: time.Now().Add(countEvery / 2)}
	w.unserved.own = options.Polled
	return w
}

// Run works until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	var reaping sync.WaitGroup
	reaping.Go(func() { w.reaper.Run(ctx) })
	reaping.Go(func() { w.carrier.Run(ctx) })
	reaping.Go(func() { w.batches.Run(ctx) })
	defer reaping.Wait()
	defer stop()
	timer := time.NewTimer(observe.LongestNap)
	defer timer.Stop()
	defer w.options.Pulse.End()
	for {
		w.options.Pulse.Turn(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(w.turn(ctx, w.all(), w.options.Pulse, min(w.options.SafetyTick, observe.LongestNap)))
	}
}

// all returns every duty, also the one that does not depend on check.
func (w *Watch) all() []*retry.Duty {
	return append(w.duties[:len(w.duties):len(w.duties)], &w.counting)
}

// check makes all duties due if there is no leader.
func (w *Watch) check(ctx context.Context) (time.Duration, error) {
	lease, err := w.store.Lease(ctx)
	led := lease != "" && lease != w.lease // a leader renews it several times between two checks
	w.lease = lease
	if err == nil && !led {
		due := w.often
		if retry.Reached(w.swept.Add(watchSweep), time.Now()) {
			w.swept = time.Now()
			due = w.duties[1:]
		}
		for _, d := range due {
			d.Now()
		}
	}
	return safetyPause(w.options.SafetyTick), err
}

// safetyPause returns about a SafetyTick: between half of it and one and a half times as much, at random.
func safetyPause(tick time.Duration) time.Duration { return tick/2 + mathrand.N(tick) }

func (w *Watch) place(ctx context.Context) (time.Duration, error) {
	if _, err := w.readQueues(ctx); err != nil {
		return 0, err
	}
	if !w.scheduled {
		return retry.Never, nil
	}
	more, err := w.placeOwed(ctx)
	if more {
		return 0, nil
	}
	return retry.Never, err
}

// pollAll finds lapsed sessions, except in the queues whose sessions the worker polls.
func (w *Watch) pollAll(ctx context.Context) (time.Duration, error) {
	first, err := w.refreshQueues(ctx)
	if err != nil {
		return 0, err
	}
	if first {
		w.placing.Now()
	}
	var partitions []protocol.Partition
	for _, p := range w.partitions {
		if w.options.Polled[p.Queue] == 0 {
			partitions = append(partitions, p)
		}
	}
	_, err = w.poll(ctx, partitions)
	return retry.Never, err
}

// resume ends the pauses that are over.
func (w *Watch) resume(ctx context.Context) (time.Duration, error) {
	_, err := w.endPauses(ctx)
	return retry.Never, err
}

// sample takes the samples that are missing.
func (w *Watch) sample(ctx context.Context) (time.Duration, error) {
	w.sampler.until = time.Time{}
	_, err := w.sampler.step(ctx, w.partitions, unledSamples)
	return retry.Never, err
}

// repair takes the steps of one round.
func (w *Watch) repair(ctx context.Context) (time.Duration, error) {
	if !w.scheduled {
		return retry.Never, nil
	}
	more, err := w.repairer.step(ctx)
	if more {
		return watchRepairPause, err
	}
	return retry.Never, err
}

// rezone takes the steps of one comparison.
func (w *Watch) rezone(ctx context.Context) (time.Duration, error) {
	if !w.scheduled {
		return retry.Never, nil
	}
	if more, err := w.compareZones(ctx); more || err != nil {
		return 0, err
	}
	return retry.Never, nil
}

// count logs queues with jobs that no worker serves, if no scheduler leads: the time since the lease was renewed is longer than the time between
// two counts.
func (w *Watch) count(ctx context.Context) (time.Duration, error) {
	lease, err := w.store.Lease(ctx)
	if err != nil {
		return 0, err
	}
	if lease != "" && lease != w.counted {
		w.counted, w.renewed = lease, time.Now()
	}
	if !w.renewed.IsZero() && !retry.Reached(w.renewed.Add(countEvery*3/2), time.Now()) {
		return countEvery, nil
	}
	return countEvery, w.unserved.check(ctx)
}
