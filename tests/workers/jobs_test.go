package workers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestEveryJobRunsOnce(t *testing.T) {
	for _, work := range []time.Duration{0, 50 * time.Microsecond, 20 * time.Millisecond} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			var r fixture.Runs
			var stops []func() error
			for range 3 {
				w := f.Worker(chime.WorkerOptions{Concurrency: 5})
				w.Handle("work", func(_ context.Context, job *chime.Job) error {
					time.Sleep(work) // fake time: the job takes this long
					r.Add(job.ID)
					return nil
				})
				stops = append(stops, f.Start(w))
			}
			f.Add("work", 0, fixture.Names("a", 700)...)
			fixture.Pass(10 * time.Second)
			f.Add("work", 0, fixture.Names("b", 3)...)
			f.Add("work", 10*time.Minute, fixture.Names("c", 100)...)
			fixture.Pass(20 * time.Minute)
			for _, stop := range stops {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
			for id, n := range r.N {
				if n != 1 {
					t.Errorf("%s ran %d times, want once", id, n)
				}
			}
			if s := f.Stats(); len(r.N) != 803 || s.Done != 803 || s.InFlight()+s.Waiting+s.Delayed != 0 {
				t.Errorf("with handlers of %v, %d of 803 ran, the store has %+v", work, len(r.N), s)
			}
			if keys, _ := f.Server.Client().Keys(t.Context(), "*inflight*").Result(); len(keys) != 0 {
				t.Errorf("sessions are left: %v", keys)
			}
		})
	}
}

func TestDelayedJobsAreTakenWhenTheyAreDue(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var r fixture.Runs
		w := f.Worker(chime.WorkerOptions{Concurrency: 5})
		w.Handle("work", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); return nil })
		stop := f.Start(w)
		fixture.Pass(time.Minute)
		due := make(map[string]time.Time)
		for i, in := range []time.Duration{time.Hour, time.Second, 20 * time.Minute, 90 * time.Millisecond, 3 * time.Hour} {
			id := fmt.Sprint("d", i)
			f.Add("work", in, id)
			due[id] = time.Now().Add(in)
		}
		fixture.Pass(3*time.Hour + time.Minute)
		for id, at := range due {
			if late := r.At[id].Sub(at); late < 0 || late > 2*time.Millisecond {
				t.Errorf("%s ran %v after it was due, want at most 2ms", id, late)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestJobsThatKeepFailingEndDead(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var r fixture.Runs
		w := f.Worker(chime.WorkerOptions{Concurrency: 5})
		w.Handle("work", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); return errors.New("no") })
		w.Handle("poison", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); panic("oh") })
		stop := f.Start(w)
		f.Add("work", 0, "a")
		f.Add("poison", 0, "b")
		fixture.Pass(time.Hour)
		if s := f.Stats(); r.N["a"] != 3 || r.N["b"] != 3 || s.Dead != 2 {
			t.Errorf("after three attempts each %v ran and the store has %+v, want two dead", r.N, s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestJobsOfUnknownNamesWaitForAWorkerThatHandlesThem(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		first := f.Worker(chime.WorkerOptions{Concurrency: 2})
		first.Handle("old", func(context.Context, *chime.Job) error { return nil })
		stopFirst := f.Start(first)
		f.Add("new", 0, fixture.Names("n", 20)...)
		fixture.Pass(time.Minute)
		if s := f.Stats(); s.Parked != 20 || s.Running != 0 {
			t.Errorf("the store has %+v, want 20 parked", s)
		}
		var r fixture.Runs
		second := f.Worker(chime.WorkerOptions{Concurrency: 2})
		second.Handle("new", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); return nil })
		stopSecond := f.Start(second)
		fixture.Pass(time.Minute)
		if s := f.Stats(); len(r.N) != 20 || s.Parked != 0 || s.Done != 20 {
			t.Errorf("%d of 20 ran, the store has %+v", len(r.N), s)
		}
		for _, stop := range []func() error{stopFirst, stopSecond} {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Fences grow at any instant of the server's clock, also in a bubble, where microseconds have one digit less than today's.
func TestFencesGrowInABubble(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var fences []int64
		var log strings.Builder
		w := f.Worker(chime.WorkerOptions{Concurrency: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		w.Handle("a", func(_ context.Context, job *chime.Job) error {
			fences = append(fences, job.Fence)
			if job.Attempt == 1 {
				return errors.New("again")
			}
			return nil
		})
		f.Add("a", 0, "one", "two", "three")
		stop := f.Start(w)
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if len(fences) != 6 {
			t.Errorf("%d attempts, want 6", len(fences))
		}
		for i := 1; i < len(fences); i++ {
			if fences[i] <= fences[i-1] {
				t.Errorf("fence %d follows %d", fences[i], fences[i-1])
			}
		}
		if strings.Contains(log.String(), "store.unreadable") {
			t.Errorf("want no log line, because everything was readable; got\n%s", log.String())
		}
	})
}
