package chime

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

// A Kind is a job name and the type of its arguments, bound once for those who enqueue and those who handle. Define makes one; the
// zero value has no name.
type Kind[T any] struct{ name string }

var kinds sync.Map // job name -> reflect.Type of its arguments

// Define binds a job name to the type of its arguments. The usual place is a package-level variable, in a package that those who
// enqueue and those who handle both import. It panics if the name is not 1 to 100 of A-Z a-z 0-9 _ . : -, and if it is bound to
// another type already.
func Define[T any](name string) Kind[T] {
	if err := protocol.CheckName("job name", name); err != nil {
		panic("chime: Define: " + err.Error())
	}
	args := reflect.TypeFor[T]()
	if bound, ok := kinds.LoadOrStore(name, args); ok && bound != args {
		panic(fmt.Sprintf("chime: Define %q: its arguments are %v already, not %v", name, bound, args))
	}
	return Kind[T]{name: name}
}

// Name returns the job name.
func (k Kind[T]) Name() string { return k.name }

// Handle registers the handler of the kind's jobs on a worker. A job whose arguments cannot be decoded ends in the dead set. Like
// [Worker.Handle] it panics on a nil handler and on a second one.
func (k Kind[T]) Handle(worker *Worker, handler func(ctx context.Context, job *Job, args T) error, options ...HandlerOption) {
	if handler == nil {
		panic(fmt.Sprintf("chime: Handle %q: nil handler", k.name))
	}
	worker.Handle(k.name, func(ctx context.Context, job *Job) error {
		var args T
		if err := job.Decode(&args); err != nil {
			return err
		}
		return handler(ctx, job, args)
	}, options...)
}

// Enqueue puts one job of this kind on its queue, as [Enqueuer.Enqueue] does.
func (k Kind[T]) Enqueue(ctx context.Context, e *Enqueuer, args T, options ...EnqueueOption) (Receipt, error) {
	return e.Enqueue(ctx, k.name, args, options...)
}

// Item is one job of this kind for [Enqueuer.EnqueueMany].
func (k Kind[T]) Item(args T, options ...EnqueueOption) Item {
	return Item{Name: k.name, Args: args, Options: options}
}

// Schedule declares a schedule that makes jobs of this kind, as [Scheduler.Schedule] does.
func (k Kind[T]) Schedule(scheduler *Scheduler, name string, rec recurrence.Recurrence, args T, options ...ScheduleOption) error {
	return scheduler.Schedule(name, rec, append([]ScheduleOption{k.With(args)}, options...)...)
}

// With sets the job name and the arguments of a schedule's jobs, for [Schedules.Put].
func (k Kind[T]) With(args T) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) { s.args, s.jobName = args, k.name })
}
