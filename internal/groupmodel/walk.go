package groupmodel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A walk drives a Queue and a Model side by side.
type walk struct {
	queue   Queue
	model   *Model
	now     int64
	body    int
	flights []Flight // all that there were
	trace   []string
}

// epoch is the instant at which a walk begins, in Unix milliseconds. Steps back of the clock do not reach 0.
const epoch = 946_684_800_000

// Run makes operations on an empty queue and returns an error at the first answer that the specification does not allow. The error lists all calls.
func Run(q Queue, ops []Operation) error { return RunEvery(q, ops, 1) }

// RunEvery is Run that compares the groups only after every n-th operation and after the last one.
func RunEvery(q Queue, ops []Operation, n int) error {
	w := &walk{queue: q, model: New(), now: epoch}
	for i, o := range ops {
		if err := w.step(o, (i+1)%n == 0 || i == len(ops)-1); err != nil {
			return fmt.Errorf("%w, after\n  %s", err, strings.Join(w.trace, "\n  "))
		}
	}
	return nil
}

// step makes one operation, and compares its answer and, if requested, every group after it.
func (w *walk) step(o Operation, groups bool) error {
	if w.open(o) {
		return nil
	}
	w.trace = append(w.trace, fmt.Sprintf("%d ms: %s", w.now-epoch, o))
	err := w.make(o)
	if err != nil {
		return fmt.Errorf("%s: %w", o, err)
	}
	if want, got := w.model.Woken(), w.queue.Woken(); want > 0 && got == 0 {
		return fmt.Errorf("%s: a job may start now, and no sleeper was woken", o)
	}
	if !groups {
		return nil
	}
	for _, g := range slices.Clone(w.model.sorted) {
		if err := w.compare(g.key); err != nil {
			return fmt.Errorf("%s: %w", o, err)
		}
	}
	return nil
}

// compare compares what lists show of a group.
func (w *walk) compare(key string) error {
	want, got := w.model.Group(key, w.now), w.queue.Group(key, w.now)
	g := w.model.group(key)
	switch {
	case want.Waiting == 0:
		got.Blocked, got.By, got.Until = "", "", 0
	case slices.Contains(w.model.reasons(g, w.now), got.Blocked):
		want.block(w.model, g, got.Blocked)
	}
	if got != want {
		return fmt.Errorf("group %s is %+v, want %+v", key, got, want)
	}
	return nil
}

// open reports whether an operation makes no sense now, or whether the specification leaves its effect open.
func (w *walk) open(o Operation) bool {
	j := w.model.jobs[o.ID]
	if w.model.over[o.ID] && w.model.once[o.ID] > w.now { // the clock has stepped back to before the end of Once
		return true
	}
	full := o.Group != "" && o.Kind != setGroup && w.model.rule(o.Group).Waiting > 0
	switch o.Kind {
	case enqueue: // whether a delayed job counts for Waiting
		return full && o.After > 0
	case enqueueMany: // what becomes of the other items if one is too many
		return full && (o.After > 0 || len(w.model.group(o.Group).line)+o.N > w.model.rule(o.Group).Waiting)
	case replace: // a group that is full; a flight that was cancelled; a delay in line or in flight
		return full || j != nil && (j.cancelled || o.After > 0 && (j.state == waiting || j.state == flying))
	case cancel: // a flight that something replaces when it ends; a plain job that was cancelled before
		return j != nil && j.next != nil || j == nil && w.model.void[o.ID]
	case take, takeServing: // a session that has vanished
		return w.model.gone[o.Session] && len(w.model.flightsOf(o.Session)) > 0
	case takeAgain: // a session that has made another call, or that somebody asked to end a job
		return !w.model.repeatable(o.Session)
	case crash:
		return w.model.gone[o.Session]
	case reap:
		return !w.model.gone[o.Session]
	case done, fail, snooze, die, park, back, late:
		_, ok := w.pick(o)
		return !ok
	}
	return false
}

// pick returns the flight that an operation settles.
func (w *walk) pick(o Operation) (Flight, bool) {
	var flights []Flight
	for _, f := range w.flights {
		j := w.model.jobs[f.ID]
		current := j != nil && j.state == flying && j.number == f.Number
		switch {
		case current && w.model.gone[j.session]:
		case current || o.Kind == late:
			flights = append(flights, f)
		}
	}
	if len(flights) == 0 {
		return Flight{}, false
	}
	if o.Pick < 0 {
		return flights[max(len(flights)+o.Pick, 0)], true
	}
	return flights[o.Pick%len(flights)], true
}

