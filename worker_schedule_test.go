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
func (b *bench) declare(name, rule, misfire string, overlap chime.OverlapPolicy) {
	b.t.Helper()
	pass(time.Second) // a bubble begins at midnight, which a rule might match
	body := fmt.Sprintf(`{"version":1,"job":"tick","recurrence":%s,"misfire":%q,"grace":"1m0s","noImmediateRun":true}`, rule, misfire)
	a := b.server.Store().Protocol().Declare(b.t.Context(), []protocol.Declaration{{Name: name, Queue: "default", Overlap: string(overlap), Body: []byte(body)}})
	if a[0].Err != nil || a[0].Owed == nil {
		b.t.Fatalf("declare: %+v", a[0])
	}
	placement, err := chime.Next(*a[0].Owed)
	if err != nil {
		b.t.Fatal(err)
	}
	if placed := b.server.Store().Protocol().Place(b.t.Context(), []protocol.Placement{placement}); placed[0].Err != nil {
		b.t.Fatal(placed[0].Err)
	}
}

func (b *bench) stored(name string) protocol.Stored {
	b.t.Helper()
	found, err := b.server.Store().Protocol().Find(b.t.Context(), []string{name})
	if err != nil {
		b.t.Fatal(err)
	}
	return found[0]
}

func TestWorkersAloneKeepASchedulePlaced(t *testing.T) {
	onStore(t, func(t *testing.T, b *bench) {
		b.declare("tick", `{"cron":"*/15 * * * *"}`, "run_once", chime.OverlapSkip)
		var r runs
		var late atomic.Int64
		var stops []func() error
		for range 2 {
			w := b.worker(chime.WorkerOptions{Concurrency: 2})
			w.Handle("tick", func(_ context.Context, job *chime.Job) error {
				r.add(job.ID)
				late.Store(max(late.Load(), int64(job.Lateness())))
				if job.Schedule != "tick" || job.ID != "tick@"+job.Planned.Format(time.RFC3339) {
					t.Errorf("got job %+v, want an occurrence of tick", *job)
				}
				return nil
			})
			stops = append(stops, b.run(w))
		}
		pass(24*time.Hour + time.Second)
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		if s := b.stored("tick"); len(r.n) != 96 || s.Placed != 97 || s.Started != 96 {
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
		ran     int   // of those due before the worker came, with the first after it
		missed  int64 // by the counter
		caught  int64
	}{
		{"run_once", 2, 9, 0},
		{"skip", 1, 10, 0},
		{"catch_up", 11, 0, 9},
	}
	for _, test := range tests {
		onStore(t, func(t *testing.T, b *bench) {
			b.declare("tick", `{"cron":"0 * * * *"}`, test.misfire, chime.OverlapAllow)
			pass(10*time.Hour + 30*time.Minute) // ten are due, one of them placed
			var r runs
			w := b.worker(chime.WorkerOptions{Concurrency: 2})
			w.Handle("tick", func(_ context.Context, job *chime.Job) error { r.add(job.ID); return nil })
			stop := b.run(w)
			pass(time.Hour)
			if s := b.stored("tick"); len(r.n) != test.ran || s.Missed != test.missed || s.CaughtUp != test.caught {
				t.Errorf("%s: %d ran, the store says missed %d, caught up %d; want %d, %d, %d", test.misfire, len(r.n), s.Missed, s.CaughtUp, test.ran, test.missed, test.caught)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAReplacedOccurrenceIsCancelledAndTheNextOneRuns(t *testing.T) {
	onStore(t, func(t *testing.T, b *bench) {
		b.declare("tick", `{"cron":"0 * * * *"}`, "run_once", chime.OverlapCancel)
		w := b.worker(chime.WorkerOptions{Concurrency: 3})
		var r runs
		causes := make(chan error, 10)
		w.Handle("tick", func(ctx context.Context, job *chime.Job) error {
			r.add(job.ID)
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return context.Cause(ctx)
		}, chime.Timeout(100*time.Hour))
		stop := b.run(w)
		pass(5*time.Hour + time.Minute)
		if len(r.n) != 5 || len(causes) != 4 {
			t.Errorf("%v ran and %d were told, want five and four", r.n, len(causes))
		}
		for range len(causes) {
			if cause := <-causes; !errors.Is(cause, chime.ErrReplaced) {
				t.Errorf("told %v, want ErrReplaced", cause)
			}
		}
		if s := b.stored("tick"); s.Superseded != 4 {
			t.Errorf("the store says %+v, want four superseded", s)
		}
		go stop()
		pass(time.Minute)
	})
}

func TestASkippedOccurrenceDoesNotStopItsSchedule(t *testing.T) {
	onStore(t, func(t *testing.T, b *bench) {
		b.declare("tick", `{"cron":"* * * * *"}`, "run_once", chime.OverlapSkip)
		w := b.worker(chime.WorkerOptions{Concurrency: 3})
		var r runs
		w.Handle("tick", func(_ context.Context, job *chime.Job) error {
			r.add(job.ID)
			time.Sleep(150 * time.Second)
			return nil
		})
		stop := b.run(w)
		pass(30*time.Minute + time.Second)
		if s := b.stored("tick"); len(r.n) != 10 || s.Skipped != 20 {
			t.Errorf("%d ran and %d were skipped, want 10 and 20", len(r.n), s.Skipped)
		}
		go stop()
		synctest.Wait()
		pass(time.Hour)
	})
}
