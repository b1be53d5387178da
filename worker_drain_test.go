package chime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestADrainWaitsForHandlersAndThenHandsTheirJobsBack(t *testing.T) {
	tests := []struct {
		name    string
		handler Handler
		cut     bool
		want    map[protocol.SettleKind]int
		within  time.Duration
	}{
		{"a handler that ends in time is waited for", func(context.Context, *Job) error { time.Sleep(20 * time.Second); return nil }, false, map[protocol.SettleKind]int{protocol.SettleDone: 1}, 20 * time.Second}, // fake time
		{"one that fails when its ctx ends is handed back", func(ctx context.Context, _ *Job) error { <-ctx.Done(); return context.Cause(ctx) }, true, map[protocol.SettleKind]int{protocol.SettleBack: 1}, 26 * time.Second},
		{"one that succeeds when its ctx ends is done", func(ctx context.Context, _ *Job) error { <-ctx.Done(); return nil }, false, map[protocol.SettleKind]int{protocol.SettleDone: 1}, 26 * time.Second},
		{"one that never ends is handed back", func(context.Context, *Job) error { time.Sleep(time.Hour); return nil }, true, map[protocol.SettleKind]int{protocol.SettleBack: 1}, 28 * time.Second}, // fake time
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFakeJobStore(t)
				w := NewWorker(asStore(store), WorkerOptions{Concurrency: 1, Logger: quiet()})
				w.Handle("work", test.handler)
				store.add("default", job("work"), "a", "b")
				stop := startWorker(t, w)
				pass(time.Second)
				begun := time.Now()
				err := stop()
				if d := time.Since(begun); d > test.within {
					t.Errorf("Run returned after %v, want within %v", d, test.within)
				}
				if errors.Is(err, ErrDrainTimeout) != test.cut || test.cut && !strings.Contains(err.Error(), "a") || !test.cut && err != nil {
					t.Errorf("Run returned %v, want ErrDrainTimeout: %v", err, test.cut)
				}
				if got := store.kinds(); !maps.Equal(got, test.want) {
					t.Errorf("settled %v, want %v", got, test.want)
				}
				store.checkEmpty()
				pass(time.Hour) // for the one that never ends
			})
		})
	}
}

func TestADrainEndsAlthoughTheStoreIsUnavailable(t *testing.T) {
	for _, hang := range []bool{false, true} {
		t.Run(fmt.Sprint("hanging ", hang), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFakeJobStore(t)
				w := NewWorker(asStore(store), WorkerOptions{Concurrency: 1, Logger: quiet()})
				w.Handle("work", func(context.Context, *Job) error { time.Sleep(5 * time.Second); return nil }) // fake time: the job takes this long
				store.add("default", job("work"), "a", "b")
				stop := startWorker(t, w)
				store.mu.Lock()
				store.fault = func(string, protocol.Partition) (error, error) {
					if hang {
						time.Sleep(time.Hour) // fake time: it does not end
					}
					return errFake, nil
				}
				store.mu.Unlock()
				begun := time.Now()
				err := stop()
				if d := time.Since(begun); err == nil || d > 31*time.Second {
					t.Errorf("Run returned %v after %v, want an error within 31 s", err, d)
				}
				pass(2 * time.Hour)
			})
		})
	}
}

// A handler that returns while the job that was handed back in its place is on its way is not counted again.
func TestAJobThatIsCutOffIsNamedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		store.latency = 100 * time.Millisecond
		var log logBuffer
		w := NewWorker(asStore(store), WorkerOptions{DrainTimeout: time.Second, Logger: log.logger()})
		w.Handle("work", func(ctx context.Context, _ *Job) error {
			<-ctx.Done()
			time.Sleep(2050 * time.Millisecond) // the job is handed back 2 s after its ctx has ended
			return ctx.Err()
		})
		store.add("default", job("work"), "a")
		stop := startWorker(t, w)
		pass(time.Second)
		cut := (*DrainTimeoutError)(nil)
		if err := stop(); !errors.As(err, &cut) || len(cut.IDs) != 1 || cut.IDs[0] != "a" {
			t.Errorf("Run returned %v, want that a was cut off", err)
		}
		if n := log.count("event=drain.started"); n != 1 || log.count("count=1 note=\"waits for up to 1s\"") != 1 {
			t.Errorf("the begin of the drain is logged %d times as\n%s", n, log.text.String())
		}
		if n := log.count("1 given back; cut off: a\""); n != 1 {
			t.Errorf("the end is logged as\n%s", log.text.String())
		}
		pass(time.Minute)
	})
}
