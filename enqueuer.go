package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime/internal/enqueue"
	"github.com/chimejobs/chime/internal/guardlog"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// EnqueuerOptions are the options of an Enqueuer. The zero value has the defaults.
type EnqueuerOptions struct {
	// Observers are called with the jobs that were enqueued, and when the store fails.
	Observers []*Observer
	// Logger logs when the store does not answer and when it answers again. Nil means slog.Default().
	Logger *slog.Logger
	// Queue is the queue of jobs for which no queue is given. Empty means "default".
	Queue string
	// MaxPayload is the maximum length of a payload in bytes, at most 64 MiB. Zero means 1 MiB. Redis serves no other client while it
	// moves a job: store large data elsewhere, and its location in the payload.
	MaxPayload int
	// SendTimeout limits how long a failed call to the store is repeated. After that Enqueue returns an error: it is unknown whether the store has
	// the job. Zero means 10 s. If the caller's ctx never ends, Enqueue waits at most twice as long.
	SendTimeout time.Duration
}

func (o EnqueuerOptions) withDefaults() EnqueuerOptions {
	o.Logger = guardlog.New(cmp.Or(o.Logger, slog.Default()))
	o.Queue = cmp.Or(o.Queue, defaultQueue)
	o.MaxPayload = cmp.Or(o.MaxPayload, defaultMaxPayload)
	o.SendTimeout = cmp.Or(o.SendTimeout, defaultSendTimeout)
	return o
}

func (o EnqueuerOptions) validate() error {
	var bad []error
	if err := protocol.CheckName("EnqueuerOptions.Queue", o.Queue); err != nil {
		bad = append(bad, err)
	}
	if o.MaxPayload < 0 || o.MaxPayload > wire.MaxEncoded {
		bad = append(bad, protocol.Invalid("EnqueuerOptions.MaxPayload", strconv.Itoa(o.MaxPayload), fmt.Sprintf("0 to %d bytes", wire.MaxEncoded)))
	}
	if o.SendTimeout < 0 {
		bad = append(bad, protocol.Invalid("EnqueuerOptions.SendTimeout", o.SendTimeout.String(), "0 or more"))
	}
	if _, err := observing("EnqueuerOptions.Observers", o.Observers, o.Logger); err != nil {
		bad = append(bad, err)
	}
	return errors.Join(bad...)
}

// An Enqueuer puts jobs on queues. Any number of goroutines may use one, and should share one: their jobs are sent together.
// Create one with NewEnqueuer; the zero value is not usable.
type Enqueuer struct {
	options EnqueuerOptions
	store   protocol.Store
	engine  *enqueue.Enqueuer

	mu         sync.Mutex
	middleware []func(EnqueueFunc) EnqueueFunc
	around     EnqueueFunc // with all middleware; nil: there is no middleware
	called     atomic.Bool
}

// An EnqueueFunc puts jobs on their queues. Middleware wraps one, see [Enqueuer.Use].
type EnqueueFunc func(ctx context.Context, items []Item) ([]Receipt, error)

// A Receipt is the result for one item.
type Receipt struct {
	// ID of the job. It is set even with an error, unless your own ID was refused. After an error, repeat the call with the option
	// ID(receipt.ID): nothing is added if the first call was carried out.
	ID string `json:"id"`
	// Queue is the queue of the job.
	Queue string `json:"queue"`
	// Existing is true if a job with this ID existed already, or, with Once, was accepted recently. That job was not changed and nothing
	// was added. It needs one of the options ID and ArgsID.
	Existing bool `json:"existing"`
	// Replaced is true if the job replaced another one with its ID, or follows one that a worker holds. It needs the option Replace.
	Replaced bool `json:"replaced,omitempty"`
	// Full is true if the job was not added, because its group has as many jobs waiting as its rule allows, see [GroupRule]. Then the call also returns
	// ErrGroupFull.
	Full bool `json:"full,omitempty"`
	// State is set with Existing: the state of the existing job a moment later, so it may have changed since. It is empty if that job has
	// ended and its result is not kept, and if the state could not be read. It is read after the job was enqueued, so a failed read is no
	// error of Enqueue. A Redis user who may only enqueue (docs/access.md) may not read it.
	State JobState `json:"state,omitempty"`
}

// NewEnqueuer returns an enqueuer. It does no I/O; its first call returns an error for invalid options.
func NewEnqueuer(store Store, options EnqueuerOptions) *Enqueuer {
	options = options.withDefaults()
	bad := options.validate()
	p := protocolOf(store)
	if p == nil {
		bad = errors.Join(errNilStore, bad)
	}
	observer, _ := observing("", options.Observers, options.Logger) // validate has checked them
	return &Enqueuer{options: options, store: p, engine: enqueue.New(observer.Store(p), enqueue.Options{
		Observe: observer, Log: options.Logger, MaxPayload: options.MaxPayload, SendTimeout: options.SendTimeout, Sealing: sealing(p), Bad: bad,
	})}
}