// make makes an operation on both, and compares the answers.
func (w *walk) make(o Operation) error {
	q, m, now := w.queue, w.model, w.now
	switch o.Kind {
	case enqueue:
		i := w.item(o.ID, o)
		return same(q.Enqueue(i, now), m.Enqueue(i, now))
	case replace:
		i := w.item(o.ID, o)
		return same(q.Replace(i, now), m.Replace(i, now))
	case enqueueMany:
		var items []Item
		for n := range o.N {
			items = append(items, w.item(fmt.Sprintf("%s.%d", o.ID, (n*7)%o.N), o))
		}
		return same(fmt.Sprint(q.EnqueueMany(items, now)), fmt.Sprint(m.EnqueueMany(items, now)))
	case take, takeServing:
		f := q.Take
		if o.Kind == takeServing {
			f = q.TakeServing
		}
		got := f(o.Session, o.N, now)
		w.flights = append(w.flights, got.Flights...)
		w.trace = append(w.trace, fmt.Sprintf("  → %+v", got))
		return m.Follow(o.Session, o.N, now, o.Kind == takeServing, got)
	case takeAgain:
		return same(fmt.Sprintf("%+v", q.TakeAgain(o.Session, now)), fmt.Sprintf("%+v", m.TakeAgain(o.Session, now)))
	case done, fail, snooze, die, park, back, late:
		f, _ := w.pick(o)
		w.trace = append(w.trace, fmt.Sprintf("  → %s, flight %d", f.ID, f.Number))
		return same(settle(q, o, f, now), settle(m, o, f, now))
	case serve:
		return same(q.Serve(now), m.Serve(now))
	case crash:
		q.Crash(o.Session, now)
		m.Crash(o.Session, now)
	case reap:
		got := q.Reap(o.Session, o.N, now)
		w.trace = append(w.trace, fmt.Sprintf("  → %+v", got))
		return m.FollowReap(o.Session, o.N, now, got)
	case cancel:
		return same(q.Cancel(o.ID, now), m.Cancel(o.ID, now))
	case remove:
		return same(q.Delete(o.ID, now), m.Delete(o.ID, now))
	case requeue:
		return same(q.Requeue(o.ID, now), m.Requeue(o.ID, now))
	case purge:
		return same(q.Purge(now), m.Purge(now))
	case purgeGroup:
		return same(q.PurgeGroup(o.Group, now), m.PurgeGroup(o.Group, now))
	case sweep:
		q.Sweep(now)
		m.Sweep(now)
	case verify:
		return same(q.Verify(now), m.Verify(now))
	case deleteQueue:
		return same(q.DeleteQueue(now), m.DeleteQueue(now))
	case advance:
		w.now += o.After
		q.Advance(w.now)
		m.Advance(w.now)
	case stepBack:
		q.Rewrite(now)
		m.Rewrite(now)
		w.now -= o.After
		q.StepBack(w.now)
		m.StepBack(w.now)
	default:
		return same(change(q, o, now), change(m, o, now))
	}
	return nil
}

func (w *walk) item(id string, o Operation) Item {
	w.body++
	return Item{ID: id, Group: o.Group, Delay: o.After, Once: o.Once, Body: w.body}
}

// settle makes a settlement.
func settle(q Queue, o Operation, f Flight, now int64) bool {
	switch o.Kind {
	case fail:
		return q.Fail(f, o.After, now)
	case snooze:
		return q.Snooze(f, o.After, now)
	case die:
		return q.Dead(f, now)
	case park:
		return q.Park(f, now)
	case back:
		return q.Back(f, now)
	}
	return q.Done(f, now)
}

// change makes a change of rules or pauses, and reports whether it was refused.
func change(q Queue, o Operation, now int64) (refused bool) {
	switch o.Kind {
	case setGroup:
		return errors.Is(q.SetGroup(o.Group, o.Rule, now), ErrInvalid)
	case setGroups:
		return errors.Is(q.SetGroups(o.Rule, now), ErrInvalid)
	case resetGroup:
		q.ResetGroup(o.Group, now)
	case pauseGroup:
		return errors.Is(q.PauseGroup(o.Group, now), ErrInvalid)
	case resumeGroup:
		q.ResumeGroup(o.Group, now)
	default:
		panic("groupmodel: no call " + string(o.Kind))
	}
	return false
}

func same[T comparable](got, want T) error {
	if got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	return nil
}
