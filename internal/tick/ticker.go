// Package tick is what a Scheduler runs: it elects a leader, writes the program's declarations, and places the occurrences that no worker has
// placed. Watch is what a worker runs in case no scheduler leads.
package tick

import (
	"context"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
	"github.com/chimejobs/chime/internal/schedule"
)

const (
	leaderTick      = 4 * time.Second  // between the leader's searches for owed schedules
	leaderPoll      = 10 * time.Second // between its polls of all partitions for lapsed sessions
	lapsePoll       = time.Second      // between its polls of partitions in which a session lapses, at least
	warnAfter       = 10 * time.Second // from the start until schedules without a worker are logged
	warnEvery       = 2 * time.Minute
	announcedWithin = 5 * time.Minute // after this time every live worker has announced again what it handles
	checkEvery      = 3 * time.Minute // between two checks of the declared schedules; up to half of it is added at random
	resignTimeout   = time.Second     // how long the end of Run waits for the store
	maxNap          = time.Second     // timers stop while a machine sleeps
)

// Options of a Ticker.
type Options struct {
	Log        *slog.Logger
	LeaderTTL  time.Duration
	SafetyTick time.Duration // a ticker that does not lead searches for owed schedules about this often
	SessionTTL time.Duration // of the sessions that are reaped
	Declared   []protocol.Declaration
	Removed    []string       // names of schedules to delete
	Owner      protocol.Owner // of the declared schedules; version 0: no owner
	Prune      bool           // delete what a lower version of the owner has declared
	Observe    observe.Observer
	Pulse      *observe.Pulse
}

// A Ticker is the loop of a scheduler. It writes the declarations. Then it searches again and again for occurrences that no worker has placed:
// every four seconds while it leads, about every SafetyTick while it does not. An action that it takes twice, or that two tickers take at the
// same time, has an effect once, because the store compares before it writes. So it need not be certain that it still leads.
type Ticker struct {
	upkeep
	options    Options
	election   election
	reconciler reconciler

	lapses    map[protocol.Partition]time.Time // when the next session of a partition lapses
	pollAllAt time.Time
	needed    []protocol.Handled
	warned    map[protocol.Handled]bool
	emptied   time.Time // when the ticker found that the store has lost its data

	declaring, checking, leading, placing, polling, sampling, sweeping, repairing, rezoning, warning, counting, resuming retry.Duty
	duties                                                                                                               []*retry.Duty // in the order of their turns
}

// New returns a ticker. It does no I/O.
func New(store protocol.Store, options Options) *Ticker {
	needed := jobsOf(options.Declared)
	t := &Ticker{
		upkeep:     newUpkeep(store, options.Log, "scheduler", options.SessionTTL, options.Observe, queuesOf(needed)),
		options:    options,
		reconciler: newReconciler(store, options),
		needed:     needed,
	}
	t.election = election{store: store, id: t.id, ttl: options.LeaderTTL, log: options.Log, report: options.Observe.Elected}
	t.scheduled = len(options.Declared) > 0
	t.declaring = retry.Duty{Action: "declare", Do: t.declare}
	t.checking = retry.Duty{Action: "check the schedules", Do: t.check, Next: time.Now().Add(checkPause())}
	t.leading = retry.Duty{Action: "lead", Do: t.lead}
	t.placing = retry.Duty{Action: "place", Do: t.place}
	t.polling = retry.Duty{Action: "poll", Do: t.pollDue}
	t.sampling = retry.Duty{Action: "sample", Do: t.sample}
	t.sweeping = retry.Duty{Action: "sweep", Do: func(ctx context.Context) (time.Duration, error) { return t.sweep(ctx, t.election.leading()) }}
	t.repairing = retry.Duty{Action: "repair schedules", Do: t.repair}
	t.rezoning = retry.Duty{Action: "compare time zones", Do: t.rezone}
	t.warning = retry.Duty{Action: "check for handlers", Do: t.warn, Next: time.Now().Add(warnAfter)}
	t.counting = retry.Duty{Action: "count the waiting jobs", Do: t.count, Next: time.Now().Add(countEvery)}
	t.resuming = retry.Duty{Action: "end pauses", Do: t.resume}
	t.duties = []*retry.Duty{&t.declaring, &t.checking, &t.leading, &t.placing, &t.polling, &t.resuming, &t.sampling, &t.sweeping, &t.repairing, &t.rezoning, &t.warning, &t.counting}
	return t
}

// jobsOf lists the jobs of schedules, each once.
func jobsOf(declared []protocol.Declaration) []protocol.Handled {
	seen := map[protocol.Handled]bool{}
	var all []protocol.Handled
	for _, d := range declared {
		h := protocol.Handled{Queue: d.Queue, Name: schedule.JobNameOf(d.Body)}
		if !seen[h] {
			seen[h] = true
			all = append(all, h)
		}
	}
	return all
}

