package reap

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	sweepEvery    = 5 * time.Minute  // between two rounds of the leader
	sweepFollower = 30 * time.Minute // between two rounds of any other process, plus a random part of up to the same duration
	sweepAgain    = time.Minute      // after a round that did not finish
	maxSweepSteps = 20               // of a partition in a round
)

// A Sweeper removes old data from partitions, in rounds of many steps; each step is one call. Every call that adds something also keeps the
// bounds, so it does not matter when a round comes, or which process makes it. It belongs to one goroutine.
type Sweeper struct {
	store protocol.JobStore
	bury  BuryFunc
	owes  func(protocol.Partition)
	notes func(p protocol.Partition, reports, batches bool)
	round []sweeping // of the round under way; empty: a new one begins
	left  bool       // the round did not finish a partition
}

// A BuryFunc returns how an expired job of a queue is moved to the dead jobs at an instant. False: not now, because this program cannot read the
// job that follows its death.
type BuryFunc func(queue string, job *protocol.ExpiredJob, at time.Time) (protocol.Burial, bool)

// A sweeping is a partition that a round has not finished.
type sweeping struct {
	partition protocol.Partition
	steps     int
}

// NewSweeper returns a sweeper that has not begun a round. It calls owes for each partition that has jobs for other ones, and notes for each that has counts
// of batches.
func NewSweeper(store protocol.JobStore, bury BuryFunc, owes func(protocol.Partition), notes func(p protocol.Partition, reports, batches bool)) *Sweeper {
	return &Sweeper{store: store, bury: bury, owes: owes, notes: notes}
}

// Begun reports whether a round is under way: until it has ended, Step continues with the partitions with which it began.
func (s *Sweeper) Begun() bool { return len(s.round) > 0 }

// Step takes one step of a round over partitions, and returns how long to wait for the next one; within a round that is zero. A process that does
// not lead skips partitions that were swept within the last minutes.
func (s *Sweeper) Step(ctx context.Context, partitions []protocol.Partition, leads bool) (time.Duration, error) {
	if len(s.round) == 0 {
		s.left = false
		for _, p := range partitions {
			s.round = append(s.round, sweeping{partition: p})
		}
	}
	now := s.round[:min(len(s.round), protocol.MaxSwept)]
	batch := make([]protocol.Partition, len(now))
	for i := range now {
		batch[i] = now[i].partition
	}
	unless := sweepFollower
	if leads {
		unless = 0
	}
	var failed []error
	answers := s.store.Sweep(ctx, batch, unless)
	s.round = s.round[len(now):]
	for i, answer := range answers {
		if answer.Err != nil {
			failed = append(failed, answer.Err)
			continue
		}
		buried, err := s.buryAll(ctx, now[i].partition, answer)
		if answer.Owes || buried > 0 {
			s.owes(now[i].partition)
		}
		s.notes(now[i].partition, answer.Reports || answer.Batches && buried > 0, answer.Batches)
		if err != nil {
			failed = append(failed, err)
		}
		if !answer.More && !(answer.MoreExpired && buried > 0) {
			continue
		}
		if now[i].steps++; now[i].steps < maxSweepSteps {
			s.round = append(s.round, now[i])
		} else {
			s.left = true
		}
	}
	switch {
	case len(s.round) > 0:
		return 0, errors.Join(failed...)
	case s.left:
		return sweepAgain, errors.Join(failed...)
	case leads:
		return sweepEvery, errors.Join(failed...)
	}
	return sweepFollower + rand.N(sweepFollower), errors.Join(failed...)
}

// buryAll moves the expired jobs that a partition has returned to the dead jobs, and returns how many it has moved. A job whose OnDeath this
// program cannot read is left: a later round finds it again.
func (s *Sweeper) buryAll(ctx context.Context, p protocol.Partition, answer protocol.SweepAnswer) (int, error) {
	var burials []protocol.Burial
	for i := range answer.Expired {
		if burial, ok := s.bury(p.Queue, &answer.Expired[i], answer.Now); ok {
			burials = append(burials, burial)
		}
	}
	if len(burials) == 0 {
		return 0, nil
	}
	return s.store.Bury(ctx, p, burials)
}
