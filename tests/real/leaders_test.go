//go:build real && unix

package real_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/childproc"
	"github.com/chimejobs/chime/internal/redistest"
)

// wantEachSecondOnce pauses the schedule "beat" of schedulerProcess, waits until nothing is left, and checks that every second from its first run
// to its last was done exactly once and none was missed.
func wantEachSecondOnce(t *testing.T, p program, client *redis.Client) {
	t.Helper()
	missed := client.HGet(t.Context(), "chime:{default}:counters", "beat/missed").Val()
	pauseBeat(t, p)
	wantEachSecondOfRuns(t, settledRuns(t, client, "done"))
	if missed != "" {
		t.Errorf("%s missed, want none", missed)
	}
}

// pauseBeat pauses the schedule "beat" of schedulerProcess, and waits until all its jobs have ended. The schedule counts them: a queue's numbers are not
// read at one instant, and miss a job that a reaper moves meanwhile from one worker to another. Delete would remove a job that waits.
func pauseBeat(t *testing.T, p program) {
	t.Helper()
	schedules := chime.NewSchedules(p.store())
	if err := schedules.Pause(t.Context(), "beat"); err != nil {
		t.Fatal(err)
	}
	until(t, "no job of the schedule is left", func() bool {
		s, err := schedules.Get(t.Context(), "beat")
		return err == nil && s.Last.Unfinished == 0
	})
}

// leaderOf returns the ID of the leader and its term.
func leaderOf(t *testing.T, client *redis.Client) (id, term string) {
	t.Helper()
	values := client.HMGet(t.Context(), "chime:leader", "id", "term").Val()
	id, _ = values[0].(string)
	term, _ = values[1].(string)
	return id, term
}

// The leader is frozen until another one leads and has placed occurrences. Then it continues as if it led. A worker is killed again and again, so
// that a leader always has something to place.
func TestALeaderThatWasFrozenDoublesNothing(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	p := program{Addr: server.Addr(), Work: 20 * time.Millisecond}
	schedulers := []*childproc.Process{childproc.Start(t, "scheduler", p), childproc.Start(t, "scheduler", p)}
	for _, scheduler := range schedulers {
		scheduler.Await("ready")
	}
	worker := childproc.Start(t, "worker", p)
	for range 2 {
		var leader *childproc.Process
		var before string // its term
		until(t, "one leads", func() bool {
			_, before = leaderOf(t, client)
			i := slices.IndexFunc(schedulers, func(p *childproc.Process) bool { return slices.Contains(p.Events(), "leads term "+before) })
			if i >= 0 {
				leader = schedulers[i]
			}
			return i >= 0
		})
		done := len(settledRuns(t, client, "done"))
		leader.Freeze()
		until(t, "another one leads", func() bool { _, term := leaderOf(t, client); return term != before })
		worker.Kill()
		worker = childproc.Start(t, "worker", p)
		until(t, "three more are done", func() bool { return len(settledRuns(t, client, "done")) >= done+3 })
		leader.Thaw()
		until(t, "two more are done", func() bool { return len(settledRuns(t, client, "done")) >= done+5 })
	}
	wantEachSecondOnce(t, p, client)
}

// The leader's lease is deleted again and again, so that each scheduler believes for some time that it leads, in the same term.
func TestTwoLeadersOfOneTermDoubleNothing(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	p := program{Addr: server.Addr(), Work: 20 * time.Millisecond}
	for range 2 {
		childproc.Start(t, "scheduler", p).Await("ready")
	}
	childproc.Start(t, "worker", p)
	leaders := map[string]map[string]bool{} // by term
	until(t, "eight are done, and two have led in one term", func() bool {
		id, term := leaderOf(t, client)
		if id != "" {
			if leaders[term] == nil {
				leaders[term] = map[string]bool{}
			}
			leaders[term][id] = true
			client.Del(t.Context(), "chime:leader")
		}
		two := false
		for _, ids := range leaders {
			two = two || len(ids) > 1
		}
		return two && len(settledRuns(t, client, "done")) >= 8
	})
	wantEachSecondOnce(t, p, client)
}
