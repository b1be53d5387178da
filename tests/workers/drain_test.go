package workers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

func TestADrainWaitsForHandlersAndThenReturnsTheirJobs(t *testing.T) {
	tests := []struct {
		name    string
		handler chime.Handler
		cut     bool
		want    map[protocol.SettleKind]int
		within  time.Duration
	}{
		{"a handler that ends in time is waited for", func(context.Context, *chime.Job) error { time.Sleep(20 * time.Second); return nil }, false, map[protocol.SettleKind]int{protocol.SettleDone: 1}, 20 * time.Second}, // fake time
		{"one that fails when its ctx ends is returned to its queue", func(ctx context.Context, _ *chime.Job) error { <-ctx.Done(); return context.Cause(ctx) }, true, map[protocol.SettleKind]int{protocol.SettleBack: 1}, 26 * time.Second},
		{"one that succeeds when its ctx ends is done", func(ctx context.Context, _ *chime.Job) error { <-ctx.Done(); return nil }, false, map[protocol.SettleKind]int{protocol.SettleDone: 1}, 26 * time.Second},
		{"one that never ends is returned to its queue", func(context.Context, *chime.Job) error { time.Sleep(time.Hour); return nil }, true, map[protocol.SettleKind]int{protocol.SettleBack: 1}, 28 * time.Second}, // fake time
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := f.Hooked()
				w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 1, Logger: fixture.Quiet()})
				w.Handle("work", test.handler)
				f.Enqueue("default", job("work"), "a", "b")
				stop := fixture.Start(w)
				fixture.Pass(time.Second)
				begun := time.Now()
				err := stop()
				if d := time.Since(begun); d > test.within {
					t.Errorf("Run returned after %v, want within %v", d, test.within)
				}
				if errors.Is(err, chime.ErrDrainTimeout) != test.cut || test.cut && !strings.Contains(err.Error(), "a") || !test.cut && err != nil {
					t.Errorf("Run returned %v, want ErrDrainTimeout: %v", err, test.cut)
				}
				if got := store.Kinds(); !maps.Equal(got, test.want) {
					t.Errorf("settled %v, want %v", got, test.want)
				}
				f.CheckEmpty()
				fixture.Pass(time.Hour) // for the handler that never ends
			})
		})
	}
}

func TestADrainEndsAlthoughTheStoreIsUnavailable(t *testing.T) {
	for _, hang := range []bool{false, true} {
		t.Run(fmt.Sprint("hanging ", hang), func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				store := f.Hooked()
				w := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 1, Logger: fixture.Quiet()})
				w.Handle("work", func(context.Context, *chime.Job) error { time.Sleep(5 * time.Second); return nil }) // fake time: the job takes this long
				f.Enqueue("default", job("work"), "a", "b")
				stop := fixture.Start(w)
				store.SetFault(func(string, protocol.Partition) (error, error) {
					if hang {
						time.Sleep(time.Hour) // fake time: it does not end
					}
					return hookstore.ErrReset, nil
				})
				begun := time.Now()
				err := stop()
				if d := time.Since(begun); err == nil || d > 31*time.Second {
					t.Errorf("Run returned %v after %v, want an error within 31 s", err, d)
				}
				fixture.Pass(2 * time.Hour)
			})
		})
	}
}

// A handler returns while its job is already being returned to the queue. It is not counted a second time.
func TestAJobThatIsCutOffIsNamedOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		store.Latency = 100 * time.Millisecond
		var log fixture.LogBuffer
		w := chime.NewWorker(store, chime.WorkerOptions{DrainTimeout: time.Second, Logger: log.Logger()})
		w.Handle("work", func(ctx context.Context, _ *chime.Job) error {
			<-ctx.Done()
			time.Sleep(2050 * time.Millisecond) // the job is returned to its queue 2 s after its ctx has ended
			return ctx.Err()
		})
		f.Enqueue("default", job("work"), "a")
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		cut := (*chime.DrainTimeoutError)(nil)
		if err := stop(); !errors.As(err, &cut) || len(cut.IDs) != 1 || cut.IDs[0] != "a" {
			t.Errorf("Run returned %v, want a reported as interrupted", err)
		}
		if n := log.Count("event=drain.started"); n != 1 || log.Count("count=1 timeout_ms=1000") != 1 {
			t.Errorf("the start of the drain is logged %d times as\n%s", n, log.String())
		}
		if n := log.Count("given_back=1 unsettled=0 cut_off=a\n"); n != 1 {
			t.Errorf("the end is logged as\n%s", log.String())
		}
		fixture.Pass(time.Minute)
	})
}
