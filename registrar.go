package chime

import (
	"context"
	"errors"
	"log/slog"
)

const (
	declareAtOnce = 100     // schedules in one call of the store
	declareBytes  = 1 << 20 // of definitions in one call
)

// A registrar writes what a program declared into the store, in steps. Writing it again changes nothing.
type registrar struct {
	store    ScheduleStore
	log      *slog.Logger
	declared []Declaration
	removed  []string

	declare []Declaration // still to be written
	remove  []string      // still to be removed
}

// begin begins anew.
func (r *registrar) begin() { r.declare, r.remove = r.declared, r.removed }

// step removes one schedule or writes a batch. What the store refuses goes to the end, so that it does not hold up the rest;
// more tells whether anything is left. The schedules that are owed their next occurrence are the caller's to place.
func (r *registrar) step(ctx context.Context) (owed []Owed, more bool, err error) {
	if len(r.remove) > 0 {
		if _, err := r.store.Remove(ctx, r.remove[0]); err != nil {
			return nil, true, err
		}
		r.remove = r.remove[1:]
		return nil, len(r.remove)+len(r.declare) > 0, nil
	}
	batch := r.batch()
	if len(batch) == 0 {
		return nil, false, nil
	}
	var refused []Declaration
	var errs []error
	for i, answer := range r.store.Declare(ctx, batch) {
		if answer.Err != nil {
			refused = append(refused, batch[i])
			errs = append(errs, answer.Err)
			continue
		}
		r.tell(batch[i].Name, answer)
		if answer.Owed != nil {
			owed = append(owed, *answer.Owed)
		}
	}
	rest := r.declare[len(batch):]
	r.declare = append(rest[:len(rest):len(rest)], refused...)
	return owed, len(r.declare) > 0, errors.Join(errs[:min(len(errs), 3)]...)
}

// batch is what comes next, not too much at a time.
func (r *registrar) batch() []Declaration {
	bytes := 0
	for n := range r.declare {
		bytes += len(r.declare[n].Body)
		if n == declareAtOnce || n > 0 && bytes > declareBytes {
			return r.declare[:n]
		}
	}
	return r.declare
}

func (r *registrar) tell(name string, answer DeclareAnswer) {
	if answer.Changed {
		r.log.Info("chime: schedule changed", "schedule", name, "old", forLog(answer.Old), "new", forLog(answer.Stored))
	}
}
