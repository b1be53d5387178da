package schedules_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestWorkersAloneKeepASchedulePlaced(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		hours := long.Seeds(6, 24)
		f.Declare("tick", `{"cron":"*/15 * * * *"}`, "run_once", chime.OverlapSkip)
		var r fixture.Runs
		var late atomic.Int64
		var stops []func() error
		for range 2 {
			w := f.Worker(chime.WorkerOptions{Concurrency: 2})
			w.Handle("tick", func(_ context.Context, job *chime.Job) error {
				r.Add(job.ID)
				late.Store(max(late.Load(), int64(job.Lateness())))
				if job.Schedule != "tick" || job.ID != "tick@"+job.Planned.Format(time.RFC3339) {
					t.Errorf("got job %+v, want an occurrence of tick", *job)
				}
				return nil
			})
			stops = append(stops, f.Start(w))
		}
		fixture.Pass(time.Duration(hours)*time.Hour + time.Second)
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		if s, want := f.Stored("tick"), 4*hours; len(r.N) != want || int(s.Placed) != want+1 || int(s.Started) != want {
			t.Errorf("%d hours of quarter hours ran %d occurrences, the store has %+v; want %d", hours, len(r.N), s, want)
		}
		if d := time.Duration(late.Load()); d > 2*time.Millisecond {
			t.Errorf("the latest was taken %v after its instant, want at most 2ms", d)
		}
	})
}

func TestTheMisfirePolicyDecidesAboutLateOccurrences(t *testing.T) {
	tests := []struct {
		misfire string
		ran     int   // of the occurrences due before the worker started, and the next one
		missed  int64 // by the counter
		caught  int64
	}{
		{"run_once", 2, 9, 0},
		{"skip", 1, 10, 0},
		{"catch_up", 11, 0, 9},
	}
	for _, test := range tests {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			f.Declare("tick", `{"cron":"0 * * * *"}`, test.misfire, chime.OverlapAllow)
			fixture.Pass(10*time.Hour + 30*time.Minute) // ten are due, one of them placed
			var r fixture.Runs
			w := f.Worker(chime.WorkerOptions{Concurrency: 2})
			w.Handle("tick", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); return nil })
			stop := f.Start(w)
			fixture.Pass(time.Hour)
			if s := f.Stored("tick"); len(r.N) != test.ran || s.Missed != test.missed || s.CaughtUp != test.caught {
				t.Errorf("%s: %d ran, the store has missed %d, caught up %d; want %d, %d, %d", test.misfire, len(r.N), s.Missed, s.CaughtUp, test.ran, test.missed, test.caught)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAReplacedOccurrenceIsCancelledAndTheNextOneRuns(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Declare("tick", `{"cron":"0 * * * *"}`, "run_once", chime.OverlapCancel)
		w := f.Worker(chime.WorkerOptions{Concurrency: 3})
		var r fixture.Runs
		causes := make(chan error, 10)
		w.Handle("tick", func(ctx context.Context, job *chime.Job) error {
			r.Add(job.ID)
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return context.Cause(ctx)
		}, chime.Timeout(100*time.Hour))
		stop := f.Start(w)
		fixture.Pass(5*time.Hour + time.Minute)
		if len(r.N) != 5 || len(causes) != 4 {
			t.Errorf("%v ran and the ctx of %d ended, want five and four", r.N, len(causes))
		}
		for range len(causes) {
			if cause := <-causes; !errors.Is(cause, chime.ErrReplaced) {
				t.Errorf("the ctx ended with %v, want ErrReplaced", cause)
			}
		}
		if s := f.Stored("tick"); s.Superseded != 4 {
			t.Errorf("the store has %+v, want four superseded", s)
		}
		go stop()
		fixture.Pass(time.Minute)
	})
}

func TestASkippedOccurrenceDoesNotStopItsSchedule(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Declare("tick", `{"cron":"* * * * *"}`, "run_once", chime.OverlapSkip)
		w := f.Worker(chime.WorkerOptions{Concurrency: 3})
		var r fixture.Runs
		w.Handle("tick", func(_ context.Context, job *chime.Job) error {
			r.Add(job.ID)
			time.Sleep(150 * time.Second) // fake time: longer than the interval
			return nil
		})
		stop := f.Start(w)
		fixture.Pass(30*time.Minute + time.Second)
		if s := f.Stored("tick"); len(r.N) != 10 || s.Skipped != 20 {
			t.Errorf("%d ran and %d were skipped, want 10 and 20", len(r.N), s.Skipped)
		}
		go stop()
		synctest.Wait()
		fixture.Pass(time.Hour)
	})
}
