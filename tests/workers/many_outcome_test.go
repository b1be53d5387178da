package workers_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// settledKinds returns how each job was settled last.
func settledKinds(store *hookstore.Store) map[string]protocol.SettleKind {
	kinds := map[string]protocol.SettleKind{}
	for _, s := range store.Settled() {
		kinds[s.ID] = s.Kind
	}
	return kinds
}

// A handler that returns nil has finished the jobs that it got, also if ctx has ended, and also if one job of the call was not readable.
func TestNilOfAKindFinishesItsJobsThoughTheCallWasCutOff(t *testing.T) {
	type page struct{ N int }
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		kind := chime.Define[page]("many.cut")
		store := f.Hooked()
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{Logger: fixture.Quiet()})
		items := []chime.Item{kind.Item(page{1}, chime.ID("a")), kind.Item(page{2}, chime.ID("b")), {Name: "many.cut", Args: "text", Options: []chime.EnqueueOption{chime.ID("c")}}}
		if _, err := enqueuer.EnqueueMany(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, Logger: fixture.Quiet(), DrainTimeout: time.Second})
		kind.HandleMany(w, chime.Many{Size: 3, Wait: time.Second}, func(ctx context.Context, _ []*chime.Job, _ []page) error {
			<-ctx.Done()
			return nil
		})
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		if err := stop(); err != nil {
			t.Errorf("Run returned %v, but no job was cut off", err)
		}
		want := map[string]protocol.SettleKind{"a": protocol.SettleDone, "b": protocol.SettleDone, "c": protocol.SettleDead}
		if settled := settledKinds(store); !maps.Equal(settled, want) {
			t.Errorf("settled %v, want %v", settled, want)
		}
		f.CheckEmpty()
	})
}

// A job that an Each does not name may not have been reached before the time was up: it has failed.
func TestEachNamesWhatWasDoneBeforeATimeout(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		f.Enqueue("default", job("work"), "a", "b", "c")
		w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 10, Logger: fixture.Quiet()})
		var log manyLog
		w.HandleMany("work", chime.Many{Size: 3, Wait: time.Second}, log.handler(0, func(ctx context.Context, jobs []*chime.Job) error {
			if jobs[0].Attempt > 1 {
				return nil
			}
			<-ctx.Done()
			return chime.Each{"a": nil, "b": errors.New("bad")}
		}), chime.Timeout(time.Minute))
		stop := fixture.Start(w)
		fixture.Pass(61 * time.Second)
		want := map[string]protocol.SettleKind{"a": protocol.SettleDone, "b": protocol.SettleLater, "c": protocol.SettleLater}
		if settled := settledKinds(store); !maps.Equal(settled, want) {
			t.Errorf("settled %v, want %v", settled, want)
		}
		info, err := chime.NewJobs(f.Server.Store()).Get(t.Context(), "default", "c")
		if err != nil {
			t.Fatal(err)
		}
		if want := "job timed out after 1m0s, and the handler did not name the job"; info.LastError != want {
			t.Errorf("the error of the job that was not named is %q, want %q", info.LastError, want)
		}
		fixture.Pass(time.Hour)
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// A dead job that is requeued begins again: also with other jobs.
func TestARequeuedJobSharesACallAgain(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		e := job("work")
		e.MaxAttempts = 2
		f.Enqueue("default", e, "a", "b", "c")
		w := f.Worker(chime.WorkerOptions{Concurrency: 10})
		var log manyLog
		bad := true
		w.HandleMany("work", chime.Many{Size: 3, Wait: time.Second}, log.handler(0, func(context.Context, []*chime.Job) error {
			if bad {
				return errors.New("the database is down")
			}
			return nil
		}))
		stop := fixture.Start(w)
		fixture.Pass(time.Hour)
		bad = false
		result, err := chime.NewJobs(f.Server.Store()).Requeue(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead}, nil)
		if err != nil || result.Changed != 3 {
			t.Errorf("requeued %d jobs (%v), want 3", result.Changed, err)
		}
		fixture.Pass(time.Minute)
		if ids := log.ids(); len(ids) != 5 || !slices.Equal(ids[4:], []string{"a b c"}) {
			t.Errorf("calls %q, want one of all jobs after they were requeued", ids)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}

// A call that does not return is one event, whatever the number of its jobs.
func TestAStuckCallIsLoggedOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log fixture.LogBuffer
		f.Enqueue("default", job("work"), "a", "b", "c")
		w := chime.NewWorker(f.Server.Store(), chime.WorkerOptions{Concurrency: 10, Logger: log.Logger()})
		w.HandleMany("work", chime.Many{Size: 3, Wait: time.Second}, func(_ context.Context, jobs []*chime.Job) error {
			if jobs[0].Attempt == 1 {
				time.Sleep(2 * time.Minute) // fake time
			}
			return nil
		}, chime.Timeout(time.Minute))
		stop := fixture.Start(w)
		fixture.Pass(time.Hour)
		if n := log.Count("event=handler.stuck"); n != 1 || log.Count("count=3") != 1 {
			t.Errorf("a stuck call of three jobs is logged %d times, and its number of jobs %d times; want both once", n, log.Count("count=3"))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		f.CheckEmpty()
	})
}
