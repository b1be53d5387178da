package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

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
	o.MaxPayload = cmp.Or(o.MaxPayload, DefaultMaxPayload)
	o.SendTimeout = cmp.Or(o.SendTimeout, DefaultSendTimeout)
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
	store   protocol.Store
	options EnqueuerOptions
	bad     error
	sender  *coalescer

	mu         sync.RWMutex
	partitions map[string]int
	asking     map[string]*question

	checked chan bool // has one value: whether the store has been found fit; who checks it holds it
}

// question is one look at the number of a queue's partitions, for all who wait for it.
type question struct {
	done chan struct{}
	n    int
	err  error
}

// A Receipt tells what became of an item.
type Receipt struct {
	// ID of the job. It is set even with an error, unless an ID of your own was refused: with ID(receipt.ID) the same job
	// is enqueued again without ever running twice for it while it exists.
	ID string
	// Existing: a job of this ID was there and was left as it is. Only with ID.
	Existing bool
}

// NewEnqueuer returns an enqueuer. It does no I/O; bad options come back from the first call.
func NewEnqueuer(with Store, options EnqueuerOptions) *Enqueuer {
	store := protocolOf(with)
	options = options.withDefaults()
	e := &Enqueuer{
		store: store, options: options, bad: options.validate(),
		sender:     newCoalescer(store, options.SendTimeout, options.Logger),
		partitions: make(map[string]int), asking: make(map[string]*question),
		checked: make(chan bool, 1),
	}
	e.checked <- false
	if store == nil {
		e.bad = errors.Join(errNilStore, e.bad)
	}
	return e
}

// Enqueue puts one job on its queue: now, or when In or At say. When it returns nil the store has the job.
//
// What is wrong with the job is said before anything is sent. After any other error the job may be there or not; with
// ID(receipt.ID) the call is repeated safely. When ctx ends Enqueue returns at once, and takes the job back if it has not
// been sent. Args: see Encode.
//
// The first call looks at the store once: one that cannot be trusted with jobs is refused, with an error that wraps ErrUnfit.
func (e *Enqueuer) Enqueue(ctx context.Context, name string, args any, options ...EnqueueOption) (Receipt, error) {
	s := e.settings(options)
	id := s.id
	if !s.own {
		id = newID()
	}
	p := e.sender.single()
	err := e.item(&p.one[0], id, &s, name, args, e.sender.now(), &p.room)
	receipt := Receipt{ID: p.one[0].ID}
	if err != nil {
		e.sender.reuse(p)
		return receipt, fmt.Errorf("chime: enqueue %.40q: %w", name, err)
	}
	receipt.Existing, err = e.enqueueOne(ctx, s.queue, p)
	if err != nil {
		return receipt, fmt.Errorf("chime: enqueue %q (ID %s): %w", name, receipt.ID, err)
	}
	return receipt, nil
}

func (e *Enqueuer) enqueueOne(ctx context.Context, queue string, p *parcel) (existing bool, err error) {
	n, err := e.partitionsOf(ctx, queue)
	if err != nil {
		e.sender.reuse(p)
		return false, err
	}
	partition := [1]protocol.Partition{{Queue: queue, Index: protocol.PartitionOf(p.one[0].ID, n)}}
	e.sender.post(partition[:], []*parcel{p}, ctx.Done() == nil)
	if err := e.wait(ctx, p); err != nil {
		return false, err // p may still be in a call: it is not used again
	}
	existing, err = p.existing != nil, p.err
	e.sender.reuse(p)
	return existing, err
}

// wait returns nil when p is done.
func (e *Enqueuer) wait(ctx context.Context, p *parcel) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	if e.sender.withdraw(p) == 0 {
		return fmt.Errorf("not sent: %w", ctx.Err())
	}
	return fmt.Errorf("outcome unknown: %w", ctx.Err())
}

// settings are what options make of the defaults.
func (e *Enqueuer) settings(options []EnqueueOption) enqueueSettings {
	if len(options) == 0 {
		return enqueueSettings{jobSettings: jobSettings{queue: e.options.Queue}}
	}
	s := new(enqueueSettings) // options may keep it, as far as the compiler knows
	e.apply(options, s)
	return *s
}

