package system_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
)

// recoverWithin is how long after the crash of its worker a job runs again at the latest: the session's TTL, a heartbeat and a tenth,
// and what it takes to see it.
const recoverWithin = 17 * time.Second

// A recovery is jobs that run for long on workers that crash, and when each began.
type recovery struct {
	*world
	mu    sync.Mutex
	began map[string][]time.Time // by job ID
	slow  map[string]bool        // IDs of jobs that run for an hour wherever they run
}

// inRecovery runs a test in a world with a client, whose function enqueues a job on a queue.
func inRecovery(t *testing.T, test func(r *recovery, enqueue func(queue string) string)) {
	inWorld(t, func(w *world) {
		r := &recovery{world: w, began: map[string][]time.Time{}, slow: map[string]bool{}}
		client := w.start(func(p *process) []chime.Role { return []chime.Role{p.scheduler(nil)} })
		enqueuer := chime.NewEnqueuer(client.store, chime.EnqueuerOptions{Logger: w.log})
		test(r, func(queue string) string {
			receipt, err := enqueuer.Enqueue(w.Context(), "job", nil, chime.Queue(queue))
			if err != nil {
				w.Fatal(err)
			}
			return receipt.ID
		})
		client.end()
	})
}

// worker starts a process with a worker that has this number of slots. A job's first run takes an hour, a later one no time.
func (r *recovery) worker(slots int, queues map[string]int) *process {
	return r.start(func(p *process) []chime.Role {
		worker := chime.NewWorker(p.store, chime.WorkerOptions{Logger: r.log, Concurrency: slots, Queues: queues})
		worker.Handle("job", func(ctx context.Context, job *chime.Job) error {
			r.mu.Lock()
			r.began[job.ID] = append(r.began[job.ID], time.Now())
			again := len(r.began[job.ID]) > 1
			r.mu.Unlock()
			if again {
				return nil
			}
			select {
			case <-time.After(time.Hour):
			case <-ctx.Done():
			}
			return context.Cause(ctx)
		})
		return []chime.Role{worker}
	})
}

// wantAgain checks that jobs run again, each within recoverWithin of the crash.
func (r *recovery) wantAgain(crashed time.Time, ids []string) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var last time.Duration
	missing := 0
	for _, id := range ids {
		if began := r.began[id]; len(began) > 1 {
			last = max(last, began[1].Sub(crashed))
		} else {
			missing++
		}
	}
	if missing > 0 || last > recoverWithin {
		r.Errorf("%d of %d jobs did not run again, the others up to %v after the crash; want all within %v", missing, len(ids), last, recoverWithin)
	}
}

// finish ends the processes that crashed and those that live.
func finish(crashed, live []*process) {
	for _, p := range crashed {
		p.awaitCrashed()
	}
	for _, p := range live {
		p.end()
	}
}

func TestTheJobsOfAnyNumberOfWorkersRunAgainWithin17Seconds(t *testing.T) {
	for _, n := range []int{1, 17, 40}[:long.Seeds(2, 3)] {
		t.Run(fmt.Sprint(n, " workers"), func(t *testing.T) {
			inRecovery(t, func(r *recovery, enqueue func(string) string) {
				var gone []*process
				var ids []string
				for range n {
					gone = append(gone, r.worker(1, nil))
				}
				r.pass(100 * time.Millisecond)
				for range n {
					ids = append(ids, enqueue("default"))
				}
				r.pass(5 * time.Second)
				var live []*process
				for range 2 {
					live = append(live, r.worker(50, nil))
				}
				r.pass(7 * time.Second)
				for _, p := range gone {
					p.crash()
				}
				crashed := time.Now()
				r.pass(40 * time.Second)
				r.wantAgain(crashed, ids)
				finish(gone, live)
			})
		})
	}
}

// As many run as the limit lets, all on workers that crash. Reaping gives back what they held, or none would ever run again.
func TestWhatCrashedWorkersHeldCountsNoLongerTowardsALimit(t *testing.T) {
	inRecovery(t, func(r *recovery, enqueue func(string) string) {
		gone := []*process{r.worker(3, nil), r.worker(3, nil)}
		r.pass(100 * time.Millisecond)
		if err := chime.NewQueues(gone[0].store).Limit(r.Context(), "default", chime.Limit{Running: 4}); err != nil {
			r.Fatal(err)
		}
		var ids []string
		for range 4 {
			ids = append(ids, enqueue("default"))
		}
		r.pass(5 * time.Second)
		live := r.worker(50, nil)
		r.pass(7 * time.Second)
		for _, p := range gone {
			p.crash()
		}
		crashed := time.Now()
		r.pass(40 * time.Second)
		r.wantAgain(crashed, ids)
		finish(gone, []*process{live})
	})
}

