package tick

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

const (
	stepTime   = 200 * time.Millisecond // how long a step works; then other duties have their turn
	maxRefused = 3                      // errors that a step returns
	maxChecked = 500                    // schedules in a call that checks whether they still exist as declared
)

// A reconciler keeps in the store what a program declared. At the start it writes every declaration and deletes what was removed. Later it checks
// from time to time whether its schedules are still as it has written them, and declares again what the store has lost:
//
//	not there             declared again, unless it was deleted after this program declared it
//	at a lower revision   declared again: the store went back to an earlier state
//	at a higher revision  left as it is: somebody has changed it since
//	in another queue      likewise
//	edited by hand        likewise: it is logged, and a next start declares it
//	of a newer form       left as it is: this program cannot read it
//	pruned                declared again: another owner does not want it any more, and its deletion did not mean this program. If a higher
//	                      version of this program's owner has pruned it, the store leaves it deleted
//	not in the registry   the store registers it again as it is: to declare it again would undo somebody's changes
//
// So two versions of a program never overwrite each other in turn. A failover or a restart from an older file loses nothing that the program
// knows.
//
// The program remembers a deletion that a check has found as long as it runs, even if the store forgets it. The deletion ends when somebody has
// created the schedule again. A deletion that the store loses before any check has found it cannot be distinguished from a loss: the schedule is
// declared again.
type reconciler struct {
	store    protocol.ScheduleStore
	log      *slog.Logger
	declared []protocol.Declaration
	wrote    []written // for each declaration
	declare  []int     // indexes of those still to be written
	remove   []string  // names still to be deleted
	outdated bool      // it was logged that a higher version has declared
	newer    bool      // it was logged that a definition has a newer format than this program can read
	pruner
}

// written is the store's answer to a declaration, and its later state; zero: the declaration has not been written yet.
type written struct {
	address  protocol.Address
	revision int64
	at       time.Time // by the store's clock: an earlier deletion was of an earlier schedule of that name
	deleted  bool      // it was found deleted, and not created again since
}

// lost notes the state of the schedule, and reports whether the store has lost it, so that it is to be declared again.
func (w *written) lost(s protocol.Standing) bool {
	switch {
	case s.Moved || s.Revision > w.revision: // somebody has changed it or created it again: the earlier deletion is over
		w.deleted = false
		if s.Deleted.After(w.at) {
			w.at = s.Deleted
		}
	case s.Revision == 0 && !s.Unreadable && s.Deleted.After(w.at):
		w.deleted = true
	}
	return !w.deleted && !s.Moved && !s.Unreadable && s.Revision < w.revision
}

func newReconciler(store protocol.ScheduleStore, o Options) reconciler {
	r := reconciler{store: store, log: o.Log, declared: slices.Clone(o.Declared), wrote: make([]written, len(o.Declared)), remove: o.Removed}
	for i := range r.declared {
		r.declare = append(r.declare, i)
		r.declared[i].AnyFirst = true // programs may have different SchedulerOptions.NoImmediateRuns, which matter only at a creation
		if o.Owner.Version > 0 {
			r.declared[i].Owner = o.Owner
		}
	}
	if o.Prune && o.Owner.Version > 0 {
		r.pruner = pruner{store: store, log: o.Log, owner: o.Owner}
	}
	return r
}

// step deletes what was removed and writes declarations, for stepTime. The next batch is sent while place computes the first occurrences of the
// last one, so that the store and this program work at the same time. What the store refuses is tried again in the next step and does not delay
// the rest. more reports whether anything is left.
func (r *reconciler) step(ctx context.Context, place func([]protocol.Owed)) (more bool, err error) {
	began := time.Now()
	timeLeft := func() bool { return ctx.Err() == nil && time.Since(began) < stepTime }
	errs := r.removeSome(ctx, timeLeft)
	var refused []int
	for which, answers := r.send(ctx); len(which) > 0; {
		got := <-answers
		r.declare = r.declare[len(which):]
		owed, failed, bad := r.receive(which, got)
		errs, refused = append(errs, bad...), append(refused, failed...)
		storeFails := len(failed) == len(which)
		which = nil
		if !storeFails && timeLeft() {
			which, answers = r.send(ctx)
		}
		if len(owed) > 0 {
			place(owed)
		}
	}
	r.declare = append(r.declare, refused...)
	if len(r.declare) == 0 { // before that, pruning would delete what is not declared yet
		errs = append(errs, r.prune(ctx, timeLeft)...)
	}
	return len(r.remove)+len(r.declare) > 0 || r.pruner.pending(), errors.Join(errs[:min(len(errs), maxRefused)]...)
}

