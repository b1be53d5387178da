package chime

import (
	"context"
	"log/slog"
	"time"
)

// EnqueuerOptions are good as they are.
type EnqueuerOptions struct {
	// Logger is told what goes wrong and is mended. Nil means slog.Default().
	Logger *slog.Logger
	// Queue is where jobs go that name none. Empty means "default".
	Queue string
	// MaxPayload is the largest payload, in bytes. Zero means 1 MiB.
	MaxPayload int
	// SendTimeout is how long a call to the store is repeated before its callers are told that the outcome is unknown.
	// Zero means 10s.
	SendTimeout time.Duration
}

// An Enqueuer puts jobs on queues. It is safe for use by many goroutines.
type Enqueuer struct {
	store   Store
	options EnqueuerOptions
}

// NewEnqueuer returns an enqueuer; it does no I/O. Bad options come back from the first call.
func NewEnqueuer(store Store, options EnqueuerOptions) *Enqueuer {
	return &Enqueuer{store: store, options: options}
}

// A Receipt tells what became of an item.
type Receipt struct {
	// ID of the job. It is set even with an error, so that an unknown outcome is repeated safely with ID(receipt.ID).
	ID string
	// Existing: a job of this ID was there already and was left as it is.
	Existing bool
}

// An Item is one job for EnqueueMany.
type Item struct {
	Name    string
	Args    any
	Options []EnqueueOption
}

// Enqueue puts one job on its queue.
func (e *Enqueuer) Enqueue(ctx context.Context, name string, args any, options ...EnqueueOption) (Receipt, error) {
	panic("not yet")
}

// EnqueueMany puts many jobs on their queues. One receipt an item, in order.
func (e *Enqueuer) EnqueueMany(ctx context.Context, items []Item) ([]Receipt, error) {
	panic("not yet")
}
