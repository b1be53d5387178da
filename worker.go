package chime

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime/internal/guardlog"
	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/tick"
	"github.com/chimejobs/chime/internal/work"
)

// WorkerOptions are the options of a Worker. The zero value has the defaults.
type WorkerOptions struct {
	// Queues are the queues to take jobs from, each with a weight of 1 to 32767: a queue with weight 3 gets three times as many
	// of the free slots as a queue with weight 1, and all of them while the other one is empty. Empty means {"default": 1}.
	Queues map[string]int
	// Strict takes jobs from the queues in the order of their weights, the largest first, instead of in proportion to them: while a queue may have
	// a job to run now, nothing is taken from queues with smaller weights. Queues with equal weights share the slots equally. The queues
	// with smaller weights starve: as long as the others alone keep the worker busy, their jobs wait without a limit. To avoid that, leave a
	// worker without Strict, or another worker that serves only these queues. Jobs that were taken ahead of a free slot run first; that is
	// at most about 20 ms of work. A paused queue, and one whose limit is reached, let the others run.
	Strict bool
	// Concurrency is how many handlers may run at the same time. Zero means 10 × GOMAXPROCS.
	Concurrency int
	// SessionTTL is how long a worker that cannot reach the store keeps its jobs, 1 s or more. If it does not reach the store again, its jobs run
	// in another worker about a third of SessionTTL after that. The worker renews its session every SessionTTL/3. Zero means 12 s.
	SessionTTL time.Duration
	// DrainTimeout is how long Run waits for running handlers after its ctx has ended. Then their ctx ends with the cause
	// ErrShutdown. They have 2 s to return, and the store another 2 s to receive the last outcomes. So Run returns at most 5 s after
	// DrainTimeout, and 6 s if a Scheduler runs too: a process manager must wait longer than that before it kills. Zero means
	// 25 s, negative means no wait.
	DrainTimeout time.Duration
	// MaxCrashes sets how many workers may vanish while they run a job before the job is dead, 1 or more. Zero means 3. From the third crash on, a
	// crash counts only if no other job had begun beside it, or if it is the fifth. At most one run of a job that ends its worker is not counted.
	MaxCrashes int
	// Defaults are settings for jobs whose call, kind and handler do not have them: MaxAttempts, Timeout, Retry, Backoff.
	Defaults []HandlerOption
	// Observers are called with the worker's jobs and the occurrences that it places, and when the store fails.
	Observers []*Observer
	// Logger logs what the worker serves, how jobs fail, and a store that does not answer. Nil means slog.Default().
	Logger *slog.Logger
	// HideErrors leaves the errors and panics of handlers out of the log, with their stacks, because they may contain what [WithCodec] seals. False:
	// they are logged. Observers get them in any case.
	HideErrors bool
}

const minSessionTTL = time.Second

func (o WorkerOptions) withDefaults() WorkerOptions {
	if len(o.Queues) == 0 {
		o.Queues = map[string]int{defaultQueue: 1}
	}
	o.Concurrency = cmp.Or(o.Concurrency, defaultConcurrency*runtime.GOMAXPROCS(0))
	o.SessionTTL = cmp.Or(o.SessionTTL, defaultSessionTTL)
	o.DrainTimeout = max(cmp.Or(o.DrainTimeout, defaultDrainTimeout), 0)
	o.MaxCrashes = cmp.Or(o.MaxCrashes, defaultMaxCrashes)
	o.Logger = guardlog.New(cmp.Or(o.Logger, slog.Default()))
	return o
}

func (o WorkerOptions) validate() error {
	var errs []error
	for queue, weight := range o.Queues {
		if err := protocol.CheckName("queue", queue); err != nil {
			errs = append(errs, err)
		}
		if weight < 1 || weight > math.MaxInt16 {
			errs = append(errs, protocol.Invalid(fmt.Sprintf("weight of queue %.40q", queue), strconv.Itoa(weight), fmt.Sprintf("1 to %d", math.MaxInt16)))
		}
	}
	if o.Concurrency < 0 {
		errs = append(errs, protocol.Invalid("WorkerOptions.Concurrency", strconv.Itoa(o.Concurrency), "1 or more"))
	}
	if o.SessionTTL < minSessionTTL {
		errs = append(errs, protocol.Invalid("WorkerOptions.SessionTTL", o.SessionTTL.String(), minSessionTTL.String()+" or more"))
	}
	if o.MaxCrashes < 0 {
		errs = append(errs, protocol.Invalid("WorkerOptions.MaxCrashes", strconv.Itoa(o.MaxCrashes), "1 or more"))
	}
	if _, err := observing("WorkerOptions.Observers", o.Observers, o.Logger); err != nil {
		errs = append(errs, err)
	}
	if _, err := newHandlerSettings(o.Defaults); err != nil {
		errs = append(errs, fmt.Errorf("WorkerOptions.Defaults: %w", err))
	}
	return errors.Join(errs...)
}

