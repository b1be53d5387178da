package queues_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A queue with jobs in every state is purged. Jobs of workers, schedules, and jobs added during the purge remain and run; nothing else ever runs.
func TestAPurgedQueueRunsNoneOfItsOldJobs(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(1500 * time.Millisecond)
		var r fixture.Runs
		worker := func() *chime.Worker {
			w := f.Worker(chime.WorkerOptions{Concurrency: 1})
			w.Handle("work", func(_ context.Context, job *chime.Job) error {
				r.Add(job.ID)
				switch job.ID {
				case "dies":
					return chime.Discard(errors.New("no"))
				case "fails":
					return chime.RetryAfter(2*time.Hour, errors.New("no"))
				case "runs":
					time.Sleep(time.Minute) // fake time: it runs while the queue is purged
				}
				return nil
			})
			return w
		}
		stop := f.Start(worker())
		f.Add("work", 0, "dies", "fails")
		f.Add("unhandled", 0, "parks")
		fixture.Pass(time.Minute)
		f.Add("work", 0, "runs")
		fixture.Pass(time.Second)
		schedules := chime.NewSchedules(f.Server.Store())
		if _, err := schedules.Put(t.Context(), "hourly", fixture.Minutely, chime.JobName("work")); err != nil {
			t.Fatal(err)
		}
		queues := chime.NewQueues(f.Server.Store())
		if err := queues.Pause(t.Context(), "default"); err != nil { // otherwise the worker takes all jobs ahead
			t.Fatal(err)
		}
		f.Add("work", 0, fixture.Names("waits", 1200)...)
		f.Add("work", time.Hour, fixture.Names("delayed", 3)...)
		steps := 0
		last := chime.BulkResult{}
		done, err := queues.Purge(t.Context(), "default", "default", func(so chime.BulkResult) {
			if steps == 0 {
				f.Add("work", 0, "later")
			}
			if steps++; so.Changed < last.Changed || so.Looked-last.Looked > 500 {
				t.Errorf("%+v was followed by %+v", last, so)
			}
			last = so
		})
		if err != nil || done.Changed != 1200+3+3 || done != last || steps < 4 {
			t.Errorf("purged %+v, %v, in %d steps, the last %+v; want 1206 jobs in steps of 500", done, err, steps, last)
		}
		if s := f.Stats(); s.Waiting != 1 || s.Delayed != 1 || s.Running != 1 || s.Parked != 0 || s.Dead != 0 || s.Schedules != 1 {
			t.Errorf("left %+v; want the job added later, the running job and the schedule's next occurrence", s)
		}
		if err := queues.Resume(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(3 * time.Hour)
		if err := stop(); err != nil {
			t.Error(err)
		}
		ran := 0
		for id, n := range r.N {
			if strings.HasPrefix(id, "hourly@") {
				ran++
			} else if want := map[string]int{"dies": 1, "fails": 1, "runs": 1, "later": 1}[id]; n != want {
				t.Errorf("%s ran %d times, want %d", id, n, want)
			}
		}
		if ran != 3*60 {
			t.Errorf("the schedule ran %d times in three hours, want each minute", ran)
		}
	})
}

// The caller of a purge vanishes after the first step: a sweep finishes the purge of the waiting jobs, and jobs added later run.
func TestAPurgeWhoseCallerVanishesIsFinished(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fixture.Pass(time.Second)
		f.Add("work", 0, fixture.Names("waits", 20000)...)
		ctx, cancel := context.WithCancel(t.Context())
		done, err := chime.NewQueues(f.Server.Store()).Purge(ctx, "default", "default", func(chime.BulkResult) { cancel() })
		if !errors.Is(err, context.Canceled) || done.Changed != 500 {
			t.Fatalf("purged %+v, %v; want a stop after one step", done, err)
		}
		f.Add("work", 0, "waits-19999", "later") // the first exists until the purge reaches it
		var r fixture.Runs
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("work", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); return nil })
		stop := f.Start(w)
		fixture.Pass(3 * time.Hour)
		s := f.Stats()
		found, err := chime.NewJobs(f.Server.Store()).Get(t.Context(), "default", "waits-19998")
		if !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("a purged job is %v, %v; want it gone", found, err)
		}
		f.Add("work", 0, "waits-19998")
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if r.N["later"] != 1 || r.N["waits-19998"] != 1 || s.Waiting != 0 {
			t.Errorf("ran %v, %d wait; want the job added later", r.N["later"], s.Waiting)
		}
	})
}

func TestAPurgeNeedsItsQueueNameTwice(t *testing.T) {
	for want, action := range map[string]func(q *chime.Queues) (chime.BulkResult, error){
		`again "mial"`: func(q *chime.Queues) (chime.BulkResult, error) { return q.Purge(t.Context(), "mail", "mial", nil) },
		`again is`:     func(q *chime.Queues) (chime.BulkResult, error) { return q.Purge(t.Context(), "mail", "", nil) },
		`queue "a b"`:  func(q *chime.Queues) (chime.BulkResult, error) { return q.Purge(t.Context(), "a b", "a b", nil) },
	} {
		done, err := action(chime.NewQueues(fixture.NoStore{}))
		invalid := (*chime.InvalidError)(nil)
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) || done != (chime.BulkResult{}) {
			t.Errorf("%+v, %v; want an InvalidError with %s", done, err, want)
		}
	}
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		if _, err := chime.NewQueues(f.Server.Store()).Purge(t.Context(), "none", "none", nil); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("%v, want ErrNotFound", err)
		}
		if _, err := f.Server.Store().Protocol().Partitions(t.Context(), "none"); err != nil {
			t.Fatal(err)
		}
		if done, err := chime.NewQueues(f.Server.Store()).Purge(t.Context(), "none", "none", nil); err != nil || done != (chime.BulkResult{}) {
			t.Errorf("an empty queue: %+v, %v", done, err)
		}
	})
}