// Use wraps Enqueue and EnqueueMany in middleware: functions that get an [EnqueueFunc] and return the one to call instead. The first
// one is the outermost. Each is called once for each Enqueue, with one item, once for each EnqueueMany, and once for each 500 items of EnqueueBatch. The items are a
// copy, so middleware may append to their Options. Use panics on a nil middleware, and after the first call.
func (e *Enqueuer) Use(middleware ...func(EnqueueFunc) EnqueueFunc) {
	if slices.ContainsFunc(middleware, func(m func(EnqueueFunc) EnqueueFunc) bool { return m == nil }) {
		panic("chime: Use: nil middleware")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.called.Load() {
		panic("chime: Use: the enqueuer is in use already: add middleware before the first call")
	}
	e.middleware = append(e.middleware, middleware...)
	e.around = e.wrap(e.send)
}

// wrap returns a function with all middleware around it.
func (e *Enqueuer) wrap(around EnqueueFunc) EnqueueFunc {
	for i := len(e.middleware) - 1; i >= 0; i-- {
		around = e.middleware[i](around)
	}
	return around
}

// begin records that the enqueuer is in use.
func (e *Enqueuer) begin() {
	if !e.called.Load() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.called.Store(true)
	}
}

// send is the function that middleware wraps.
func (e *Enqueuer) send(ctx context.Context, items []Item) ([]Receipt, error) {
	if len(items) == 1 {
		receipt, err := e.one(ctx, items[0].Name, items[0].Args, items[0].Options)
		return []Receipt{receipt}, err
	}
	return e.many(ctx, items)
}

// Enqueue puts one job on its queue, to run now or at the time that the options [In] or [At] set. The name selects the handler that runs
// it. The arguments are encoded by [Encode]. When Enqueue returns nil the store has the job.
//
// If anything is wrong with the job, nothing is sent. After any other error the store may have the job or not: repeat the call with the option
// ID(receipt.ID), which is safe. If the store has carried out the first call, the repeated one adds nothing, even if the job has ended
// meanwhile, and the receipt has Existing. For this the enqueuer remembers the IDs of such jobs, at most 100,000, for an hour. Use [Once] in
// both calls if you repeat the call later, or with another Enqueuer, for example after a restart. A repeated call with [Replace] replaces the
// first job; if that one has ended, the job is added again.
//
// When ctx ends Enqueue returns at once, or within 100 ms if it waits for an answer of the store itself; a job that was not sent before that is not sent.
// If the store was failing, the error contains the store's last error.
//
// The first call checks the store. If the store cannot be trusted with jobs, nothing is sent, and the error wraps ErrUnfit.
func (e *Enqueuer) Enqueue(ctx context.Context, name string, args any, options ...EnqueueOption) (Receipt, error) {
	if e.begin(); e.around == nil {
		return e.one(ctx, name, args, options)
	}
	receipts, err := e.around(ctx, []Item{{Name: name, Args: args, Options: slices.Clip(options)}})
	if len(receipts) != 1 && err == nil {
		err = fmt.Errorf("chime: enqueue %.40q: middleware returned %d receipts for one item", name, len(receipts))
	}
	return append(receipts, Receipt{})[0], err
}

func (e *Enqueuer) one(ctx context.Context, name string, args any, options []EnqueueOption) (Receipt, error) {
	var job enqueue.Job
	var settings *enqueueSettings
	if len(options) > 0 {
		settings = new(enqueueSettings) // options may keep it: the compiler cannot exclude that
	}
	e.job(&job, name, args, options, settings)
	sent, err := e.engine.One(ctx, &job)
	receipt := Receipt{ID: sent.ID, Queue: sent.Queue, Existing: sent.Existing, Replaced: sent.Replaced, Full: sent.Full}
	switch {
	case err == nil:
		if receipt.Existing {
			fillStates(ctx, e.store, []*Receipt{&receipt})
		}
		return receipt, nil
	case len(job.Problems) > 0:
		return receipt, fmt.Errorf("chime: enqueue %.40q: %w", name, err)
	}
	return receipt, fmt.Errorf("chime: enqueue %q (ID %q): %w", name, receipt.ID, err)
}

// An Item is one job for EnqueueMany. Its arguments are left out wherever it is printed, logged or encoded as JSON.
type Item struct {
	Name    string          `json:"name"` // the job name
	Args    any             `json:"-"`    // see Encode
	Options []EnqueueOption `json:"-"`    // nil: none
}

// LogValue is what a slog.Logger prints of the item.
func (i Item) LogValue() slog.Value { return slog.StringValue(i.String()) }

// String identifies the item, without its arguments.
func (i Item) String() string { return fmt.Sprintf("item %q (args of type %T)", i.Name, i.Args) }