// A Worker takes jobs from queues and runs their handlers. Create one with NewWorker; the zero value is not usable.
//
// A job runs at least once. A job runs again if its handler fails, and if its process vanishes or cannot reach the store for longer than
// SessionTTL. So handlers should be safe to repeat; Job.ID is the same in all attempts.
type Worker struct {
	store   protocol.Store
	options WorkerOptions

	processor, heartbeat, watch *observe.Pulse
	draining                    atomic.Bool

	mu             sync.Mutex
	handlers       map[string]*registration
	middleware     []func(Handler) Handler
	manyMiddleware []func(ManyHandler) ManyHandler
	ran            bool
	beside         map[string]bool // queues that the workers serve that chime.Run runs together with this one
}

// A registration is a handler with its options.
type registration struct {
	handler     Handler
	many        *Many // of a ManyHandler; nil: of a Handler
	manyHandler ManyHandler
	settings    handlerSettings
}

// NewWorker returns a worker that does nothing until Run. It does no I/O; Run returns an error for invalid options.
func NewWorker(store Store, options WorkerOptions) *Worker {
	return &Worker{
		store: protocolOf(store), options: options.withDefaults(), handlers: make(map[string]*registration),
		processor: observe.NewPulse(), heartbeat: observe.NewPulse(), watch: observe.NewPulse(),
	}
}

// Handle registers the handler for jobs of a name, 1 to 100 of A-Z a-z 0-9 _ . : -. Like net/http it panics on a nil handler, an invalid option,
// and an invalid or repeated name, and also if the worker already runs. Jobs of a name without a handler wait for a worker that has one.
func (w *Worker) Handle(name string, handler Handler, options ...HandlerOption) {
	w.register("Handle", name, &registration{handler: handler}, handler == nil, options)
}

// register adds the registration of a name; missing: its handler is nil. method names the caller in panics.
func (w *Worker) register(method, name string, r *registration, missing bool, options []HandlerOption) {
	if err := protocol.CheckName("job name", name); err != nil {
		panic("chime: " + method + ": " + err.Error())
	}
	refuse := func(why string) { panic(fmt.Sprintf("chime: %s %q: %s", method, name, why)) }
	if missing {
		refuse("nil handler")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ran {
		refuse("the worker runs already: register handlers before Run")
	}
	if w.handlers[name] != nil {
		refuse("there is a handler for this name")
	}
	var err error
	if r.settings, err = newHandlerSettings(options); err != nil {
		refuse(err.Error())
	}
	w.handlers[name] = r
}

// Handled returns the job names that have a handler, in order.
func (w *Worker) Handled() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.handlers))
}

// Use wraps every handler in middleware, also handlers registered before: functions that get a handler and return the one to
// call instead. The first one is the outermost. Each is called once for every handler, when the worker starts. Use panics on a
// nil middleware, and if the worker already runs. [Worker.UseMany] wraps handlers of HandleMany.
func (w *Worker) Use(middleware ...func(Handler) Handler) {
	addMiddleware(w, "Use", &w.middleware, middleware)
}

