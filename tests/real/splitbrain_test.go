//go:build real && unix

package real_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// A side is a master of a split brain, with the clients that reach only this master.
type side struct {
	*testing.T
	client   *redis.Client
	enqueuer *chime.Enqueuer
	store    *redisstore.Store

	mu     sync.Mutex
	fences map[string]int64 // by the ID of a job that ran on this side
}

func newSide(t *testing.T, server *redistest.Server) *side {
	s := &side{T: t, client: server.Client(&redis.Options{MaxRetries: -1}), fences: map[string]int64{}}
	s.store = redisstore.New(s.client, redisstore.Options{Logger: errorsOnly})
	s.enqueuer = chime.NewEnqueuer(s.store, chime.EnqueuerOptions{Logger: errorsOnly, SendTimeout: 5 * time.Second})
	return s
}

// enqueue enqueues jobs "<prefix>0" and so on, one by one. It returns the IDs of the accepted jobs and the last error.
func (s *side) enqueue(prefix string, n int) (accepted []string, refused error) {
	for i := range n {
		receipt, err := s.enqueuer.Enqueue(s.Context(), "beat", nil, chime.ID(fmt.Sprint(prefix, i)))
		if err != nil {
			refused = err
			continue
		}
		accepted = append(accepted, receipt.ID)
	}
	return accepted, refused
}

// work starts a worker that records its runs, until the returned function is called.
func (s *side) work() (stop func()) {
	worker := chime.NewWorker(s.store, chime.WorkerOptions{SessionTTL: quickTTL, DrainTimeout: -1, Logger: errorsOnly})
	worker.Handle("beat", func(_ context.Context, job *chime.Job) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fences[job.ID] = job.Fence
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = chime.Run(ctx, worker) // a side that refuses writes does not accept the outcomes
	}()
	return func() { cancel(); <-done }
}

func (s *side) ran(id string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fences[id]
}

func (s *side) ranAll(ids []string) bool {
	for _, id := range ids {
		if s.ran(id) == 0 {
			return false
		}
	}
	return true
}

// split starts two servers with the same jobs "common…". Both are masters: the old one was cut off, and its replica was promoted. Both have
// clients. The clock of the fences is ahead of the servers' clocks, as after a step of the clock.
func split(t *testing.T, config ...string) (losing, winning *side, common []string) {
	old := redistest.Start(t, redistest.Options{Config: append(config, "repl-diskless-sync-delay 0")})
	next := redistest.Start(t, redistest.Options{})
	follow(t, next.Client(nil), old.Addr())
	losing, winning = newSide(t, old), newSide(t, next)
	common, err := losing.enqueue("common", 20)
	if err != nil {
		t.Fatal(err)
	}
	if err := losing.client.HSet(t.Context(), "chime:{default}:state", "fence", time.Now().Add(time.Hour).UnixMicro()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := losing.client.Wait(t.Context(), 1, 20*time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	promote(t, winning.client)
	until(t, "the losing side has noticed that it has no replica", func() bool {
		info, err := losing.client.InfoMap(t.Context(), "replication").Result()
		return err == nil && info["Replication"]["connected_slaves"] == "0"
	})
	return losing, winning, common
}

// heal makes the losing side a replica of the winning one, as Sentinel does when it finds the losing side again.
func heal(t *testing.T, losing, winning *side) {
	follow(t, losing.client, winning.client.Options().Addr)
}

// This is the cost of a split brain, as in docs/reliability.md: both sides run jobs, a fence may be drawn twice, and jobs that the losing side
// accepted are lost.
func TestASplitBrainRunsJobsOnBothSidesAndLosesWhatTheLosingSideAccepted(t *testing.T) {
	losing, winning, common := split(t)
	accepted, err := losing.enqueue("lost", 20)
	if err != nil {
		t.Fatal(err)
	}
	stopLosing, stopWinning := losing.work(), winning.work()
	until(t, "both sides have run their jobs", func() bool {
		return losing.ranAll(common) && winning.ranAll(common) && losing.ranAll(accepted)
	})
	twice := 0
	for _, id := range common {
		if losing.ran(id) == winning.ran(id) {
			twice++
		}
	}
	if twice == 0 {
		t.Error("no fence was drawn on both sides: the warning in docs/reliability.md is stronger than necessary")
	}
	stopLosing()
	delayed, err := losing.enqueuer.Enqueue(t.Context(), "beat", nil, chime.In(time.Hour), chime.ID("delayed"))
	if err != nil {
		t.Fatal(err)
	}
	heal(t, losing, winning)
	for _, s := range []*side{losing, winning} {
		if s.client.HExists(t.Context(), "chime:{default}:jobs", delayed.ID).Val() {
			t.Errorf("a job that the losing side accepted still exists: the warning in docs/reliability.md is stronger than necessary")
		}
	}
	stopWinning()
}

// With min-replicas-to-write 1, the side without a replica refuses writes. So it accepts no job that could be lost, and takes no job that the other
// side runs.
func TestWithMinReplicasToWriteASplitBrainLosesNothing(t *testing.T) {
	losing, winning, common := split(t, "min-replicas-to-write 1")
	accepted, err := losing.enqueue("lost", 1)
	if len(accepted) > 0 || err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
		t.Errorf("the losing side accepted %q, %v; want NOREPLICAS", accepted, err)
	}
	stopLosing, stopWinning := losing.work(), winning.work()
	until(t, "the winning side has run all", func() bool { return winning.ranAll(common) })
	after, err := winning.enqueue("after", 20)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the winning side has run the jobs from after the split", func() bool { return winning.ranAll(after) })
	stopLosing()
	for _, id := range common {
		if losing.ran(id) != 0 {
			t.Errorf("%s ran on both sides", id)
		}
	}
	heal(t, losing, winning)
	stopWinning()
	if q := countsOf(t, winning.client, "default"); q.Done != int64(len(common)+len(after)) || q.Waiting+q.Delayed+q.Dead != 0 {
		t.Errorf("after healing: %+v; want %d done and nothing left", q, len(common)+len(after))
	}
}
