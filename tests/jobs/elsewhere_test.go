package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// The jobs of a chain are on three queues, one of which has several partitions. Each runs on its own queue, once, with the job before it.
func TestAChainThroughThreeQueues(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Partition("cdn", 4)
		w := f.Worker(chime.WorkerOptions{Queues: map[string]int{"default": 1, "cdn": 1, "notes": 1}})
		received := keepsJobs(w, "resize", "publish", "notify", "archive")
		stop := f.Start(w)
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		archive := chime.OnDone(then("archive", chime.Queue("default")))
		chain := chime.OnDone(then("publish", chime.Queue("cdn"), chime.OnDone(then("notify", chime.Queue("notes"), chime.In(time.Hour), archive))))
		const n = 40
		for i := range n {
			if _, err := e.Enqueue(t.Context(), "resize", i, chime.ID(fmt.Sprint("r", i)), chain); err != nil {
				t.Fatal(err)
			}
		}
		fixture.Pass(30 * time.Minute)
		counts := map[string]int{}
		for _, job := range *received {
			counts[job.Name+" on "+job.Queue]++
		}
		if got, want := fmt.Sprint(counts), fmt.Sprintf("map[publish on cdn:%d resize on default:%d]", n, n); got != want {
			t.Errorf("in half an hour %s have run, want %s", got, want)
		}
		fixture.Pass(time.Hour)
		if err := stop(); err != nil {
			t.Error(err)
		}
		queues := map[string]string{"resize": "default", "publish": "cdn", "notify": "notes", "archive": "default"}
		seen, parts := map[string]bool{}, map[int]bool{}
		for _, job := range *received {
			if seen[job.ID] || job.Queue != queues[job.Name] || job.Name != "resize" && (job.Prior == nil || job.Prior.Queue == job.Queue) {
				t.Errorf("%s of %s ran on %s, after %+v; want it once, on %s", job.ID, job.Name, job.Queue, job.Prior, queues[job.Name])
			}
			seen[job.ID], parts[job.Partition] = true, true
		}
		if len(seen) != 4*n || len(parts) != 4 {
			t.Errorf("%d jobs ran on %d partitions, want %d on 4", len(seen), len(parts), 4*n)
		}
		for queue := range map[string]bool{"default": true, "cdn": true, "notes": true} {
			if info, err := chime.NewQueues(f.Server.Store()).Get(t.Context(), queue); err != nil || info.Waiting+info.Delayed+info.Dead != 0 {
				t.Errorf("%s is left with %+v, %v", queue, info, err)
			}
		}
	})
}

// The item of an OnDeath has the queue of its kind, also if the dead job was parked.
func TestAnOnDeathOnTheQueueOfItsKind(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		alert := chime.Define[string]("elsewhere.alert", chime.Queue("alerts"))
		var received []*chime.Job
		works := func(passes time.Duration) {
			w := f.Worker(chime.WorkerOptions{Queues: map[string]int{"default": 1, "alerts": 1}})
			w.Handle("elsewhere.alert", func(_ context.Context, job *chime.Job) error { received = append(received, job); return nil })
			w.Handle("dies", func(context.Context, *chime.Job) error { return chime.Discard(errors.New("no")) })
			stop := f.Start(w)
			fixture.Pass(passes)
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		for _, name := range []string{"dies", "nobody"} {
			if _, err := e.Enqueue(t.Context(), name, nil, chime.ID(name), chime.OnDeath(alert.Item(name))); err != nil {
				t.Fatal(err)
			}
		}
		works(time.Hour)
		fixture.Pass(8 * 24 * time.Hour) // a job that nobody handles becomes dead
		works(time.Hour)
		if len(received) != 2 {
			t.Fatalf("%d alerts, want two", len(received))
		}
		for i, name := range []string{"dies", "nobody"} {
			if job := received[i]; job.Queue != "alerts" || job.Death == nil || job.Death.ID != name || job.Death.Queue != "default" {
				t.Errorf("%+v, want the alert of %s on alerts", job, name)
			}
		}
	})
}

// The worker vanishes after it has ended a job, before it has carried what follows. Other processes do that within seconds: those that call the partition, or
// a scheduler's poll.
func TestWhatAVanishedWorkerLeftIsCarried(t *testing.T) {
	for who, begin := range map[string]func(f *fixture.Fixture) func() error{
		"another worker": func(f *fixture.Fixture) func() error { return f.Start(f.Worker(chime.WorkerOptions{})) },
		"a scheduler": func(f *fixture.Fixture) func() error {
			return fixture.Start(chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Logger: fixture.Quiet()}))
		},
		"a worker of another queue": func(f *fixture.Fixture) func() error {
			return f.Start(f.Worker(chime.WorkerOptions{Queues: map[string]int{"other": 1}}))
		},
	} {
		t.Run(who, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := f.Hooked()
				store.SetFault(func(action string, _ protocol.Partition) (before, after error) {
					if strings.HasSuffix(action, "outbox") || action == "carry" {
						return hookstore.ErrReset, nil
					}
					return nil, nil
				})
				w := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet()})
				w.Handle("work", func(context.Context, *chime.Job) error { return nil })
				stop := f.Start(w)
				e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
				if _, err := e.Enqueue(t.Context(), "work", nil, chime.OnDone(then("next", chime.Queue("mail")))); err != nil {
					t.Fatal(err)
				}
				fixture.Pass(10 * time.Second)
				if err := stop(); err != nil {
					t.Error(err)
				}
				began := time.Now()
				end := begin(f)
				for range 200 {
					fixture.Pass(time.Second)
					if info, err := chime.NewQueues(f.Server.Store()).Get(t.Context(), "mail"); err == nil && info.Waiting == 1 {
						break
					}
				}
				if err := end(); err != nil {
					t.Error(err)
				}
				if info, err := chime.NewQueues(f.Server.Store()).Get(t.Context(), "mail"); err != nil || info.Waiting != 1 || time.Since(began) > 2*time.Minute {
					t.Errorf("after %v mail has %+v, %v; want the job within two minutes", time.Since(began), info, err)
				}
			})
		})
	}
}

// One of the first calls of a carrier fails, before or after it was executed: the job runs once.
func TestACarrierThatFailsAtEachStepAddsOnce(t *testing.T) {
	for at := range 7 {
		for _, executed := range []bool{false, true} {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store, calls := f.Hooked(), new(atomic.Int64) // lines have goroutines of their own
				store.SetFault(func(action string, _ protocol.Partition) (before, after error) {
					if !strings.HasSuffix(action, "outbox") && action != "carry" {
						return nil, nil
					}
					if calls.Add(1) != int64(at+1) {
						return nil, nil
					}
					if executed {
						return nil, hookstore.ErrReset
					}
					return hookstore.ErrReset, nil
				})
				w := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet(), Queues: map[string]int{"default": 1, "mail": 1}})
				received := keepsJobs(w, "work", "next")
				stop := f.Start(w)
				e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
				if _, err := e.Enqueue(t.Context(), "work", nil, chime.OnDone(then("next", chime.Queue("mail")))); err != nil {
					t.Fatal(err)
				}
				fixture.Pass(70 * time.Second)
				if err := stop(); err != nil {
					t.Error(err)
				}
				if len(*received) != 2 || calls.Load() < int64(at) {
					t.Errorf("call %d of %d failed: %d jobs ran, want one and the one that follows", at, calls.Load(), len(*received))
				}
			})
		}
	}
}
