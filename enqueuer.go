package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/enqueue"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// EnqueuerOptions are good as they are.
type EnqueuerOptions struct {
	// Logger is told when enqueuing is held up and when it works again. Nil means slog.Default().
	Logger *slog.Logger
	// Queue is where jobs go that name none. Empty means "default".
	Queue string
	// MaxPayload is the longest payload in bytes, at most 64 MiB. Zero means 1 MiB. A store moves a job in one step, in
	// which it serves nobody else: large data belong elsewhere and their place in the payload.
	MaxPayload int
	// SendTimeout is how long a call to the store is sent again after errors, before its callers are told that the outcome
	// is unknown. Zero means 10s. A caller whose ctx never ends waits twice as long at most.
	SendTimeout time.Duration
}

func (o EnqueuerOptions) withDefaults() EnqueuerOptions {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.Queue = cmp.Or(o.Queue, DefaultQueue)
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
		bad = append(bad, fmt.Errorf("EnqueuerOptions.MaxPayload %d: want 0 to %d bytes", o.MaxPayload, wire.MaxEncoded))
	}
	if o.SendTimeout < 0 {
		bad = append(bad, fmt.Errorf("EnqueuerOptions.SendTimeout %v: want 0 or more", o.SendTimeout))
	}
	return errors.Join(bad...)
}

// An Enqueuer puts jobs on queues. Any number of goroutines may use one, and should: their calls travel together.
type Enqueuer struct {
	options EnqueuerOptions
	engine  *enqueue.Enqueuer
}

// A Receipt says what became of an item.
type Receipt struct {
	// ID of the job. It is set even with an error, unless an ID of your own was refused: with ID(receipt.ID) the same job
	// is enqueued again, and it does not run twice for that as long as the first one exists.
	ID string
	// Existing: a job of this ID was there and was left as it is. Only with the option ID.
	Existing bool
}

// NewEnqueuer returns an enqueuer. It does no I/O; bad options come back from the first call.
func NewEnqueuer(store Store, options EnqueuerOptions) *Enqueuer {
	options = options.withDefaults()
	bad := options.validate()
	p := protocolOf(store)
	if p == nil {
		bad = errors.Join(errNilStore, bad)
	}
	return &Enqueuer{options: options, engine: enqueue.New(p, enqueue.Options{
		Log: options.Logger, MaxPayload: options.MaxPayload, SendTimeout: options.SendTimeout, Bad: bad,
	})}
}

// Enqueue puts one job on its queue: now, or at the instant that In or At give. When it returns nil the store has the job.
//
// An error that is due to the job itself comes before anything is sent. After any other error the job may be there or not; with
// ID(receipt.ID) the call is repeated safely. When ctx ends Enqueue returns at once, and takes the job back if it has not
// been sent. Args: see Encode.
//
// The first call checks the store once: a store that cannot be trusted with jobs is refused with an error that wraps ErrUnfit.
func (e *Enqueuer) Enqueue(ctx context.Context, name string, args any, options ...EnqueueOption) (Receipt, error) {
	var job enqueue.Job
	var settings *enqueueSettings
	if len(options) > 0 {
		settings = new(enqueueSettings) // options may keep it, as far as the compiler knows
	}
	e.job(&job, name, args, options, settings)
	receipt, err := e.engine.One(ctx, &job)
	switch {
	case err == nil:
		return Receipt(receipt), nil
	case len(job.Problems) > 0:
		return Receipt(receipt), fmt.Errorf("chime: enqueue %.40q: %w", name, err)
	}
	return Receipt(receipt), fmt.Errorf("chime: enqueue %q (ID %s): %w", name, receipt.ID, err)
}

// An Item is one job for EnqueueMany.
type Item struct {
	Name    string          // the job name
	Args    any             // see Encode
	Options []EnqueueOption // nil: none
}

// EnqueueMany puts many jobs on their queues, in as few calls as that takes, and returns one receipt an item, in order.
//
// If anything is wrong with any item, none is sent; the error says what is wrong with each. Jobs go in calls of up to 500,
// each of which arrives whole or not at all; after an error some may be there, see Enqueue. Items of one queue that run now
// are taken in the order of items if the queue has one partition.
func (e *Enqueuer) EnqueueMany(ctx context.Context, items []Item) ([]Receipt, error) {
	receipts := make([]Receipt, len(items))
	var settings enqueueSettings
	return receipts, e.engine.Many(ctx, enqueue.Jobs{
		Len:     len(items),
		Job:     func(i int, job *enqueue.Job) { e.job(job, items[i].Name, items[i].Args, items[i].Options, &settings) },
		Receipt: func(i int) *enqueue.Receipt { return (*enqueue.Receipt)(&receipts[i]) },
		Refuse: func(i int, err error) error {
			return fmt.Errorf("chime: enqueue item %d %.40q: %w", i, items[i].Name, err)
		},
	})
}

// job fills in a job; its options are applied to s. A nil option is passed over.
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
	job.Queue, job.ID, job.Own, job.In, job.At = s.queue, s.id, s.own, s.in, s.at
	job.MaxAttempts, job.Timeout, job.Problems = s.maxAttempts, s.timeout, s.problems
}