// Whoever is left sees to it: also if the worker that has seen the crash, and would reap, crashes before it does.
func TestAJobRunsAgainWithin17SecondsIfTheWorkerThatWatchedCrashesToo(t *testing.T) {
	for _, after := range []time.Duration{0, 3 * time.Second, 11 * time.Second, 13 * time.Second, 15 * time.Second} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			inRecovery(t, func(r *recovery, enqueue func(string) string) {
				first := r.worker(1, nil)
				r.pass(500 * time.Millisecond)
				ids := []string{enqueue("default")}
				r.pass(1300 * time.Millisecond)
				watches, left := r.worker(2, nil), r.worker(2, nil)
				r.pass(20*time.Second + 700*time.Millisecond)
				first.crash()
				crashed := time.Now()
				r.pass(after)
				watches.crash()
				r.pass(40*time.Second - after)
				r.wantAgain(crashed, ids)
				finish([]*process{first, watches}, []*process{left})
			})
		})
	}
}

// A worker all of whose slots are taken by long jobs watches too: here it has them until just before the jobs are to run again.
func TestAWorkerWithoutAFreeSlotWatchesTheOthers(t *testing.T) {
	for _, wait := range []time.Duration{0, 2 * time.Second, 5 * time.Second, 9 * time.Second} {
		t.Run(fmt.Sprint(wait), func(t *testing.T) {
			inWorld(t, func(w *world) {
				var mu sync.Mutex
				var again time.Duration
				var crashed time.Time
				worker := func() *process {
					return w.start(func(p *process) []chime.Role {
						worker := chime.NewWorker(p.store, chime.WorkerOptions{Logger: w.log, Concurrency: 1})
						worker.Handle("lost", func(ctx context.Context, job *chime.Job) error {
							if job.Crashes > 0 {
								mu.Lock()
								again = time.Since(crashed)
								mu.Unlock()
								return nil
							}
							<-ctx.Done()
							return context.Cause(ctx)
						})
						worker.Handle("busy", func(ctx context.Context, job *chime.Job) error {
							w.pass(wait + 30*time.Second)
							return nil
						})
						return []chime.Role{worker}
					})
				}
				first := worker()
				w.pass(time.Second)
				enqueuer := chime.NewEnqueuer(first.store, chime.EnqueuerOptions{Logger: w.log})
				enqueue := func(name string) {
					if _, err := enqueuer.Enqueue(w.Context(), name, nil); err != nil {
						w.Fatal(err)
					}
				}
				enqueue("lost")
				w.pass(time.Second)
				second := worker()
				w.pass(time.Second)
				enqueue("busy")
				w.pass(wait + 13*time.Second)
				first.crash()
				crashed = time.Now()
				// the busy one ends 17 s after the crash
				w.pass(40 * time.Second)
				if again == 0 || again > recoverWithin+100*time.Millisecond {
					w.Errorf("the job ran again %v after the crash, want at most %v: as soon as the slot was free", again, recoverWithin)
				}
				finish([]*process{first}, []*process{second})
			})
		})
	}
}

func TestAJobRunsAgainWithin17SecondsWhileAnotherQueueIsPaused(t *testing.T) {
	for _, phase := range []time.Duration{0, 3 * time.Second, 6 * time.Second, 9 * time.Second, 12 * time.Second} {
		t.Run(fmt.Sprint(phase), func(t *testing.T) {
			inRecovery(t, func(r *recovery, enqueue func(string) string) {
				queues := map[string]int{"a": 1, "b": 1}
				gone, left := r.worker(3, queues), r.worker(3, queues)
				r.pass(time.Second)
				control := chime.NewQueues(left.store)
				if err := control.Pause(r.Context(), "b"); err != nil {
					r.Fatal(err)
				}
				for range 10 {
					enqueue("b")
				}
				ids := []string{enqueue("a"), enqueue("a")}
				r.pass(20*time.Second + phase)
				gone.crash()
				crashed := time.Now()
				r.pass(40 * time.Second)
				r.mu.Lock()
				var lost []string // those that the other worker took run there
				for _, id := range ids {
					if len(r.began[id]) > 1 {
						lost = append(lost, id)
					}
				}
				r.mu.Unlock()
				r.wantAgain(crashed, lost)
				left.crash()
				finish([]*process{gone, left}, nil)
			})
		})
	}
}
