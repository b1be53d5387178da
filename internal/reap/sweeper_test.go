package reap

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A graveyard is a store with expired jobs; a sweep returns two of them.
type graveyard struct {
	protocol.JobStore
	expired []string
	more    bool  // the sweep has more to do
	fails   error // of a burial
	sweeps  int
}

func (g *graveyard) Sweep(_ context.Context, partitions []protocol.Partition, _ time.Duration) []protocol.SweepAnswer {
	g.sweeps++
	answer := protocol.SweepAnswer{Now: time.UnixMilli(7), More: g.more, MoreExpired: len(g.expired) > 2}
	for _, id := range g.expired[:min(2, len(g.expired))] {
		answer.Expired = append(answer.Expired, protocol.ExpiredJob{ID: id})
	}
	return []protocol.SweepAnswer{answer}
}

func (g *graveyard) Bury(_ context.Context, p protocol.Partition, burials []protocol.Burial) (int, error) {
	if g.fails != nil {
		return 0, g.fails
	}
	for _, b := range burials {
		if string(b.Follower.Body) != fmt.Sprint(b.ID, " of ", p.Queue, " at 7") {
			return 0, fmt.Errorf("%s follows the death of %s", b.Follower.Body, b.ID)
		}
		g.expired = g.expired[1:]
	}
	return len(burials), nil
}

// A round continues as long as expired jobs are moved to the dead jobs. Jobs that this program cannot read are left, and do not prolong the
// round.
func TestARoundBuriesExpiredJobs(t *testing.T) {
	lost := errors.New("connection refused")
	for name, c := range map[string]struct {
		store          graveyard
		reads          bool
		sweeps, stayed int
		err            error
	}{
		"none":                          {graveyard{}, true, 1, 0, nil},
		"some":                          {graveyard{expired: []string{"a", "b", "c", "d", "e"}}, true, 3, 0, nil},
		"some that are unreadable":      {graveyard{expired: []string{"a", "b", "c"}}, false, 1, 3, nil},
		"a burial that fails":           {graveyard{expired: []string{"a", "b", "c"}, fails: lost}, true, 1, 3, lost},
		"unreadable, and more to sweep": {graveyard{expired: []string{"a"}, more: true}, false, maxSweepSteps, 1, nil},
	} {
		store := c.store
		s := NewSweeper(&store, func(queue string, job *protocol.ExpiredJob, at time.Time) (protocol.Burial, bool) {
			return protocol.Burial{ExpiredJob: *job, Follower: &protocol.Follower{Body: fmt.Appendf(nil, "%s of %s at %d", job.ID, queue, at.UnixMilli())}}, c.reads
		}, func(protocol.Partition) {}, func(protocol.Partition, bool, bool) {})
		var err error
		for first := true; first || s.Begun(); first = false {
			_, failed := s.Step(t.Context(), []protocol.Partition{{Queue: "mail"}}, true)
			err = errors.Join(err, failed)
		}
		if store.sweeps != c.sweeps || len(store.expired) != c.stayed || !errors.Is(err, c.err) {
			t.Errorf("%s: %d sweeps, %d jobs left, %v; want %d, %d, %v", name, store.sweeps, len(store.expired), err, c.sweeps, c.stayed, c.err)
		}
	}
}
