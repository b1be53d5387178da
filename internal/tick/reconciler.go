package tick

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

const (
	stepTime   = 200 * time.Millisecond // how long a step declares; then other duties have their turn
	maxRefused = 3                      // errors that a batch returns
)

// A reconciler writes what a program declared to the store, in steps. Writing it again changes nothing.
type reconciler struct {
	store    protocol.ScheduleStore
	log      *slog.Logger
	declared []protocol.Declaration
	removed  []string

	declare []protocol.Declaration // still to be written
	remove  []string               // still to be removed
}

// begin begins again with everything that was declared.
func (r *reconciler) begin() { r.declare, r.remove = r.declared, r.removed }

// step removes one schedule, or writes batches for stepTime. The next batch is under way while place computes the first occurrences
// of the last one, so that the store and this program work at the same time. What the store refuses goes to the end, so that it does
// not delay the rest, and ends the step. more reports whether anything is left.
func (r *reconciler) step(ctx context.Context, place func([]protocol.Owed)) (more bool, err error) {
	if len(r.remove) > 0 {
		if _, err := r.store.Remove(ctx, r.remove[0]); err != nil {
			return true, err
		}
		r.remove = r.remove[1:]
		return len(r.remove)+len(r.declare) > 0, nil
	}
	began := time.Now()
	for batch, answers := r.send(ctx); len(batch) > 0; {
		owed, failed := r.receive(batch, <-answers)
		batch = nil
		if failed == nil && ctx.Err() == nil && time.Since(began) < stepTime {
			batch, answers = r.send(ctx)
		}
		if err = failed; len(owed) > 0 {
			place(owed)
		}
	}
	return len(r.declare) > 0, err
}

// send begins to declare the next batch. If the batch is not empty, its answers arrive in every case.
func (r *reconciler) send(ctx context.Context) ([]protocol.Declaration, <-chan []protocol.DeclareAnswer) {
	batch := r.batch()
	answers := make(chan []protocol.DeclareAnswer, 1)
	if len(batch) > 0 {
		go func() { answers <- r.store.Declare(ctx, batch) }()
	}
	return batch, answers
}

// receive handles the answers to a batch and returns the schedules that are owed their next occurrence.
func (r *reconciler) receive(batch []protocol.Declaration, answers []protocol.DeclareAnswer) (owed []protocol.Owed, err error) {
	var refused []protocol.Declaration
	var errs []error
	for i, answer := range answers {
		if answer.Err != nil {
			refused = append(refused, batch[i])
			errs = append(errs, answer.Err)
			continue
		}
		if answer.Changed {
			r.log.Info("chime: schedule changed", "event", "schedule.changed", "schedule", batch[i].Name, "queue", batch[i].Queue,
				"note", fmt.Sprintf("before: %s; now: %s", schedule.ForLog(answer.Old), schedule.ForLog(answer.Stored)))
		}
		if answer.Owed != nil {
			owed = append(owed, *answer.Owed)
		}
	}
	rest := r.declare[len(batch):]
	if len(refused) > 0 {
		rest = append(rest[:len(rest):len(rest)], refused...)
	}
	r.declare = rest
	return owed, errors.Join(errs[:min(len(errs), maxRefused)]...)
}

// batch returns the declarations of the next call, as many as it takes.
func (r *reconciler) batch() []protocol.Declaration {
	bytes := 0
	for n := range r.declare {
		bytes += len(r.declare[n].Body)
		if n == protocol.MaxDeclared || n > 0 && bytes > protocol.MaxBytes {
			return r.declare[:n]
		}
	}
	return r.declare
}
