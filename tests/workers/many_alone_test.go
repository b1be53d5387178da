package workers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// After a timeout or a panic of a call each of its jobs has failed once. From then on each has its own attempts: it is handled alone, and its own
// MaxAttempts decides when it is dead. With Together the jobs of the call are handled together again.
func TestACallThatTimesOutOrPanicsUsesOneAttemptOfEachJob(t *testing.T) {
	for _, fails := range []struct {
		name, reason string
		timedOut     bool
		fail         func(ctx context.Context) error
	}{
		{"timeout", "timed out", true, func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }},
		{"stuck", "has not returned", true, func(ctx context.Context) error { <-ctx.Done(); time.Sleep(time.Minute); return nil }}, // fake time
		{"panic", "panic: out of range", false, func(context.Context) error { panic("out of range") }},
	} {
		for _, together := range []bool{false, true} {
			t.Run(fmt.Sprint(fails.name, ", Together ", together), func(t *testing.T) {
				fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
					var log manyLog
					for max, ids := range map[int][]string{1: {"a1", "b1"}, 2: {"a2", "b2"}, 4: {"a4", "b4", "good"}} {
						e := job("work")
						e.MaxAttempts = max
						f.Enqueue("default", e, ids...)
					}
					ended := map[string]int{} // attempts, by their outcome
					w := f.Worker(chime.WorkerOptions{Concurrency: 10, Observers: []*chime.Observer{{Ended: func(events []chime.JobEvent) {
						for _, e := range events {
							ended[string(e.Outcome)]++
							if e.Outcome != chime.RunDone && (e.TimedOut != fails.timedOut || fails.timedOut && !errors.Is(e.Err, chime.ErrTimeout)) {
								t.Errorf("%s has ended with %v, timed out: %v; want a %s", e.ID, e.Err, e.TimedOut, fails.name)
							}
						}
					}}}})
					w.HandleMany("work", chime.Many{Size: 7, Wait: time.Second, Together: together}, log.handler(0, func(ctx context.Context, jobs []*chime.Job) error {
						if len(jobs) == 1 && jobs[0].ID == "good" || together && jobs[0].Attempt == 4 {
							return nil
						}
						return fails.fail(ctx)
					}), chime.Timeout(time.Minute), chime.Backoff(func(int) time.Duration { return 10 * time.Minute }))
					stop := fixture.Start(w)
					fixture.Pass(2 * time.Hour)
					if err := stop(); err != nil {
						t.Error(err)
					}
					attempts := map[string]int{}
					var shared []string
					for _, jobs := range log.calls {
						for _, job := range jobs {
							attempts[job.ID]++
							if job.Attempt != attempts[job.ID] || job.Crashes != 0 || job.Attempt > job.MaxAttempts {
								t.Errorf("call %d of %s has attempt %d of %d with %d crashes", attempts[job.ID], job.ID, job.Attempt, job.MaxAttempts, job.Crashes)
							}
							if job.Attempt > 1 && !strings.Contains(job.LastError, fails.reason) {
								t.Errorf("%s has failed with %q, want %q in it", job.ID, job.LastError, fails.reason)
							}
						}
						if len(jobs) > 1 {
							shared = append(shared, idsOf(jobs))
						}
					}
					want := map[string]int{"a1": 1, "b1": 1, "a2": 2, "b2": 2, "a4": 4, "b4": 4, "good": 2}
					calls, dead := []string{"a2 a4 b2 b4 good"}, []string{"a1", "a2", "a4", "b1", "b2", "b4"}
					if together { // also the last attempt is shared
						want["good"], dead = 4, []string{"a1", "a2", "b1", "b2"}
						calls = []string{"a1 a2 a4 b1 b2 b4 good", "a2 a4 b2 b4 good", "a4 b4 good", "a4 b4 good"}
					}
					for id, n := range want {
						if attempts[id] != n {
							t.Errorf("%s had %d attempts, want %d", id, attempts[id], n)
						}
					}
					if !slices.Equal(shared, calls) {
						t.Errorf("calls of several jobs: %q, want %q", shared, calls)
					}
					var died []string
					for job, err := range chime.NewJobs(f.Server.Store()).List(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead}) {
						if err != nil {
							t.Fatal(err)
						}
						died = append(died, job.ID)
					}
					if slices.Sort(died); !slices.Equal(died, dead) || ended["done"] != 7-len(dead) || ended["dead"] != len(dead) {
						t.Errorf("dead are %q, and the attempts ended as %v; want %q dead", died, ended, dead)
					}
					f.CheckEmpty()
				})
			})
		}
	}
}
