package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

// restLimit is how long work may be left when no fault is active and nothing is paused. A suspect waits up to a minute, and a clock that was ahead has
// delayed jobs by up to four.
const restLimit = 6 * time.Minute

// prepare sets the limit and the rules that the judge knows, before the first process starts.
func (w *World) prepare() {
	ctx, all := context.Background(), chime.NewQueues(w.store)
	err := errors.Join(all.Limit(ctx, queueLimited, chime.Limit{Running: 2}), all.SetGroups(ctx, queueGroups, chime.GroupRule{Weight: 1}))
	for _, g := range groups {
		err = errors.Join(err, all.SetGroup(ctx, queueGroups, g.name, ruleOf(g.name, 1)))
	}
	if err != nil {
		w.history.problem(broken, "prepare: %v", err)
	}
}

// rest waits until no work is left, and then checks the store. It delays the rest of the plan.
func (w *World) rest() {
	begun := time.Now()
	w.history.note(func() { w.history.Rests = append(w.history.Rests, begun) })
	w.acts.Wait()
	w.startAll()
	w.resume()
	w.seal()
	if w.back {
		w.back = false
		w.sweepAndRepair()
	}
	w.drained()
	w.verify()
	w.checkHomes()
	w.shift += time.Since(begun)
}

// resume resumes everything that an act may have paused.
func (w *World) resume() {
	ctx, all, schedules := context.Background(), chime.NewQueues(w.store), chime.NewSchedules(w.store)
	var failed []error
	for _, queue := range queues {
		failed = append(failed, ignore(all.Resume(ctx, queue)))
	}
	for _, g := range groups {
		failed = append(failed, ignore(all.ResumeGroup(ctx, queueGroups, g.name)))
	}
	for _, name := range changed {
		failed = append(failed, ignore(schedules.Resume(ctx, name)))
	}
	if err := errors.Join(failed...); err != nil {
		w.history.problem(refused, "resume: %v", err)
	}
}

// ignore returns an error unless what it concerns does not exist.
func ignore(err error) error {
	if errors.Is(err, chime.ErrNotFound) {
		return nil
	}
	return err
}

// sweepAndRepair does what sweeps and an operator do after a slot has gone back.
func (w *World) sweepAndRepair() {
	var partitions []protocol.Partition
	for _, queue := range queues {
		partitions = append(partitions, protocol.Partition{Queue: queue})
	}
	for range 3 { // a move that has to be completed first needs another one
		for _, answer := range w.store.Protocol().Sweep(context.Background(), partitions, 0) {
			if answer.Err != nil {
				w.history.problem(refused, "sweep: %v", answer.Err)
			}
		}
		time.Sleep(2 * time.Second) // fake time
	}
	for range 2 {
		if _, err := chime.Verify(context.Background(), w.store, chime.VerifyOptions{Repair: true}); err != nil {
			w.history.problem(refused, "verify with repair: %v", err)
		}
	}
	w.history.note(func() { w.history.Repaired = append(w.history.Repaired, time.Now()) })
}

// drained waits until no job of an act is left that is to run. Schedules continue.
func (w *World) drained() {
	for begun := time.Now(); ; time.Sleep(time.Second) { // fake time
		left, err := w.leftWork()
		switch {
		case err != nil:
			w.history.problem(refused, "read what is left: %v", err)
			return
		case len(left) == 0:
			return
		case time.Since(begun) > restLimit:
			w.history.problem(stuck, "%v after everything rested: %s", restLimit, strings.Join(left[:min(len(left), 8)], ", "))
			return
		}
	}
}

// leftWork returns the jobs that are to run, without occurrences that wait for their instant.
func (w *World) leftWork() (left []string, err error) {
	ctx, jobs := context.Background(), chime.NewJobs(w.store)
	for _, queue := range queues {
		info, err := chime.NewQueues(w.store).Get(ctx, queue)
		if errors.Is(err, chime.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if info.Outbox.Waiting > 0 {
			left = append(left, fmt.Sprintf("%d jobs for other queues on %s", info.Outbox.Waiting, queue))
		}
		if info.Waiting+info.Delayed+info.InFlight()+info.Parked == 0 {
			continue
		}
		for _, state := range []chime.JobState{chime.JobWaiting, chime.JobDelayed, chime.JobRetrying, chime.JobRunning, chime.JobTaken, chime.JobParked} {
			for job, err := range jobs.List(ctx, chime.JobFilter{Queue: queue, State: state, Limit: 500}) {
				if err != nil {
					return nil, err
				}
				if !strings.Contains(job.ID, "@") {
					left = append(left, fmt.Sprintf("%s (%s on %s)", job.ID, state, queue))
				}
			}
		}
	}
	open, err := w.openBatches()
	return append(left, open...), err
}

// verify requires that Verify finds nothing.
func (w *World) verify() {
	report, err := chime.Verify(context.Background(), w.store, chime.VerifyOptions{})
	if err != nil {
		w.history.problem(refused, "verify: %v", err)
		return
	}
	for _, f := range report.Findings {
		if f.Kind != chime.FoundUndefined || !w.history.putFailed(f.Schedule) { // a program may vanish between the two steps of a creation
			w.history.problem(damaged, "%s", f)
		}
	}
}

// checkHomes requires that each schedule lives in one queue, and a deleted one in none.
func (w *World) checkHomes() {
	homes := map[string][]string{}
	for _, queue := range queues {
		definitions, err := w.direct.HGetAll(context.Background(), "chime:{"+queue+"}:schedules").Result()
		if err != nil {
			w.history.problem(refused, "read the schedules of %s: %v", queue, err)
			return
		}
		for name, definition := range definitions {
			if !strings.Contains(definition[:min(len(definition), 100)], `"state":"moved to `) {
				homes[name] = append(homes[name], queue)
			}
		}
	}
	now := time.Now()
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	for name, in := range homes {
		slices.Sort(in)
		if len(in) > 1 {
			w.history.Problems.add(homeless, "schedule %s lives in %v", name, in)
		}
	}
	for _, name := range changed {
		switch should := w.history.shouldLive(name, now); {
		case should == yes && len(homes[name]) == 0:
			w.history.Problems.add(homeless, "schedule %s lives nowhere", name)
		case should == no && len(homes[name]) > 0:
			w.history.Problems.add(homeless, "schedule %s was deleted and lives in %v", name, homes[name])
		}
	}
	for _, d := range declarations {
		if d.in(1) && d.until == 0 && len(homes[d.name]) == 0 && slices.ContainsFunc(w.plan.Actors, func(a Actor) bool { return a.Role == Scheduler }) {
			w.history.Problems.add(homeless, "the declared schedule %s lives nowhere", d.name)
		}
	}
}