// removeSome deletes schedules while there is time. Failed deletions are repeated later.
func (r *reconciler) removeSome(ctx context.Context, timeLeft func() bool) (errs []error) {
	var failed []string
	for len(r.remove) > 0 && timeLeft() {
		name := r.remove[0]
		r.remove = r.remove[1:]
		if _, err := r.store.Remove(ctx, protocol.Removal{Name: name}); err != nil {
			errs, failed = append(errs, err), append(failed, name)
		}
	}
	r.remove = append(r.remove[:len(r.remove):len(r.remove)], failed...)
	return errs
}

// send begins to declare the next batch. If the batch is not empty, its answers always arrive.
func (r *reconciler) send(ctx context.Context) ([]int, <-chan []protocol.DeclareAnswer) {
	which := r.batch()
	answers := make(chan []protocol.DeclareAnswer, 1)
	if len(which) > 0 {
		batch := make([]protocol.Declaration, len(which))
		for j, i := range which {
			batch[j] = r.declared[i]
		}
		go func() { answers <- Declare(ctx, r.store, batch) }()
	}
	return which, answers
}

// receive handles the answers to a batch. It returns the schedules that are owed their next occurrence, and those that were refused.
func (r *reconciler) receive(which []int, answers []protocol.DeclareAnswer) (owed []protocol.Owed, refused []int, errs []error) {
	for j, answer := range answers {
		i := which[j]
		if answer.Err != nil {
			refused, errs = append(refused, i), append(errs, answer.Err)
			continue
		}
		r.wrote[i] = written{address: protocol.Address{Partition: answer.Partition, Name: r.declared[i].Name}, revision: answer.Revision, at: answer.Now}
		if answer.Outdated && !r.outdated {
			r.outdated = true
			r.log.Warn("chime: a higher version of this program has declared schedules: this version does not change them", "event", "schedule.outdated",
				"schedule", r.declared[i].Name, "queue", r.declared[i].Queue, "owner", r.declared[i].Owner.Name, "version", r.declared[i].Owner.Version)
		}
		if answer.Newer && !r.newer {
			r.newer = true
			err := schedule.Unchangeable(answer.Stored)
			r.log.Warn("chime: schedules that this program declares have a newer form, or are sealed: it does not change them", "event", "schedule.newer",
				"schedule", r.declared[i].Name, "queue", r.declared[i].Queue, "error", err)
		}
		if answer.New {
			text := "chime: schedule created"
			if plan, err := schedule.Compile(answer.Stored); err == nil && plan.RunsAtCreation() {
				text = "chime: schedule created: it runs now, and then as its rule says"
			}
			r.log.Info(text, "event", "schedule.created", "schedule", r.declared[i].Name, "queue", r.declared[i].Queue, "after", schedule.ForLog(answer.Stored))
		}
		if answer.Changed {
			r.log.Info("chime: schedule changed", "event", "schedule.changed", "schedule", r.declared[i].Name, "queue", r.declared[i].Queue,
				"before", schedule.ForLog(answer.Old), "after", schedule.ForLog(answer.Stored))
		}
		if !answer.Replanned.IsZero() {
			logReplanned(r.log, answer.Owed, answer.Replanned)
		}
		if answer.Owed != nil {
			owed = append(owed, *answer.Owed)
		}
	}
	return owed, refused, errs
}

// batch returns the declarations of the next call, as many as fit.
func (r *reconciler) batch() []int {
	bytes := 0
	for n, i := range r.declare {
		bytes += len(r.declared[i].Body)
		if n == protocol.MaxDeclared || n > 0 && bytes > protocol.MaxBytes {
			return r.declare[:n]
		}
	}
	return r.declare
}

// check finds the written schedules that the store has lost, and marks them to be written again. It returns how many there are.
func (r *reconciler) check(ctx context.Context) (lost int, err error) {
	var which []int
	for i := range r.wrote {
		if r.wrote[i].revision > 0 {
			which = append(which, i)
		}
	}
	for len(which) > 0 {
		some := which[:min(len(which), maxChecked)]
		which = which[len(some):]
		asked := make([]protocol.Address, len(some))
		for j, i := range some {
			asked[j] = r.wrote[i].address
		}
		standings, err := r.store.Standings(ctx, asked)
		if err != nil {
			return lost, err
		}
		for j, i := range some {
			if r.wrote[i].lost(standings[j]) {
				r.wrote[i] = written{} // it is written again, and then checked again
				r.declare = append(r.declare, i)
				lost++
			}
		}
	}
	return lost, nil
}
