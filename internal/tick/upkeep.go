package tick

import (
	"context"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/batch"
	"github.com/chimejobs/chime/internal/carry"
	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/reap"
	"github.com/chimejobs/chime/internal/retry"
)

const (
	queuesEvery   = 30 * time.Second // between two choices of the watched partitions; if they are not all partitions, each poll makes a new choice
	maxPlaceTurns = 20               // consecutive searches before other duties have their turn
)

// An upkeep is the common part of a Ticker and a Watch: it knows the watched partitions, and the actions for them. A Ticker and a Watch decide
// when. An action that other processes also take has an effect once, because the store compares before it writes.
type upkeep struct {
	store    protocol.Store
	log      *slog.Logger
	id       string // its name in polls
	outage   retry.Outage
	placer   placer
	reaper   *reap.Reaper
	sweeper  *reap.Sweeper
	carrier  *carry.Carrier
	batches  *batch.Reporter
	repairer repairer
	rezoner  rezoner
	sampler  sampler
	unserved unserved

	round      round
	sweepRound round                // of sweeping, which has turns of its own if the watched partitions are not all
	partitions []protocol.Partition // the watched partitions
	listed     time.Time            // when these were chosen
	scheduled  bool                 // schedules exist or existed; before that, nothing is owed
}

// newUpkeep returns the upkeep of a role, which always watches its own queues.
func newUpkeep(store protocol.Store, log *slog.Logger, role string, sessionTTL time.Duration, observer observe.Observer, own []string) upkeep {
	carrier := carry.New(store, log)
	batches := batch.NewReporter(store, carrier.Note, log)
	return upkeep{
		store: store, log: log, id: protocol.NewCandidate(),
		outage:   retry.Outage{Log: log, Role: role, Trouble: observer.Trouble},
		placer:   placer{store: store, log: log, observer: observer},
		reaper:   reap.New(store, sessionTTL, log),
		sweeper:  reap.NewSweeper(store, burier{log: log}.bury, carrier.Note, batches.Note),
		carrier:  carrier,
		batches:  batches,
		repairer: repairer{store: store, log: log},
		rezoner:  rezoner{store: store, log: log},
		sampler:  sampler{store: store},
		unserved: unserved{store: store, log: log},
		round:    round{store: store, own: own}, sweepRound: round{store: store, own: own},
	}
}

// turn does the duties that are due and returns how long to wait for the next one, at most a nap.
func (u *upkeep) turn(ctx context.Context, duties []*retry.Duty, pulse *observe.Pulse, nap time.Duration) time.Duration {
	for _, d := range duties {
		pulse.Wait(retry.DutyTimeout)
		d.Turn(ctx, &u.outage)
	}
	for _, d := range duties {
		nap = min(nap, time.Until(d.Next))
	}
	return max(nap, 0)
}

// readQueues chooses the partitions to watch from now on. It reports whether it has found the first schedule.
func (u *upkeep) readQueues(ctx context.Context) (first bool, err error) {
	partitions, err := u.round.next(ctx)
	if err != nil {
		return false, err
	}
	if !u.scheduled {
		names, _, err := u.store.Names(ctx, protocol.NameRange{Max: 1})
		if err != nil {
			return false, err
		}
		first = len(names) > 0
		u.scheduled = first
	}
	u.partitions, u.listed = partitions, time.Now()
	return first, nil
}

// refreshQueues is readQueues if the last choice is old or was not of all partitions.
func (u *upkeep) refreshQueues(ctx context.Context) (first bool, err error) {
	if u.scheduled && u.partitions != nil && u.round.whole && !retry.Reached(u.listed.Add(queuesEvery), time.Now()) {
		return false, nil
	}
	return u.readQueues(ctx)
}

// placeOwed places what has been owed for a second, and reports whether more may be left.
func (u *upkeep) placeOwed(ctx context.Context) (more bool, err error) {
	for range maxPlaceTurns {
		owed, err := u.store.Owed(ctx, u.partitions)
		u.placer.logLate(owed)
		settled, failed := u.placer.place(ctx, owed)
		if err == nil {
			err = failed
		}
		if err != nil || settled == 0 {
			return false, err
		}
	}
	return true, nil
}

// compareZones takes a step of the rezoner and places what it has withdrawn. It reports whether more is left of its round.
func (u *upkeep) compareZones(ctx context.Context) (more bool, err error) {
	owed, more, err := u.rezoner.step(ctx, u.partitions)
	if len(owed) > 0 {
		if _, failed := u.placer.place(ctx, owed); err == nil {
			err = failed
		}
	}
	return more, err
}

// poll finds lapsed sessions in partitions, and returns an answer for each.
func (u *upkeep) poll(ctx context.Context, partitions []protocol.Partition) (answers []protocol.PollAnswer, failed error) {
	calls := make([]protocol.PollCall, 0, len(partitions))
	for _, partition := range partitions {
		calls = append(calls, protocol.PollCall{Partition: partition, Worker: u.id, Lapses: true})
	}
	answers = u.store.Poll(ctx, calls)
	now := time.Now()
	for i, answer := range answers {
		if answer.Err != nil {
			failed = answer.Err
			continue
		}
		u.reaper.Note(partitions[i], answer.Lapsed, now)
		if answer.Owes {
			u.carrier.Note(partitions[i])
		}
		u.batches.Note(partitions[i], answer.Reports, answer.Batches)
	}
	return answers, failed
}

// sweep removes old data, from some partitions at a time, so that the other duties have their turns: with very many partitions a round takes
// long, and the lease has to be renewed meanwhile. A role that does not lead sometimes sweeps partitions that nobody has swept. After each round it searches for
// batches that others have left.
func (u *upkeep) sweep(ctx context.Context, leads bool) (time.Duration, error) {
	partitions := u.partitions
	if !u.round.whole && !u.sweeper.Begun() {
		var err error
		if partitions, err = u.sweepRound.next(ctx); err != nil {
			return 0, err
		}
	}
	wait, err := u.sweeper.Step(ctx, partitions, leads)
	if !u.sweeper.Begun() {
		u.batches.Look()
	}
	return wait, err
}
