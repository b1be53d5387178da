package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
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
	if err := checkName("EnqueuerOptions.Queue", o.Queue); err != nil {
		bad = append(bad, err)
	}
	if o.MaxPayload < 0 || o.MaxPayload > maxEncoded {
		bad = append(bad, fmt.Errorf("EnqueuerOptions.MaxPayload %d: want 0 to %d bytes", o.MaxPayload, maxEncoded))
	}
	if o.SendTimeout < 0 {
		bad = append(bad, fmt.Errorf("EnqueuerOptions.SendTimeout %v: want 0 or more", o.SendTimeout))
	}
	return errors.Join(bad...)
}

// An Enqueuer puts jobs on queues. Any number of goroutines may use one, and should: their calls travel together.
type Enqueuer struct {
	store   Store
	options EnqueuerOptions
	bad     error
	sender  *coalescer

	mu         sync.RWMutex
	partitions map[string]int
	asking     map[string]*question
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

// An Item is one job for EnqueueMany.
type Item struct {
	Name    string
	Args    any
	Options []EnqueueOption
}

// NewEnqueuer returns an enqueuer. It does no I/O; bad options come back from the first call.
func NewEnqueuer(store Store, options EnqueuerOptions) *Enqueuer {
	options = options.withDefaults()
	e := &Enqueuer{
		store: store, options: options, bad: options.validate(),
		sender:     newCoalescer(store, options.SendTimeout, options.Logger),
		partitions: make(map[string]int), asking: make(map[string]*question),
	}
	if store == nil {
		e.bad = errors.Join(errors.New("store is nil"), e.bad)
	}
	return e
}

// Enqueue puts one job on its queue: now, or when In or At say. When it returns nil the store has the job.
//
// What is wrong with the job is said before anything is sent. After any other error the job may be there or not; with
// ID(receipt.ID) the call is repeated safely. When ctx ends Enqueue returns at once, and takes the job back if it has not
// been sent. Args: see Encode.
func (e *Enqueuer) Enqueue(ctx context.Context, name string, args any, options ...EnqueueOption) (Receipt, error) {
	var s enqueueSettings
	s.queue = e.options.Queue
	item, err := e.item(&s, name, args, options)
	receipt := Receipt{ID: item.ID}
	if err != nil {
		return receipt, fmt.Errorf("chime: enqueue %.40q: %w", name, err)
	}
	receipt.Existing, err = e.enqueueOne(ctx, s.queue, item)
	if err != nil {
		return receipt, fmt.Errorf("chime: enqueue %q (ID %s): %w", name, item.ID, err)
	}
	return receipt, nil
}

func (e *Enqueuer) enqueueOne(ctx context.Context, queue string, item EnqueueItem) (existing bool, err error) {
	n, err := e.partitionsOf(ctx, queue)
	if err != nil {
		return false, err
	}
	p := e.sender.single(item)
	partition := [1]Partition{{Queue: queue, Index: PartitionOf(item.ID, n)}}
	e.sender.post(partition[:], []*parcel{p}, ctx.Done() == nil)
	if err := e.wait(ctx, p); err != nil {
		return false, err // p may still be in a call: it is not used again
	}
	existing, err = p.existing[0], p.err
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

// EnqueueMany puts many jobs on their queues, in as few calls as that takes, and returns one receipt an item, in order.
//
// If anything is wrong with any item, none is sent; the error says what is wrong with each. Jobs go in calls of up to 500,
// each of which arrives whole or not at all; after an error some may be there, see Enqueue. Items of one queue that run now
// are taken in the order of items if the queue has one partition.
func (e *Enqueuer) EnqueueMany(ctx context.Context, items []Item) ([]Receipt, error) {
	receipts := make([]Receipt, len(items))
	queues := make([]string, len(items))
	ready := make([]EnqueueItem, len(items))
	var bad []error
	for i, item := range items {
		var s enqueueSettings
		s.queue = e.options.Queue
		var err error
		ready[i], err = e.item(&s, item.Name, item.Args, item.Options)
		queues[i], receipts[i].ID = s.queue, ready[i].ID
		if err != nil && e.bad == nil {
			bad = append(bad, fmt.Errorf("chime: enqueue item %d %.40q: %w", i, item.Name, err))
		}
	}
	if e.bad != nil {
		return receipts, fmt.Errorf("chime: enqueue: %w", e.bad)
	}
	if len(bad) > 0 {
		return receipts, errors.Join(bad...)
	}
	batches, err := e.split(ctx, queues, ready)
	if err != nil {
		return receipts, fmt.Errorf("chime: enqueue %d items: %w", len(items), err)
	}
	return receipts, e.sendMany(ctx, batches, receipts)
}

// batch is what of many items goes to one partition; of says where each was among them.
type batch struct {
	partition Partition
	parcel    *parcel
	of        []int
}

func (e *Enqueuer) split(ctx context.Context, queues []string, items []EnqueueItem) ([]*batch, error) {
	var batches []*batch
	places := make(map[Partition]*batch)
	for i, item := range items {
		n, err := e.partitionsOf(ctx, queues[i])
		if err != nil {
			return nil, err
		}
		partition := Partition{Queue: queues[i], Index: PartitionOf(item.ID, n)}
		b := places[partition]
		if b == nil {
			b = &batch{partition: partition, parcel: newParcel()}
			places[partition], batches = b, append(batches, b)
		}
		b.parcel.items, b.of = append(b.parcel.items, item), append(b.of, i)
	}
	return batches, nil
}

func (e *Enqueuer) sendMany(ctx context.Context, batches []*batch, receipts []Receipt) error {
	partitions := make([]Partition, len(batches))
	parcels := make([]*parcel, len(batches))
	for i, b := range batches {
		b.parcel.existing = make([]bool, len(b.of))
		partitions[i], parcels[i] = b.partition, b.parcel
	}
	e.sender.post(partitions, parcels, false)
	var failed []error
	for _, b := range batches {
		err, from := e.wait(ctx, b.parcel), 0
		if err == nil {
			err, from = b.parcel.err, b.parcel.failed
			for i, existing := range b.parcel.existing {
				receipts[b.of[i]].Existing = existing
			}
			if err == nil {
				continue
			}
		}
		failed = append(failed, fmt.Errorf("chime: enqueue %d of %d items on %q, from item %d on: %w",
			len(b.of)-from, len(b.of), b.partition.Queue, b.of[from], err))
	}
	return errors.Join(failed...)
}

// item checks one job and makes its body. The returned item has its ID even with an error, unless that is what is wrong.
func (e *Enqueuer) item(s *enqueueSettings, name string, args any, options []EnqueueOption) (EnqueueItem, error) {
	for _, option := range options {
		if option != nil {
			option.enqueue(s)
		}
	}
	item := EnqueueItem{ID: s.id, Own: s.own, In: s.in, At: s.at}
	switch {
	case !s.own:
		item.ID = newID()
	case checkName("ID", s.id) != nil:
		item.ID = ""
	}
	if e.bad != nil {
		return item, e.bad
	}
	if err := checkName("job name", name); err != nil {
		s.refuse("%w", err)
	}
	body, err := e.body(s, name, args)
	if err != nil {
		s.refuse("args: %w", err)
	}
	item.Body = body
	return item, s.err()
}

func (e *Enqueuer) body(s *enqueueSettings, name string, args any) ([]byte, error) {
	payload, buf, err := encodeArgs(args, e.options.MaxPayload)
	if err != nil {
		return nil, err
	}
	planned := s.at
	if planned.IsZero() {
		planned = e.sender.now().Add(s.in)
	}
	env := envelope{name: name, payload: payload, planned: planned, maxAttempts: s.maxAttempts, timeout: s.timeout}
	body := env.encode()
	if buf != nil {
		buf.release()
	}
	return body, nil
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

// ask puts the question until it is answered or the time is up.
func (e *Enqueuer) ask(queue string, q *question) {
	ctx, cancel := context.WithTimeout(context.Background(), e.options.SendTimeout)
	defer cancel()
	for failures := 1; ; failures++ {
		q.n, q.err = e.store.Partitions(ctx, queue)
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