// addMiddleware adds middleware to a list of the worker. method names the caller in panics.
func addMiddleware[H any](w *Worker, method string, list *[]func(H) H, middleware []func(H) H) {
	if slices.ContainsFunc(middleware, func(m func(H) H) bool { return m == nil }) {
		panic("chime: " + method + ": nil middleware")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ran {
		panic("chime: " + method + ": the worker runs already: add middleware before Run")
	}
	*list = append(*list, middleware...)
}

// Run takes and runs jobs until ctx ends and the running handlers have returned, except handlers that ignored their timeout. If the store does
// not answer, Run waits for it and logs that. It returns nil after a clean drain, an error that wraps ErrDrainTimeout if handlers were cut off,
// and never ctx.Err(). A worker runs once.
func (w *Worker) Run(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("chime: worker: %w", errNilContext)
	}
	config, err := w.begin()
	if err != nil {
		return err
	}
	defer drains(ctx, &w.draining)()
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		tick.NewWatch(config.Observe.Store(w.store), tick.WatchOptions{Log: w.options.Logger, SafetyTick: workerSafetyTick, SessionTTL: w.options.SessionTTL, Polled: w.options.Queues, Observe: observe.Observer{Placed: config.Observe.Placed}, Pulse: w.watch}).Run(watching)
	})
	drained, err := work.Run(ctx, config.Observe.Store(w.store), config)
	stop()
	watch.Wait()
	if err != nil {
		return fmt.Errorf("chime: worker: %w", err)
	}
	var errs []error
	if len(drained.CutOff) > 0 {
		errs = append(errs, &DrainTimeoutError{IDs: drained.CutOff})
	}
	if drained.Unsettled > 0 {
		errs = append(errs, fmt.Errorf("chime: worker: the store did not take the outcomes of %d jobs: they run again once their session has lapsed", drained.Unsettled))
	}
	return errors.Join(errs...)
}

// validate returns every problem of the worker's options.
func (w *Worker) validate() error {
	return unusable("worker", w.store, w.options.validate())
}

// runBeside notes the queues of all workers that run together with this one.
func (w *Worker) runBeside(queues map[string]bool) {
	w.mu.Lock()
	w.beside = queues
	w.mu.Unlock()
}

// runs reports whether Run was called.
func (w *Worker) runs() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ran
}

// begin marks the worker as running and returns its configuration.
func (w *Worker) begin() (*work.Config, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ran {
		return nil, runsAlready("this worker")
	}
	w.ran = true
	if err := w.validate(); err != nil {
		return nil, err
	}
	config := &work.Config{
		Queues: w.options.Queues, Strict: w.options.Strict, Handlers: make(map[string]*work.Handler, len(w.handlers)), Concurrency: w.options.Concurrency,
		SessionTTL: w.options.SessionTTL, DrainTimeout: w.options.DrainTimeout, MaxCrashes: w.options.MaxCrashes,
		MaxAttempts: defaultMaxAttempts, OccurrenceAttempts: defaultOccurrenceAttempts, Timeout: defaultTimeout, Log: w.options.Logger, HideErrors: w.options.HideErrors,
		Processor: w.processor, Heartbeat: w.heartbeat, Outcome: outcomeOf, Panic: newPanicError, StackOf: stackOf,
	}
	for name := range w.handlers {
		if queue, _ := kindQueues.Load(name); queue != nil && queue != "" && w.options.Queues[queue.(string)] == 0 && !w.beside[queue.(string)] {
			if config.Astray == nil {
				config.Astray = map[string]string{}
			}
			config.Astray[name] = queue.(string)
		}
	}
	config.Observe, _ = observing("", w.options.Observers, w.options.Logger) // validate has checked them
	config.Attempt = new(handedJobs).next
	farther, _ := newHandlerSettings(w.options.Defaults) // validate has checked them
	for name, r := range w.handlers {
		settings := r.settings.or(farther)
		handler := &work.Handler{Name: name, MaxAttempts: settings.maxAttempts, Timeout: settings.timeout, Backoff: settings.backoff, Retry: settings.retry}
		config.Handlers[name] = handler
		if r.many != nil {
			handler.Many = r.ofWorker(w.manyMiddleware)
			continue
		}
		run := r.handler
		for i := len(w.middleware) - 1; i >= 0; i-- {
			run = w.middleware[i](run)
		}
		handler.Run = func(ctx context.Context, job *work.Job) error { return run(ctx, handedJob(job)) }
	}
	return config, nil
}

// outcomeOf is OutcomeOf for the engine.
func outcomeOf(err error) work.Outcome {
	o := OutcomeOf(err)
	return work.Outcome{Action: work.Action(o.Action), Delay: o.Delay, Delayed: o.Delayed, Err: o.Err}
}

func newPanicError(value any, stack []byte) error { return &PanicError{Value: value, Stack: stack} }

// stackOf returns the stack in a PanicError; nil if err has none.
func stackOf(err error) []byte {
	if panicked := (*PanicError)(nil); errors.As(err, &panicked) {
		return panicked.Stack
	}
	return nil
}

// A Handler runs jobs of one name. If it returns nil the job is done. If it returns an error the job is retried, unless the error
// is one of [RetryAfter], [Discard] or [Snooze]. It should return soon after ctx ends; context.Cause returns the reason.
type Handler func(ctx context.Context, job *Job) error