// Format prints what String returns, for every verb.
func (i Item) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), i.String())
}

// EnqueueMany puts many jobs on their queues, in as few calls to the store as possible. It returns one receipt for each item, in order.
//
// If anything is wrong with any item, nothing is sent, and the error describes every problem. If the groups of some items are full, the others are
// added, and the error is ErrGroupFull. Jobs are sent in calls of up to 500 jobs and
// about 1 MiB. The store carries out each call completely or not at all. After an error the store may have some of the jobs, see Enqueue.
// Items with [Replace] are sent after all others, in any position. So if several items have the same ID, those without Replace come first,
// and the receipts of the others show whether they replaced a job. Items of one queue that run now are taken in the order
// of the items if the queue has one partition.
func (e *Enqueuer) EnqueueMany(ctx context.Context, items []Item) ([]Receipt, error) {
	if e.begin(); e.around == nil {
		return e.many(ctx, items)
	}
	copied := slices.Clone(items)
	for i := range copied {
		copied[i].Options = slices.Clip(copied[i].Options)
	}
	return e.around(ctx, copied)
}

func (e *Enqueuer) many(ctx context.Context, items []Item) ([]Receipt, error) {
	receipts := make([]Receipt, len(items))
	var settings enqueueSettings
	var existing []*Receipt
	err := e.engine.Many(ctx, enqueue.Jobs{
		Len:   len(items),
		Job:   func(i int, job *enqueue.Job) { e.job(job, items[i].Name, items[i].Args, items[i].Options, &settings) },
		Named: func(i int, id, queue string) { receipts[i].ID, receipts[i].Queue = id, queue },
		Exists: func(i int) {
			receipts[i].Existing = true
			existing = append(existing, &receipts[i])
		},
		Replaced: func(i int) { receipts[i].Replaced = true },
		Full:     func(i int) { receipts[i].Full = true },
		Refuse: func(i int, err error) error {
			return fmt.Errorf("chime: enqueue item %d %.40q: %w", i, items[i].Name, err)
		},
	})
	if len(existing) > 0 {
		fillStates(ctx, e.store, existing)
	}
	return receipts, err
}

// maxStateWait is how long an enqueuer waits for the states of jobs that exist.
const maxStateWait = time.Second

// fillStates fills in the states of the jobs of these receipts, as far as they can be read.
func fillStates(ctx context.Context, store protocol.Store, receipts []*Receipt) {
	ctx, cancel := context.WithTimeout(ctx, maxStateWait)
	defer cancel()
	of := make(map[string][]*Receipt)
	for _, receipt := range receipts {
		of[receipt.Queue] = append(of[receipt.Queue], receipt)
	}
	for queue, left := range of {
		for len(left) > 0 {
			ids := make([]string, min(len(left), protocol.MaxItems))
			for i := range ids {
				ids[i] = left[i].ID
			}
			found, err := store.FindJobs(ctx, queue, ids)
			if err != nil || len(found) == 0 {
				break
			}
			for i := range found {
				if found[i].ID != "" {
					left[i].State = newJobInfo(queue, &found[i]).State
				}
			}
			left = left[len(found):]
		}
	}
}

// job fills in a job; its options are applied to s. A nil option is ignored.
func (e *Enqueuer) job(job *enqueue.Job, name string, args any, options []EnqueueOption, s *enqueueSettings) {
	job.Name, job.Args, job.Queue = name, args, e.options.Queue
	if len(options) == 0 {
		return
	}
	*s = enqueueSettings{jobSettings: jobSettings{queue: e.options.Queue}}
	for _, option := range options {
		if option != nil {
			option.enqueue(s)
		}
	}
	if s.once > 0 && !s.own {
		s.refuse(protocol.Because(protocol.Invalid("once", s.once.String(), "together with ID or ArgsID"), "has no ID"))
	}
	if s.replace && !s.own {
		s.refuse(protocol.Invalid("replace", "without an ID", "together with ID or ArgsID"))
	}
	if s.replace && s.inBatch != "" {
		s.refuse(protocol.Invalid("InBatch", "together with Replace", "one of the two: a job that replaces a member is a member too"))
	}
	if s.sameBatch {
		s.refuse(protocol.Invalid("SameBatch", "of a job that follows no other one", "an option of the item of OnDone or OnDeath"))
	}
	job.Batch = s.inBatch
	job.Replace, job.Expire, job.Group = s.replace, s.expire, s.group
	job.Queue, job.ID, job.Own, job.ArgsID, job.Once, job.In, job.At = s.queue, s.id, s.own, s.argsID, s.once, s.in, s.at
	job.MaxAttempts, job.Timeout, job.Details = s.maxAttempts, s.timeout, s.details()
	var err error
	if job.FollowsIn, err = checkFollowers(job.Details, ""); err != nil {
		s.refuse(err)
	}
	job.Problems = s.problems
}
