package workers_test

import (
	"context"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A worker that a newer layout refuses holds no job, so it stops at once. If it holds one, it first tries to settle it.
func TestAWorkerThatANewerLayoutRefusesStopsAtOnce(t *testing.T) {
	for name, before := range map[string]bool{"from the start": true, "after it has slept": false} {
		t.Run(name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				refuse := func() { f.Server.Client().HSet(t.Context(), "chime:{default}:state", "layout", "99") }
				f.Enqueue("default", job("work"), "first")
				if before {
					refuse()
				}
				w := f.Worker(chime.WorkerOptions{Concurrency: 2})
				w.Handle("work", func(context.Context, *chime.Job) error { return nil })
				stop := fixture.Start(w)
				fixture.Pass(30 * time.Second)
				refuse()
				f.Server.Client().RPush(t.Context(), "chime:{default}:ready", "second")
				fixture.Pass(30 * time.Second)
				began := time.Now()
				if err := stop(); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("it took %v to stop, want at most a second", took)
				}
			})
		})
	}
}
