package work

import (
	"context"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// reportEvery is how often the progress of jobs is sent, at most; only the newest progress of each job is sent.
const reportEvery = time.Second

// A reporter sends the progress of handlers. Progress of a job that this worker does not hold any more has no effect, because the store compares
// the fence.
type reporter struct {
	store protocol.Store

	mu      sync.Mutex
	changed map[*Output]bool
	added   chan struct{} // capacity 1: changed is not empty
}

func newReporter(store protocol.Store) *reporter {
	return &reporter{store: store, changed: make(map[*Output]bool), added: make(chan struct{}, 1)}
}

// add notes that a handler has reported progress.
func (r *reporter) add(o *Output) {
	r.mu.Lock()
	r.changed[o] = true
	r.mu.Unlock()
	select {
	case r.added <- struct{}{}:
	default:
	}
}

// run sends what is added, until ctx ends. What the store did not accept is sent with later progress, or a second later.
func (r *reporter) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.added:
		}
		r.send(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(reportEvery):
		}
	}
}

func (r *reporter) send(ctx context.Context) {
	r.mu.Lock()
	changed := r.changed
	r.changed = make(map[*Output]bool)
	r.mu.Unlock()
	reports := make([]protocol.ProgressReport, 0, len(changed))
	for o := range changed {
		if !o.isClosed() {
			reports = append(reports, o.report())
		}
	}
	if len(reports) == 0 {
		return
	}
	limited, cancel := context.WithTimeout(ctx, 5*reportEvery)
	defer cancel()
	if r.store.Report(limited, reports) != nil {
		for o := range changed {
			if !o.isClosed() {
				r.add(o)
			}
		}
	}
}
