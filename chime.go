// Package chime is a background job scheduler for Go applications on a Redis they already run: recurring schedules, one-off
// and delayed jobs, and the workers that run them, in one process or in many.
//
// # What do I type
//
//	store := redisstore.New(redis.NewClient(&redis.Options{Addr: "localhost:6379"}), redisstore.Options{})
//
//	worker := chime.NewWorker(store, chime.WorkerOptions{})
//	worker.Handle("report", func(ctx context.Context, job *chime.Job) error {
//		var args ReportArgs
//		if err := job.Decode(&args); err != nil {
//			return err
//		}
//		return send(ctx, job.ID, args) // the ID is the same in all attempts
//	})
//
//	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{})
//	scheduler.Schedule("report", recurrence.Recurrence{Cron: "0 9 * * 1-5", TimeZone: "Europe/Berlin"})
//
//	err := chime.Run(ctx, scheduler, worker) // until ctx ends: one of signal.NotifyContext
//
// and, wherever something is to be done later:
//
//	receipt, err := enqueuer.Enqueue(ctx, "report", ReportArgs{Customer: "c1"}, chime.In(time.Hour))
//
// [Define] binds a job's name to the type of its arguments, for those who enqueue and those who handle.
//
// # What does it promise
//
//   - An occurrence of a schedule is placed exactly once, whatever crashes and however many schedulers run. Its ID is
//     "<schedule>@<planned instant>".
//   - A job runs at least once and ends in exactly one of done, waiting for its next attempt, dead. A process that vanishes
//     loses none: its jobs run again elsewhere within seconds, and this uses up no attempt.
//   - The result of a handler that lost its job meanwhile is refused: at most one completion counts.
//   - No job runs early. What is due or late is decided by the store's clock alone; those of the machines may be wrong.
//   - The next occurrence never waits for the last one to end. What happens when they overlap, and to those that were missed
//     while nothing ran, is a policy of the schedule: [OverlapPolicy], [MisfirePolicy].
//   - A store in trouble slows things down and is told; it ends nothing and loses no result.
//
// # What will bite me
//
//   - At least once means twice now and then: make effects idempotent by [Job].ID, or refuse older ones by [Job].Fence.
//   - A schedule without a start time runs at once when it is first declared; [NoImmediateRun] leaves that out.
//   - Deleting the line that declares a schedule does not delete the schedule: Scheduler.Remove and Schedules.Delete do.
//   - A handler that ignores its ctx keeps its slot until it returns, though its job has long been settled as failed.
//   - Redis replicates asynchronously: a failover can lose what was written last, jobs that were acknowledged included.
//   - A Redis that may evict keys loses jobs: workers, schedulers and enqueuers refuse any maxmemory-policy but noeviction.
//
// # Where is everything
//
// [Worker] runs handlers; [Scheduler] declares schedules at start, [Schedules] changes them at run time; [Enqueuer] adds jobs;
// [Run] starts and stops it all. Package recurrence says when, and is of use alone. Package redisstore is the [Store];
// redisstore/embedded is one in the process, for tests and a first try.
package chime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// A Role is what Run runs: a *Worker, a *Scheduler, or something of your own that is to begin and end with them.
type Role interface {
	// Run works until ctx ends, and returns when the work is finished: nil after a clean end.
	Run(ctx context.Context) error
}

// What chime's own roles tell Run beyond that.
type (
	// validator returns all that is wrong with a role's options and declarations.
	validator interface{ validate() error }
	// runner tells whether a role runs already, or has run.
	runner interface{ runs() bool }
	// laster is a role that goes on until all others have ended.
	laster interface{ stopsLast() bool }
)

// Run runs roles until ctx ends, then ends them in order: workers, and roles of your own, finish what they have in hand
// before schedulers hand over. It returns when all have returned.
//
// What is wrong with options and declarations of any role comes back, joined, before anything starts. A store that is down
// is waited for, and told through the roles' loggers. If a role fails, the others are ended in the same order and its error
// is returned. After ctx has ended Run returns nil, or a *DrainTimeoutError if handlers had to be cut off; never ctx.Err().
func Run(ctx context.Context, roles ...Role) error {
	if err := checkRoles(roles); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil
	}
	// Roles see the end of ctx only through stop, so that it has an order.
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	first, last := newStage(base), newStage(base)
	failed := make(chan struct{}, len(roles))
	for _, role := range roles {
		stage := first
		if l, ok := role.(laster); ok && l.stopsLast() {
			stage = last
		}
		stage.start(role, failed)
	}
	ended := make(chan struct{})
	go func() {
		first.roles.Wait()
		last.roles.Wait()
		close(ended)
	}()
	select {
	case <-ctx.Done():
	case <-failed:
	case <-ended:
	}
	errs := append(first.stop(), last.stop()...)
	<-ended
	return errors.Join(errs...)
}

func checkRoles(roles []Role) error {
	if len(roles) == 0 {
		return errors.New("chime: Run without roles: want a *Worker or a *Scheduler")
	}
	var bad []error
	for i, role := range roles {
		if role == nil || reflect.ValueOf(role).Kind() == reflect.Pointer && reflect.ValueOf(role).IsNil() {
			bad = append(bad, fmt.Errorf("chime: Run: role %d is nil", i))
			continue
		}
		if j := sameRole(roles[:i], role); j >= 0 {
			bad = append(bad, fmt.Errorf("chime: Run: roles %d and %d are the same %T", j, i, role))
			continue
		}
		if r, ok := role.(runner); ok && r.runs() {
			bad = append(bad, fmt.Errorf("chime: Run: role %d, a %T, runs already, or has run: make another one", i, role))
		}
		if v, ok := role.(validator); ok {
			if err := v.validate(); err != nil {
				bad = append(bad, err)
			}
		}
	}
	return errors.Join(bad...)
}

func sameRole(roles []Role, role Role) int {
	if !reflect.TypeOf(role).Comparable() || reflect.TypeOf(role).Size() == 0 {
		return -1
	}
	for i, other := range roles {
		if other == role {
			return i
		}
	}
	return -1
}

// stage is roles that are ended together.
type stage struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	roles  sync.WaitGroup
	mu     sync.Mutex
	errs   []error
}

func newStage(ctx context.Context) *stage {
	s := &stage{}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

func (s *stage) start(role Role, failed chan<- struct{}) {
	s.roles.Go(func() {
		err := role.Run(s.ctx)
		if err == nil || s.ctx.Err() != nil && (err == s.ctx.Err() || err == context.Cause(s.ctx)) {
			return
		}
		s.mu.Lock()
		s.errs = append(s.errs, err)
		s.mu.Unlock()
		failed <- struct{}{}
	})
}

// stop ends the stage's roles, waits for them, and returns how they failed.
func (s *stage) stop() []error {
	s.cancel(ErrShutdown)
	s.roles.Wait()
	return s.errs
}
