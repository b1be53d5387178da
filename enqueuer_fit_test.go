package chime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryCallerGetsErrUnfitAtOnceAndNothingIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		store.checkFault = func(context.Context, int) error {
			time.Sleep(time.Millisecond) // fake time: all callers wait for one check
			return fmt.Errorf("it evicts: %w", ErrUnfit)
		}
		e, began := quietEnqueuer(store, EnqueuerOptions{}), time.Now()
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				var err error
				if i%2 == 0 {
					_, err = e.Enqueue(t.Context(), "a", nil)
				} else {
					_, err = e.EnqueueMany(t.Context(), []Item{{Name: "a"}, {Name: "b"}})
				}
				if !errors.Is(err, ErrUnfit) {
					t.Errorf("caller %d got %v, want ErrUnfit", i, err)
				}
			})
		}
		all.Wait()
		if waited := time.Since(began); waited != time.Millisecond || store.checks != 1 || store.asked+store.roundTrips > 0 {
			t.Errorf("%d checks in %v, then %d calls; want one check and nothing else", store.checks, waited, store.asked+store.roundTrips)
		}
		store.checkFault = nil // its settings were corrected
		if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
			t.Errorf("once it is fit: %v", err)
		}
	})
}

func TestAFitStoreIsCheckedOnceForAllQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newEnqueueStore(t, 1)
		store.checkFault = func(context.Context, int) error { time.Sleep(time.Millisecond); return nil } // fake time: the check takes this long
		e := quietEnqueuer(store, EnqueuerOptions{})
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				if _, err := e.Enqueue(t.Context(), "a", nil, Queue(fmt.Sprint("q", i%10))); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if store.checks != 1 {
			t.Errorf("the store was checked %d times, want once", store.checks)
		}
	})
}

func TestACheckThatFailsOrHangsDoesNotStopEnqueuing(t *testing.T) {
	for name, fault := range map[string]func(ctx context.Context, n int) error{
		"it fails": func(context.Context, int) error { return errors.New("INFO is broken") },
		"it hangs": func(ctx context.Context, n int) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newEnqueueStore(t, 1)
				store.checkFault = fault
				e := quietEnqueuer(store, EnqueuerOptions{})
				for range 3 {
					if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
						t.Error(err)
					}
				}
				if store.checks != 1 {
					t.Errorf("three jobs on one queue made %d checks, want 1", store.checks)
				}
			})
		})
	}
}

func TestAStoreFoundUnfitAfterAnOutageIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, down := newEnqueueStore(t, 1), errors.New("connection refused")
		store.checkFault = func(_ context.Context, n int) error {
			if n < 3 {
				return down
			}
			return ErrUnfit
		}
		store.askFault = func(int) error { return down }
		if _, err := quietEnqueuer(store, EnqueuerOptions{}).Enqueue(t.Context(), "a", nil); !errors.Is(err, ErrUnfit) || store.checks != 3 {
			t.Errorf("got %v after %d checks, want ErrUnfit at the third", err, store.checks)
		}
	})
}