// apply sets s to what options make of the defaults.
func (e *Enqueuer) apply(options []EnqueueOption, s *enqueueSettings) {
	*s = enqueueSettings{jobSettings: jobSettings{queue: e.options.Queue}}
	for _, option := range options {
		if option != nil {
			option.enqueue(s)
		}
	}
}

// item checks one job and makes its body in room. The item has its ID even with an error, unless that is what is wrong.
func (e *Enqueuer) item(item *protocol.EnqueueItem, id string, s *enqueueSettings, name string, args any, now time.Time, room *wire.Bodies) error {
	*item = protocol.EnqueueItem{ID: id, Own: s.own, In: s.in, At: s.at}
	if s.own && protocol.CheckName("ID", id) != nil {
		item.ID = ""
	}
	if e.bad != nil {
		return e.bad
	}
	if err := protocol.CheckName("job name", name); err != nil {
		s.refuse("%w", err)
	}
	payload, buf, err := wire.EncodeTo(args, e.options.MaxPayload)
	if err != nil {
		s.refuse("args: %w", err)
		return s.err()
	}
	planned := s.at
	if planned.IsZero() {
		planned = now.Add(s.in)
	}
	item.Body = room.Add(&wire.Envelope{Name: name, Payload: payload, Planned: planned, MaxAttempts: s.maxAttempts, Timeout: s.timeout})
	if buf != nil {
		buf.Release()
	}
	return s.err()
}

// partitionsOf returns the number of a queue's partitions, which never changes: the store is asked once, on behalf of all
// who want to know.
func (e *Enqueuer) partitionsOf(ctx context.Context, queue string) (int, error) {
	e.mu.RLock()
	n := e.partitions[queue]
	e.mu.RUnlock()
	if ctx.Err() != nil {
		return 0, fmt.Errorf("not sent: %w", ctx.Err())
	}
	if n > 0 {
		return n, nil
	}
	e.mu.Lock()
	if n := e.partitions[queue]; n > 0 { // answered meanwhile
		e.mu.Unlock()
		return n, nil
	}
	q := e.asking[queue]
	if q == nil {
		q = &question{done: make(chan struct{})}
		e.asking[queue] = q
		go e.ask(queue, q)
	}
	e.mu.Unlock()
	select {
	case <-q.done:
		if q.err != nil {
			return 0, fmt.Errorf("not sent: %w", q.err)
		}
		return q.n, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("not sent: %w", ctx.Err())
	}
}

// ask puts the question until it is answered or the time is up. The first one checks the store before.
func (e *Enqueuer) ask(queue string, q *question) {
	ctx, cancel := context.WithTimeout(context.Background(), e.options.SendTimeout)
	defer cancel()
	for failures := 1; ; failures++ {
		if q.err = e.check(ctx); q.err == nil {
			q.n, q.err = e.store.Partitions(ctx, queue)
		}
		if q.err == nil && q.n < 1 {
			q.err = fmt.Errorf("store says that queue %q has %d partitions", queue, q.n)
		}
		if q.err == nil || errors.Is(q.err, ErrUnfit) || errors.Is(q.err, ErrStoreFull) || !sleep(ctx, troubleDelay(failures)) {
			break
		}
	}
	e.mu.Lock()
	delete(e.asking, queue)
	if q.err == nil {
		e.partitions[queue] = q.n
	}
	e.mu.Unlock()
	close(q.done)
}

// check returns an error if the store cannot be trusted with jobs. It looks until it has found the store fit, once as a rule;
// a look that fails for another reason holds nothing up, for the question that follows meets the same trouble.
func (e *Enqueuer) check(ctx context.Context) error {
	var fit bool
	select {
	case fit = <-e.checked:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { e.checked <- fit }()
	if fit {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.options.SendTimeout/4) // the rest is left for the question
	defer cancel()
	err := e.store.Check(ctx)
	if errors.Is(err, ErrUnfit) {
		return err
	}
	fit = err == nil
	return nil
}
