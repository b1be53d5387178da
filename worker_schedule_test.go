package chime_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

// declare stores a schedule and places its first occurrence; from then on only workers place.
func (f *fixture) declare(name, rule, misfire string, overlap chime.OverlapPolicy) {
	f.t.Helper()
	pass(time.Second) // a bubble begins at midnight, which a rule may match
	body := fmt.Sprintf(`{"version":1,"job":"tick","recurrence":%s,"misfire":%q,"grace":"1m0s","noImmediateRun":true}`, rule, misfire)
	a := f.server.Store().Protocol().Declare(f.t.Context(), []protocol.Declaration{{Name: name, Queue: "default", Overlap: string(overlap), Body: []byte(body)}})
	if a[0].Err != nil || a[0].Owed == nil {
		f.t.Fatalf("declare: %+v", a[0])
	}
	placement, err := chime.Next(*a[0].Owed)
	if err != nil {
		f.t.Fatal(err)
	}
	if placed := f.server.Store().Protocol().Place(f.t.Context(), []protocol.Placement{placement}); placed[0].Err != nil {
		f.t.Fatal(placed[0].Err)
	}
}

func (f *fixture) stored(name string) protocol.Stored {
	f.t.Helper()
	found, err := f.server.Store().Protocol().Find(f.t.Context(), []string{name})
	if err != nil {
		f.t.Fatal(err)
	}
	return found[0]
}

func TestWorkersAloneKeepASchedulePlaced(t *testing.T) {
	onEmbedded(t, func(t *testing.T, f *fixture) {
		f.declare("tick", `{"cron":"*/15 * * * *"}`, "run_once", chime.OverlapSkip)
		var r runs
		var late atomic.Int64
		var stops []func() error
		for range 2 {
			w := f.worker(chime.WorkerOptions{Concurrency: 2})
			w.Handle("tick", func(_ context.Context, job *chime.Job) error {
				r.add(job.ID)
				late.Store(max(late.Load(), int64(job.Lateness())))
				if job.Schedule != "tick" || job.ID != "tick@"+job.Planned.Format(time.RFC3339) {
					t.Errorf("got job %+v, want an occurrence of tick", *job)
				}
				return nil
			})
			stops = append(stops, f.run(w))
		}
		pass(24*time.Hour + time.Second)
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		if s := f.stored("tick"); len(r.n) != 96 || s.Placed != 97 || s.Started != 96 {
			t.Errorf("a day of quarter hours ran %d occurrences, the store says %+v; want 96", len(r.n), s)
		}
		if d := time.Duration(late.Load()); d > 2*time.Millisecond {
			t.Errorf("the latest was taken %v after its instant, want at most 2ms", d)
		}
	})
}

func TestTheMisfirePolicyDecidesAboutLateOccurrences(t *testing.T) {
	tests := []struct {
		misfire string
		ran     int   // of those that were due before the worker started, with the first one after that
		missed  int64 // by the counter
		caught  int64
	}{
		{"run_once", 2, 9, 0},
		{"skip", 1, 10, 0},
		{"catch_up", 11, 0, 9},
	}
	for _, test := range tests {
		onEmbedded(t, func(t *testing.T, f *fixture) {
			f.declare("tick", `{"cron":"0 * * * *"}`, test.misfire, chime.OverlapAllow)
			pass(10*time.Hour + 30*time.Minute) // ten are due, one of them placed
			var r runs
			w := f.worker(chime.WorkerOptions{Concurrency: 2})
			w.Handle("tick", func(_ context.Context, job *chime.Job) error { r.add(job.ID); return nil })
			stop := f.run(w)
			pass(time.Hour)
			if s := f.stored("tick"); len(r.n) != test.ran || s.Missed != test.missed || s.CaughtUp != test.caught {
				t.Errorf("%s: %d ran, the store says missed %d, caught up %d; want %d, %d, %d", test.misfire, len(r.n), s.Missed, s.CaughtUp, test.ran, test.missed, test.caught)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAReplacedOccurrenceIsCancelledAndTheNextOneRuns(t *testing.T) {
	onEmbedded(t, func(t *testing.T, f *fixture) {
		f.declare("tick", `{"cron":"0 * * * *"}`, "run_once", chime.OverlapCancel)
		w := f.worker(chime.WorkerOptions{Concurrency: 3})
		var r runs
		causes := make(chan error, 10)
		w.Handle("tick", func(ctx context.Context, job *chime.Job) error {
			r.add(job.ID)
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return context.Cause(ctx)
		}, chime.Timeout(100*time.Hour))
		stop := f.run(w)
		pass(5*time.Hour + time.Minute)
		if len(r.n) != 5 || len(causes) != 4 {
			t.Errorf("%v ran and the ctx of %d ended, want five and four", r.n, len(causes))
		}
		for range len(causes) {
			if cause := <-causes; !errors.Is(cause, chime.ErrReplaced) {
				t.Errorf("the ctx ended with %v, want ErrReplaced", cause)
			}
		}
		if s := f.stored("tick"); s.Superseded != 4 {
			t.Errorf("the store says %+v, want four superseded", s)
		}
		go stop()
		pass(time.Minute)
	})
}

func TestASkippedOccurrenceDoesNotStopItsSchedule(t *testing.T) {
	onEmbedded(t, func(t *testing.T, f *fixture) {
		f.declare("tick", `{"cron":"* * * * *"}`, "run_once", chime.OverlapSkip)
		w := f.worker(chime.WorkerOptions{Concurrency: 3})
		var r runs
		w.Handle("tick", func(_ context.Context, job *chime.Job) error {
			r.add(job.ID)
			time.Sleep(150 * time.Second) // fake time: longer than the interval
			return nil
		})
		stop := f.run(w)
		pass(30*time.Minute + time.Second)
		if s := f.stored("tick"); len(r.n) != 10 || s.Skipped != 20 {
			t.Errorf("%d ran and %d were skipped, want 10 and 20", len(r.n), s.Skipped)
		}
		go stop()
		synctest.Wait()
		pass(time.Hour)
	})
}