// JobFrom returns the job of the handler that got this ctx, or a ctx derived from it; nil elsewhere. With it, a slog.Handler can add the job
// to every line that a handler logs with its ctx.
func JobFrom(ctx context.Context) *Job {
	if ctx == nil {
		return nil
	}
	job, _ := work.JobFrom(ctx).(*Job)
	return job
}

// handedJobs allocates what handlers get: a job, and beside it the rest of its attempt. A handler may keep a job, so its memory is never
// reused. handedTogether jobs are allocated at once: keeping one keeps all of them, a few KiB. It belongs to one goroutine.
type handedJobs struct{ spare []handed }

type handed struct {
	attempt work.Attempt
	job     Job
}

const handedTogether = 10 // this many fit into 4 KiB, a size for which the allocator wastes nothing

// next is work.Config's Attempt.
func (h *handedJobs) next(near int) *work.Attempt {
	if near < 0 {
		return new(handed).seen()
	}
	if len(h.spare) == 0 {
		h.spare = make([]handed, min(1+near, handedTogether))
	}
	first := &h.spare[0]
	h.spare = h.spare[1:]
	return first.seen()
}

func (h *handed) seen() *work.Attempt {
	h.attempt.See(&h.job)
	return &h.attempt
}

// handedJob returns the job for a handler.
func handedJob(taken *work.Job) *Job {
	job := taken.Output.Seen().(*Job)
	*job = Job{
		ID: taken.ID, Name: taken.Name, Queue: taken.Queue, Schedule: taken.Schedule, Origin: taken.Origin, Planned: taken.Planned, offset: taken.Offset, Started: taken.Started,
		Attempt: taken.Attempt, MaxAttempts: taken.MaxAttempts, Crashes: taken.Crashes, Fence: taken.Fence, Timeout: taken.Timeout,
		LastError: taken.LastError, Header: taken.Header, Group: taken.Group, Payload: taken.Payload, output: taken.Output,
		Worker: taken.Worker, Partition: taken.Partition,
	}
	if prior := taken.Prior; prior != nil {
		job.Prior = newPrior(prior)
	}
	job.Batch = taken.Batch
	if end := taken.BatchEnd; end != nil {
		job.BatchInfo = newBatchEnd(taken.ID, end)
	}
	if died := taken.Death; died != nil {
		job.Death = newJobInfo(died.Queue, &protocol.FoundJob{
			ID: died.ID, State: protocol.JobDead, Body: bytes.Clone(died.Body), At: died.Ended, Crashes: died.Crashes, // cloned: the handler may change it
		})
	}
	return job
}

// Pulses returns the time of the last iteration of each loop of the worker, by this process's clock. time.Since of such a time is correct even if
// the clock was set meanwhile. The loops are "processor", which takes and settles jobs, "heartbeat", which renews the sessions, and "watch", which
// places and returns what others have left behind if no scheduler runs. A loop that does not run is not in the map: before Run, while Run waits for
// a store that cannot be reached, and after Run.
//
// A loop has an iteration at least every 5 s, with or without work, and also if Redis does not answer. While "watch" waits for an answer, for at
// most 30 s, Pulses returns the current time for it. So a loop whose last iteration is more than 10 s ago is stuck, or the process gets no
// processor time. Handlers are not loops: a handler that hangs keeps its slot, see [Timeout]. Pulses does no I/O.
func (w *Worker) Pulses() map[string]time.Time {
	return pulsesOf(map[string]*observe.Pulse{"processor": w.processor, "heartbeat": w.heartbeat, "watch": w.watch})
}

// Draining reports whether the worker is ending: the ctx of Run has ended, or Run has returned. Jobs may still run. It does no I/O.
func (w *Worker) Draining() bool { return w.draining.Load() }

// drains sets draining when ctx ends, and when end is called.
func drains(ctx context.Context, draining *atomic.Bool) (end func()) {
	noted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(noted)
		draining.Store(true)
	})
	return func() {
		if !stop() {
			<-noted // nothing of a role continues after its Run has returned
		}
		draining.Store(true)
	}
}

func pulsesOf(loops map[string]*observe.Pulse) map[string]time.Time {
	turned := make(map[string]time.Time, len(loops))
	for loop, pulse := range loops {
		if at, runs := pulse.Last(); runs {
			turned[loop] = at
		}
	}
	return turned
}
