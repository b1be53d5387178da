package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestEveryCallerGetsErrUnfitAtOnceAndNothingIsSent(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		store.checkFault = func(context.Context, int) error {
			time.Sleep(time.Millisecond) // fake time: all callers wait for one check
			return fmt.Errorf("it evicts: %w", chime.ErrUnfit)
		}
		e, began := quietEnqueuer(store, chime.EnqueuerOptions{}), time.Now()
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				var err error
				if i%2 == 0 {
					_, err = e.Enqueue(t.Context(), "a", nil)
				} else {
					_, err = e.EnqueueMany(t.Context(), []chime.Item{{Name: "a"}, {Name: "b"}})
				}
				if !errors.Is(err, chime.ErrUnfit) {
					t.Errorf("caller %d got %v, want ErrUnfit", i, err)
				}
			})
		}
		all.Wait()
		if waited := time.Since(began); waited != time.Millisecond || store.Count("check") != 1 || store.Count("partitions")+store.RoundTrips("enqueue") > 0 {
			t.Errorf("%d checks in %v, then %d calls; want one check and nothing else", store.Count("check"), waited, store.Count("partitions")+store.RoundTrips("enqueue"))
		}
		store.checkFault = nil // the server's settings were corrected
		if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
			t.Errorf("once it is fit: %v", err)
		}
	})
}

func TestAFitStoreIsCheckedOnceForAllQueues(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		store.checkFault = func(context.Context, int) error { time.Sleep(time.Millisecond); return nil } // fake time: the duration of the check
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				if _, err := e.Enqueue(t.Context(), "a", nil, chime.Queue(fmt.Sprint("q", i%10))); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if store.Count("check") != 1 {
			t.Errorf("the store was checked %d times, want once", store.Count("check"))
		}
	})
}

func TestACheckThatFailsOrHangsDoesNotStopEnqueuing(t *testing.T) {
	for name, fault := range map[string]func(ctx context.Context, n int) error{
		"it fails": func(context.Context, int) error { return errors.New("INFO is broken") },
		"it hangs": func(ctx context.Context, n int) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := newSendStore(f, 1)
				store.checkFault = fault
				e := quietEnqueuer(store, chime.EnqueuerOptions{})
				for range 3 {
					if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
						t.Error(err)
					}
				}
				if store.Count("check") != 1 {
					t.Errorf("three jobs on one queue made %d checks, want 1", store.Count("check"))
				}
			})
		})
	}
}

func TestAStoreFoundUnfitAfterAnOutageIsRefused(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store, down := newSendStore(f, 1), errors.New("connection refused")
		store.checkFault = func(_ context.Context, n int) error {
			if n < 3 {
				return down
			}
			return chime.ErrUnfit
		}
		store.askFault = func(int) error { return down }
		if _, err := quietEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "a", nil); !errors.Is(err, chime.ErrUnfit) || store.Count("check") != 3 {
			t.Errorf("got %v after %d checks, want ErrUnfit at the third", err, store.Count("check"))
		}
	})
}
