package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
)

// A Kind is a job name and the type of its arguments, bound once for enqueuers and handlers. Create one with Define; the
// zero value has no name.
type Kind[T any] struct {
	name     string
	defaults *kindDefaults // nil: none
}

// A KindOption is a default of a kind, see Define: GroupBy, every EnqueueOption and every HandlerOption, except ID and At.
type KindOption interface{ kind(*kindDefaults) }

// kindDefaults are the options of a kind, by what they apply to: an option may be in all three lists.
type kindDefaults struct {
	enqueues  []EnqueueOption
	schedules []ScheduleOption
	handlers  []HandlerOption
	groupBy   *groupByOption // nil: none
	problems  []error
}

// enqueue applies the kind's options as one EnqueueOption, so that they can be distinguished from a call's options.
func (d *kindDefaults) enqueue(s *enqueueSettings) {
	for _, option := range d.enqueues {
		option.enqueue(s)
	}
}

func (d *kindDefaults) trigger(s *triggerSettings) {
	group := s.group
	d.enqueue(&s.enqueueSettings)
	s.group = group // a manual run has that of its schedule
}

func (d *kindDefaults) kind(of *kindDefaults) {
	of.problems = append(of.problems, protocol.Invalid("default", "those of another kind", "an option of this package"))
}

var (
	kinds      sync.Map // job name -> reflect.Type of its arguments
	kindQueues sync.Map // job name -> the default queue of its kind; empty: it was defined with several
)

// Define binds a job name to the type of its arguments. The usual place is a package-level variable, in a package that enqueuers and
// handlers both import. It panics if the name is not 1 to 100 of A-Z a-z 0-9 _ . : -, if it is already bound to another type, and if an
// option is nil, out of range, ID or At.
//
// The defaults are options that apply wherever the kind is used: all of them for Enqueue and Item; GroupBy and every JobOption for Schedule
// and With; MaxAttempts, Timeout and Backoff for Handle. They do not apply to a job that is enqueued by its name. The order of the options
// does not matter. Each setting is taken from the first of these that has it: the call, the kind, the handler, the worker, chime's own default.
func Define[T any](name string, defaults ...KindOption) Kind[T] {
	if err := protocol.CheckName("job name", name); err != nil {
		panic("chime: Define: " + err.Error())
	}
	d, err := newKindDefaults(defaults)
	if err != nil {
		panic(fmt.Sprintf("chime: Define %q: %v", name, err))
	}
	args := reflect.TypeFor[T]()
	if d != nil && d.groupBy != nil && d.groupBy.args != args {
		panic(fmt.Sprintf("chime: Define %q: GroupBy has a function of %v, want one of the arguments, %v", name, d.groupBy.args, args))
	}
	if bound, ok := kinds.LoadOrStore(name, args); ok && bound != args {
		panic(fmt.Sprintf("chime: Define %q: its arguments are %v already, not %v", name, bound, args))
	}
	if queue := d.queueOf(); queue != "" {
		if other, ok := kindQueues.LoadOrStore(name, queue); ok && other != queue {
			kindQueues.Store(name, "")
		}
	}
	return Kind[T]{name: name, defaults: d}
}

// queueOf returns the default queue of a kind; empty: it has none.
func (d *kindDefaults) queueOf() string {
	var job enqueueSettings
	if d != nil {
		d.enqueue(&job)
	}
	return job.queue
}

// newKindDefaults checks and sorts the defaults of a kind. It returns nil without options.
func newKindDefaults(options []KindOption) (*kindDefaults, error) {
	if len(options) == 0 {
		return nil, nil
	}
	d := new(kindDefaults)
	for _, option := range options {
		if option == nil {
			return nil, errNilOption
		}
		option.kind(d)
	}
	var job enqueueSettings
	var handler handlerSettings
	d.enqueue(&job)
	for _, option := range d.handlers {
		if _, is := option.(EnqueueOption); !is { // problems of the others are already recorded
			option.handler(&handler)
		}
	}
	return d, errors.Join(append(append(d.problems, job.problems...), handler.problems...)...)
}

// Name returns the job name.
func (k Kind[T]) Name() string { return k.name }

// Handle registers the handler of the kind's jobs on a worker. A job becomes dead if its arguments cannot be decoded. It also becomes dead if it has
// no arguments, unless T is a pointer, a slice, a map, an interface or a struct without fields. Like [Worker.Handle],
// it panics on a nil handler, an invalid option and a second handler. The kind's defaults override the options.
func (k Kind[T]) Handle(worker *Worker, handler func(ctx context.Context, job *Job, args T) error, options ...HandlerOption) {
	if handler == nil {
		panic(fmt.Sprintf("chime: Handle %q: nil handler", k.name))
	}
	if k.defaults != nil {
		options = slices.Concat(options, k.defaults.handlers) // the last one counts
	}
	worker.Handle(k.name, k.Handler(handler), options...)
}

// Handler turns a function of typed arguments into a Handler, for middleware and for tests. If Handle would make the job dead because of its
// arguments, it returns an error of [Discard].
func (k Kind[T]) Handler(handler func(ctx context.Context, job *Job, args T) error) Handler {
	return func(ctx context.Context, job *Job) error {
		var args T
		if err := discardUnreadable(wire.DecodeArgs(job.Payload, &args)); err != nil {
			return err
		}
		return handler(ctx, job, args)
	}
}