// queuesOf returns the queues of jobs.
func queuesOf(jobs []protocol.Handled) []string {
	var queues []string
	for _, job := range jobs {
		queues = append(queues, job.Queue)
	}
	slices.Sort(queues)
	return slices.Compact(queues)
}

// Run waits until the store can be trusted with jobs, works until ctx ends, and returns the lease. It returns an error only if waiting cannot
// help.
func (t *Ticker) Run(ctx context.Context) error {
	err := retry.WaitFit(ctx, t.store, &t.outage)
	if err == nil {
		err = retry.Until(ctx, &t.outage, "check", func(ctx context.Context) error {
			return t.store.CheckUse(ctx, protocol.UseSchedule, queuesOf(t.needed))
		})
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	t.loop(ctx)
	return nil
}

func (t *Ticker) loop(ctx context.Context) {
	listener := t.store.Listen(t.id)
	defer listener.Close()
	ctx, stop := context.WithCancel(ctx)
	var reaping sync.WaitGroup
	reaping.Go(func() { t.reaper.Run(ctx) })
	reaping.Go(func() { t.carrier.Run(ctx) })
	reaping.Go(func() { t.batches.Run(ctx) })
	defer reaping.Wait()
	defer stop()
	defer t.resign()

	timer := time.NewTimer(0)
	defer timer.Stop()
	defer t.options.Pulse.End()
	for {
		t.options.Pulse.Turn(time.Now())
		select {
		case <-ctx.Done():
			return
		case signal := <-listener.Signals():
			if !signal.Elect && !signal.Connected {
				continue
			}
			t.leading.Now()
			if signal.Connected { // the store was unavailable, or Run has just begun
				t.placing.Now()
				for _, d := range t.duties {
					d.Retry()
				}
				t.checking.Now()
			}
		case <-timer.C:
		}
		timer.Reset(t.turn(ctx, t.duties, t.options.Pulse, maxNap))
	}
}

// resign returns the lease, so that another scheduler leads at once.
func (t *Ticker) resign() {
	ctx, cancel := context.WithTimeout(context.Background(), resignTimeout)
	defer cancel()
	if err := t.election.resign(ctx); err != nil {
		t.log.Warn("chime: could not return the lease; it will lapse", "event", "leader.handover_failed",
			"after_ms", t.options.LeaderTTL.Milliseconds(), "error", err)
	}
}

// pace returns how long to wait between two searches: for the leader the given time, for others about a SafetyTick.
func (t *Ticker) pace(leader time.Duration) time.Duration {
	if t.election.leading() {
		return leader
	}
	return safetyPause(t.options.SafetyTick)
}

// declare writes the next declarations of the program and places their first occurrences.
func (t *Ticker) declare(ctx context.Context) (time.Duration, error) {
	var failed error
	more, err := t.reconciler.step(ctx, func(owed []protocol.Owed) {
		if _, problem := t.placer.place(ctx, owed); problem != nil {
			failed = problem
		}
	})
	if err == nil && failed != nil {
		t.placing.Now() // the next turn places what is owed now
	}
	if more {
		return 0, err
	}
	return retry.Never, err
}

// check marks what the store has lost, so that it is declared again.
func (t *Ticker) check(ctx context.Context) (time.Duration, error) {
	lost, err := t.reconciler.check(ctx)
	if lost > 0 {
		t.log.Warn("chime: the store has lost schedules that this program declared: declaring them again", "event", "schedule.lost", "count", lost)
		t.declaring.Now()
	}
	return checkPause(), err
}

func checkPause() time.Duration { return checkEvery + mathrand.N(checkEvery/2) }

// lead takes the lease or keeps it. A ticker that begins to lead searches everything at once. A store with another epoch has lost the schedules,
// so the ticker checks at once which of them to declare again.
func (t *Ticker) lead(ctx context.Context) (time.Duration, error) {
	led, epoch := t.election.leading(), t.election.epoch
	again, err := t.election.run(ctx)
	if !led && t.election.leading() {
		t.placing.Now()
		t.pollAllAt = time.Time{}
		t.polling.Now()
		t.resuming.Now()
		t.sampling.Now()
		t.sweeping.Now()
		t.repairing.Now()
		t.rezoning.Now()
	}
	if epoch != "" && epoch != t.election.epoch {
		t.emptied = time.Now()
		t.log.Warn("chime: the store has lost its data", "event", "store.emptied")
		t.partitions = nil
		t.checking.Now()
		t.warning.Next = time.Now().Add(warnEvery + warnAfter) // by that time the workers have announced again what they handle
	}
	return again, err
}

// place places what has been owed for a second, until nothing is left.
func (t *Ticker) place(ctx context.Context) (time.Duration, error) {
	if !t.election.leading() || t.scheduled && t.partitions == nil {
		if _, err := t.readQueues(ctx); err != nil {
			return 0, err
		}
	}
	if !t.scheduled {
		return t.pace(leaderPoll), nil
	}
	more, err := t.placeOwed(ctx)
	if more {
		return 0, nil
	}
	return t.pace(leaderTick), err
}

// pollDue finds lapsed sessions and new queues. It polls all partitions at intervals, and a partition in which a session lapses as soon as it
// does.
func (t *Ticker) pollDue(ctx context.Context) (time.Duration, error) {
	now := time.Now()
	partitions := t.lapsing(now)
	if t.partitions == nil || retry.Reached(t.pollAllAt, now) {
		first, err := t.refreshQueues(ctx)
		if err != nil {
			return 0, err
		}
		if first {
			t.placing.Now()
		}
		partitions = t.partitions
		t.pollAllAt = now.Add(t.pace(leaderPoll))
		t.lapses = make(map[protocol.Partition]time.Time)
	}
	answers, failed := t.poll(ctx, partitions)
	now = time.Now()
	for i, answer := range answers {
		delete(t.lapses, partitions[i])
		if ahead := answer.Lapse.Sub(answer.Now); answer.Err == nil && ahead > 0 && t.election.leading() {
			t.lapses[partitions[i]] = now.Add(ahead)
		}
	}
	next := t.pollAllAt
	for _, at := range t.lapses {
		if at.Before(next) {
			next = at
		}
	}
	return max(next.Sub(now), lapsePoll), failed
}

// resume ends the pauses that are over. The leader also does so at the time of the next end.
func (t *Ticker) resume(ctx context.Context) (time.Duration, error) {
	next, err := t.endPauses(ctx)
	pause := t.pace(pausesEvery)
	if next >= 0 && t.election.leading() {
		pause = min(pause, next)
	}
	return pause, err
}

// lapsing returns the partitions in which a session lapses now.
func (t *Ticker) lapsing(now time.Time) (partitions []protocol.Partition) {
	for partition, at := range t.lapses {
		if retry.Reached(at, now) {
			partitions = append(partitions, partition)
		}
	}
	return partitions
}

// warn logs, once each, declared schedules whose job no live worker handles. It begins ten seconds after the start, to give the workers time to
// start.
func (t *Ticker) warn(ctx context.Context) (time.Duration, error) {
	if len(t.needed) == 0 {
		return retry.Never, nil
	}
	missing, err := t.store.Unhandled(ctx, t.needed)
	if err != nil {
		return 0, err
	}
	if len(missing) > 0 { // or the store has lost what the workers have announced: they announce it again within announcedWithin
		epoch := t.election.epoch
		if _, err := t.lead(ctx); err != nil {
			return 0, err
		}
		if epoch != t.election.epoch || !retry.Reached(t.emptied.Add(announcedWithin), time.Now()) {
			return announcedWithin, nil
		}
	}
	unhandled := make(map[protocol.Handled]bool, len(missing))
	for _, h := range missing {
		unhandled[h] = true
		if !t.warned[h] {
			t.log.Warn("chime: no live worker handles the job of a schedule", "event", "schedule.unhandled", "job", h.Name, "queue", h.Queue)
		}
	}
	t.warned = unhandled
	return warnEvery, nil
}

// sample takes the samples of each minute that are due, if this ticker leads.
func (t *Ticker) sample(ctx context.Context) (time.Duration, error) {
	if !t.election.leading() {
		t.sampler.until = time.Time{}
		return retry.Never, nil // lead sets the time
	}
	return t.sampler.step(ctx, t.partitions, 1)
}

// repair repairs orphaned schedules, if this ticker leads.
func (t *Ticker) repair(ctx context.Context) (time.Duration, error) {
	if !t.scheduled || !t.election.leading() {
		return t.pace(repairEvery), nil
	}
	more, err := t.repairer.step(ctx)
	if more {
		return repairPause, err
	}
	return max(time.Until(t.repairer.began.Add(repairEvery)), repairPause), err
}

// rezone compares waiting occurrences with the time zone data here, if this ticker leads.
func (t *Ticker) rezone(ctx context.Context) (time.Duration, error) {
	if !t.scheduled || !t.election.leading() {
		return t.pace(zonesEvery), nil
	}
	if more, err := t.compareZones(ctx); more || err != nil {
		return 0, err
	}
	return zonesEvery, nil
}

// count logs queues with jobs that no worker serves, if this ticker leads.
func (t *Ticker) count(ctx context.Context) (time.Duration, error) {
	if !t.election.leading() {
		return countEvery, nil
	}
	return countEvery, t.unserved.check(ctx)
}
