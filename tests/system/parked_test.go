package system_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
)

// A service is a worker on the queue that both services share. It handles one job, which takes the given time.
func (w *world) service(name string, slots int, takes time.Duration, began func(job *chime.Job)) *process {
	return w.start(func(p *process) []chime.Role {
		worker := chime.NewWorker(p.store, chime.WorkerOptions{Logger: w.log, Concurrency: slots})
		worker.Handle(name, func(_ context.Context, job *chime.Job) error {
			began(job)
			w.pass(takes)
			return nil
		})
		return []chime.Role{worker}
	})
}

// Two services take jobs from one queue. If the wrong service takes a job, the job is parked. An idle worker of the right service runs it at once;
// a busy one runs it within a second after a slot is free.
func TestAParkedJobIsTakenAtOnceByAnIdleWorkerAndSoonByABusyOne(t *testing.T) {
	for name, c := range map[string]struct {
		slots        int
		takes, limit time.Duration
	}{
		"idle": {20, 0, 20 * time.Millisecond},
		"busy": {2, 300 * time.Millisecond, 1400 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				var mu sync.Mutex
				began := map[string]time.Time{}
				note := func(job *chime.Job) {
					mu.Lock()
					began[job.ID] = time.Now()
					mu.Unlock()
				}
				processes := []*process{w.service("mail", 20, 0, note)}
				w.pass(time.Second)
				processes = append(processes, w.service("report", c.slots, c.takes, note))
				w.pass(time.Second)
				enqueuer := chime.NewEnqueuer(processes[0].store, chime.EnqueuerOptions{Logger: w.log})
				sent := map[string]time.Time{}
				for i := range 60 {
					for _, name := range []string{"report", "mail"} {
						receipt, err := enqueuer.Enqueue(w.Context(), name, nil)
						if err != nil {
							w.Fatal(err)
						}
						sent[receipt.ID] = time.Now()
					}
					w.pass(time.Duration(170+37*(i%7)) * time.Millisecond)
				}
				w.pass(time.Minute)
				mu.Lock()
				var latest time.Duration
				for id, at := range sent {
					if began[id].IsZero() {
						w.Fatalf("%s never began", id)
					}
					latest = max(latest, began[id].Sub(at))
				}
				mu.Unlock()
				if latest > c.limit {
					w.Errorf("a job began %v after it was enqueued, want at most %v", latest, c.limit)
				}
				for _, p := range processes {
					p.end()
				}
			})
		})
	}
}

// A job written by a newer version waits for a worker of that version and dies after twice the retention, even if workers of this version handle
// jobs of that name and run those that they can read.
func TestParkedJobsOfANewerVersionGrowOld(t *testing.T) {
	inWorld(t, func(w *world) {
		store := redisstore.New(w.server.Client(), redisstore.Options{ParkedRetention: 15 * time.Minute, Logger: w.log})
		scheduler := w.start(func(p *process) []chime.Role {
			return []chime.Role{chime.NewScheduler(store, chime.SchedulerOptions{Logger: w.log})}
		})
		ran := 0
		worker := w.service("mail", 2, 0, func(*chime.Job) { ran++ })
		w.pass(time.Second)
		client := w.server.Client()
		for _, id := range []string{"newer-1", "newer-2", "newer-3"} {
			client.HSet(context.Background(), "chime:{default}:jobs", id, "\x03\x93\xa4mail\xc0\xc0")
			client.RPush(context.Background(), "chime:{default}:ready", id)
		}
		w.pass(25 * time.Minute)
		enqueuer := chime.NewEnqueuer(worker.store, chime.EnqueuerOptions{Logger: w.log})
		if _, err := enqueuer.Enqueue(w.Context(), "mail", nil); err != nil {
			w.Fatal(err)
		}
		w.pass(time.Second)
		if n := client.ZCard(context.Background(), "chime:{default}:dead").Val(); n != 0 || ran != 1 {
			w.Errorf("%d dead before twice the retention is over, %d ran; want none dead, and only the readable one run", n, ran)
		}
		w.pass(15 * time.Minute)
		if n := client.ZCard(context.Background(), "chime:{default}:dead").Val(); n != 3 {
			w.Errorf("%d dead after twice the retention, want all 3 of the newer version", n)
		}
		if mark := client.HGet(context.Background(), "chime:{default}:state", "parked").Val(); mark != "" {
			w.Errorf("the state shows parked jobs: %q", mark)
		}
		worker.end()
		scheduler.end()
	})
}