// HandleMany registers a handler on a worker that gets several jobs of the kind in one call, as [Worker.HandleMany] does. args[i] are the arguments of
// jobs[i]. A job that Handle would make dead because of its arguments is dead, and the handler does not get it; without any other job the handler is not
// called. The kind's defaults override the options.
func (k Kind[T]) HandleMany(worker *Worker, many Many, handler func(ctx context.Context, jobs []*Job, args []T) error, options ...HandlerOption) {
	if handler == nil {
		panic(fmt.Sprintf("chime: HandleMany %q: nil handler", k.name))
	}
	if k.defaults != nil {
		options = slices.Concat(options, k.defaults.handlers) // the last one counts
	}
	worker.HandleMany(k.name, many, k.ManyHandler(handler), options...)
}

// ManyHandler turns a function of typed arguments into a ManyHandler, for middleware and for tests. If HandleMany would make jobs dead because of their
// arguments, its error has an error of [Discard] for each of them, which the worker finds also beside the handler's error.
func (k Kind[T]) ManyHandler(handler func(ctx context.Context, jobs []*Job, args []T) error) ManyHandler {
	return func(ctx context.Context, jobs []*Job) error {
		var unreadable Each
		readable, args := make([]*Job, 0, len(jobs)), make([]T, 0, len(jobs))
		for _, job := range jobs {
			var one T
			if err := discardUnreadable(wire.DecodeArgs(job.Payload, &one)); err != nil {
				if unreadable == nil {
					unreadable = Each{}
				}
				unreadable[job.ID] = err
				continue
			}
			readable, args = append(readable, job), append(args, one)
		}
		var err error
		if len(readable) > 0 {
			err = handler(ctx, readable, args)
		}
		if unreadable == nil {
			return err
		}
		return &partly{left: unreadable, err: err}
	}
}

// Enqueue puts one job of this kind on its queue, as [Enqueuer.Enqueue] does. The options override the kind's defaults.
func (k Kind[T]) Enqueue(ctx context.Context, e *Enqueuer, args T, options ...EnqueueOption) (Receipt, error) {
	return e.Enqueue(ctx, k.name, args, k.grouped(args, options)...)
}

// Item is one job of this kind for [Enqueuer.EnqueueMany]. The options override the kind's defaults.
func (k Kind[T]) Item(args T, options ...EnqueueOption) Item {
	return Item{Name: k.name, Args: args, Options: k.grouped(args, options)}
}

// Queue returns the queue of the kind's jobs: that of its option [Queue], or "default". If a call names another one, or the Enqueuer has another
// default and the kind has none, use the Queue of the receipt with [Jobs] instead of the methods below.
func (k Kind[T]) Queue() string {
	var job enqueueSettings
	if k.defaults != nil {
		k.defaults.enqueue(&job)
	}
	return cmp.Or(job.queue, defaultQueue)
}

// Get returns a job on the kind's queue, as [Jobs.Get] does.
func (k Kind[T]) Get(ctx context.Context, jobs *Jobs, id string) (*JobInfo, error) {
	return jobs.Get(ctx, k.Queue(), id)
}

// Cancel cancels a job on the kind's queue, as [Jobs.Cancel] does.
func (k Kind[T]) Cancel(ctx context.Context, jobs *Jobs, id string) (CancelResult, error) {
	return jobs.Cancel(ctx, k.Queue(), id)
}

// Wait waits until a job on the kind's queue has ended, and decodes its result into v, as [Jobs.Wait] does. The function [Wait] returns the result.
func (k Kind[T]) Wait(ctx context.Context, jobs *Jobs, id string, v any) error {
	return jobs.Wait(ctx, k.Queue(), id, v)
}

// Wait waits until a job on a kind's queue has ended, and returns its result, as [Jobs.Wait] does: the zero value if the job has none.
//
//	total, err := chime.Wait[int](ctx, jobs, Report, receipt.ID)
func Wait[R, T any](ctx context.Context, jobs *Jobs, kind Kind[T], id string) (R, error) {
	var result R
	err := jobs.Wait(ctx, kind.Queue(), id, &result)
	return result, err
}

// options puts the kind's defaults before a call's options: the last one counts.
func (k Kind[T]) options(options []EnqueueOption) []EnqueueOption {
	if k.defaults == nil {
		return options
	}
	return append(append(make([]EnqueueOption, 0, len(options)+1), k.defaults), options...)
}

// grouped is options with the group that the arguments have by GroupBy.
func (k Kind[T]) grouped(args T, options []EnqueueOption) []EnqueueOption {
	if k.defaults == nil || k.defaults.groupBy == nil {
		return k.options(options)
	}
	return append(append(make([]EnqueueOption, 0, len(options)+2), k.defaults, groupedOption{groupOf(k.defaults.groupBy.of(args))}), options...)
}

// Schedule declares a schedule that creates jobs of this kind, as [Scheduler.Schedule] does. The options override the kind's defaults.
func (k Kind[T]) Schedule(scheduler *Scheduler, name string, rec recurrence.Recurrence, args T, options ...ScheduleOption) error {
	return scheduler.Schedule(name, rec, append([]ScheduleOption{k.With(args)}, options...)...)
}

// With sets the job name and the arguments of a schedule's jobs, for [Schedules.Put]. Other options of the call override the kind's
// defaults, before and after With.
func (k Kind[T]) With(args T) ScheduleOption {
	return scheduleOption(func(s *scheduleSettings) {
		s.args, s.jobName, s.kind = args, k.name, jobSettings{}
		if k.defaults == nil {
			return
		}
		var kind scheduleSettings
		for _, option := range k.defaults.schedules {
			option.schedule(&kind)
		}
		s.kind = kind.jobSettings
		if by := k.defaults.groupBy; by != nil {
			groupOf(by.of(args))(&s.kind)
			s.problems = append(s.problems, s.kind.problems...)
		}
	})
}
