package sealing_test

import (
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// secretBatch has the canary in the arguments of members, of what follows them, and of the jobs that follow the batch.
func secretBatch(id string) chime.Batch {
	same := chime.OnDone(chime.Item{Name: "done-next", Args: secret, Options: []chime.EnqueueOption{chime.SameBatch(), chime.Queue("other")}})
	return chime.Batch{
		ID: id,
		Items: func(yield func(chime.Item, error) bool) {
			for _, options := range [][]chime.EnqueueOption{nil, {chime.ID("own")}, {chime.In(time.Minute), same}} {
				if !yield(chime.Item{Name: "done", Args: secret, Options: options}, nil) {
					return
				}
			}
		},
		Done:  chime.Item{Name: "done-after", Args: secret, Options: []chime.EnqueueOption{chime.Queue("other"), chime.OnDone(chime.Item{Name: "done-last", Args: secret})}},
		Ended: chime.Item{Name: "done-ended", Args: secret, Options: []chime.EnqueueOption{chime.Keep(time.Hour)}},
	}
}

// The arguments of members, of Done and of Ended are sealed, also while the batch is open and when another process ends it. A repeated call finds the same batch although
// nothing is sealed twice in the same way.
func TestNothingOfABatchIsStoredInClear(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Server.Client().AddHook(sniffer{t})
		store := sealed(f, 1)
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: fixture.Quiet()})
		if _, err := enqueuer.EnqueueBatch(t.Context(), secretBatch("x")); err != nil {
			t.Fatal(err)
		}
		noCanary(f, "enqueued")
		for _, ring := range [][]int{{1}, {2, 1}} { // after a rotation too
			again := chime.NewEnqueuer(sealed(f, ring...), chime.EnqueuerOptions{Logger: fixture.Quiet()})
			if receipt, err := again.EnqueueBatch(t.Context(), secretBatch("x")); err != nil || !receipt.Repeated {
				t.Errorf("the call was repeated: %+v, %v", receipt, err)
			}
		}
		other := secretBatch("x")
		other.Done.Args = args{"another secret"}
		if _, err := enqueuer.EnqueueBatch(t.Context(), other); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("other arguments: %v, want a conflict", err)
		}
		got := map[string]int{}
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"default": 1, "other": 1}, Logger: fixture.Quiet()})
		secretive(t, worker, got, "done", "done-next", "done-after", "done-last", "done-ended")
		stop := f.Start(worker)
		fixture.Pass(10 * time.Second)
		noCanary(f, "while it runs")
		fixture.Pass(2 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		noCanary(f, "at the end")
		for name, want := range map[string]int{"done": 3, "done-next": 1, "done-after": 1, "done-last": 1, "done-ended": 1} {
			if got[name] != want {
				t.Errorf("%s ran %d times, want %d", name, got[name], want)
			}
		}
	})
}

// A process without the key ends a batch: what follows is added sealed, and opens where it belongs only.
func TestAProcessWithoutTheKeyEndsABatch(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Server.Client().AddHook(sniffer{t})
		store := sealed(f, 1)
		b := secretBatch("x")
		b.Items = nil
		if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: fixture.Quiet()}).EnqueueBatch(t.Context(), chime.Batch{
			ID: "x", Done: b.Done, Ended: b.Ended, Items: func(yield func(chime.Item, error) bool) {
				yield(chime.Item{Name: "done", Args: secret, Options: []chime.EnqueueOption{chime.ID("m")}}, nil)
			},
			DoneWithoutCancelled: true,
		}); err != nil {
			t.Fatal(err)
		}
		plain := f.Server.Store()
		if n, err := chime.NewJobs(plain).Delete(t.Context(), chime.JobFilter{Queue: "default", IDs: []string{"m"}}, nil); err != nil || n.Changed != 1 {
			t.Fatalf("deleted %+v, %v", n, err)
		}
		if info, err := chime.NewBatches(plain).Recount(t.Context(), "x"); err != nil || info.State != chime.BatchDone || info.DoneJob != "done-after" {
			t.Errorf("%+v, %v", info, err)
		}
		got := map[string]int{}
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"default": 1, "other": 1}, Logger: fixture.Quiet()})
		secretive(t, worker, got, "done-after", "done-last", "done-ended")
		stop := f.Start(worker)
		fixture.Pass(2 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		noCanary(f, "at the end")
		if got["done-after"] != 1 || got["done-last"] != 1 || got["done-ended"] != 1 {
			t.Errorf("these have run: %v", got)
		}
	})
}
