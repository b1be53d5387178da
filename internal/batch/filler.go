// Package batch creates batches, fills them and lets them grow, counts them, and ends them. A batch is jobs, its members, whose common end adds other
// jobs. The store does each step once, however many processes take it.
package batch

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"log/slog"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// Options of everything in this package that calls a store.
type Options struct {
	Log     *slog.Logger  // nil: nothing is logged
	Timeout time.Duration // how long a failed call is sent again
}

// attempt makes a call again and again until it succeeds, or its time is up. An error that another call does not cure ends it.
func (o *Options) attempt(ctx context.Context, action string, call func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var outage *retry.Outage
	if o.Log != nil {
		outage = &retry.Outage{Log: o.Log, Role: "enqueuer"}
	}
	var refused error
	err := retry.Until(limited, outage, action, func(ctx context.Context) error {
		err := call(ctx)
		if invalid := (*protocol.InvalidError)(nil); errors.As(err, &invalid) {
			refused = err
			return errRefused
		}
		return err
	}, protocol.ErrNotFound, protocol.ErrConflict, protocol.ErrStoreFull, errClosed, errRefused)
	if refused != nil {
		return refused
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w; the store's last error: %w", ctx.Err(), err)
	}
	return err
}

var (
	// errClosed: a partition takes nothing of the batch any more.
	errClosed = errors.New("the batch takes no items any more")
	// errRefused: a codec has refused a value.
	errRefused = errors.New("refused")
)

// An Item is a job that becomes a member of a batch.
type Item struct {
	Partition protocol.Partition
	Name      string // the name of the job
	protocol.EnqueueItem
}

// Added is called for items that the store has added in a call.
type Added func(items []Item)

// A Filling adds items to one batch, in calls that contain many of them, and seals it. It is for one goroutine. While a call is under way, the items of the next
// one are collected. There is never more than one call under way, so a partition gets the positions in order.
//
//	                  Add: a call is full, the one before is answered        answered
//	collecting ──────────────────────────────────────────────► noted ──► sent ──────► added
//	    │   ▲                                                              │
//	    │   └────── other process sealed it: Add only compares ◄───────────┘
//	    └─ Seal ──► the last call ──► every partition is closed ──► sealed
//
// The home of the batch notes a hash of all items up to a position before these are sent. So a second Filling with the same items, after a crash or beside
// the first one, adds each position once, and one with other items fails where they differ.
type Filling struct {
	store   EndingStore
	options Options
	report  Added
	batch   string

	record  protocol.BatchRecord // as the home has returned it last
	existed bool
	sealed  bool // no item is sent any more: they are only compared

	position int64 // of the last item
	noted    int64 // of the last item that is added
	running  hash.Hash
	before   string   // the hash up to noted
	waiting  []Item   // those that no call has sent
	bytes    int      // of their bodies
	sending  *sending // the call under way; nil: none
	spare    []Item   // memory for items
	existing int64
}

// MaxItems is how many items a batch may have.
const MaxItems = protocol.MaxBatchItems

// Open creates a batch, or continues with the one that exists. same reports whether a stored definition is that of the batch, although its bytes differ,
// as they do if it is sealed. The error is protocol.ErrConflict if there is a batch with another definition, or a cancelled one.
func Open(ctx context.Context, store EndingStore, options Options, def protocol.BatchDefinition, same func(stored *protocol.BatchDefinition) bool, added Added) (*Filling, error) {
	f := &Filling{store: store, options: options, report: added, batch: def.ID, running: sha256.New()}
	err := options.attempt(ctx, "open batch", func(ctx context.Context) error {
		var err error
		f.record, f.existed, err = store.OpenBatch(ctx, def)
		if errors.Is(err, protocol.ErrConflict) && same(&f.record.BatchDefinition) {
			f.existed, err = true, nil
		}
		return err
	})
	if errors.Is(err, protocol.ErrConflict) {
		return nil, fmt.Errorf("%w: there is a batch with this ID and other properties", err)
	}
	if err == nil {
		err = f.noteState()
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// noteState notes whether the batch takes items. A cancelled one is ErrConflict.
func (f *Filling) noteState() error {
	switch {
	case f.record.State == protocol.BatchCancelled:
		return fmt.Errorf("%w: the batch was cancelled", protocol.ErrConflict)
	case f.record.State != protocol.BatchOpen, f.record.Sealing:
		f.sealed = true
	}
	return nil
}

// Position returns how many items were added so far, or compared, without those of the call under way. Existing returns for how many of those that were sent there was a job with their ID.
func (f *Filling) Position() int64 { return f.noted }

// Existing returns how many items were not added, because a job with their ID existed, as far as it is known.
func (f *Filling) Existing() int64 { return max(f.existing, f.record.Totals().Existing) }

// Repeated reports whether the batch was sealed before by another Filling.
func (f *Filling) Repeated() bool { return f.existed && f.sealed }

// Next returns the ID of the next item, if the application has chosen none. It is the same in each Filling of the batch.
func (f *Filling) Next() string { return memberID(f.record.Created, f.batch, f.position+1) }

// Add adds the next item. own: the application has chosen its ID. After an error the Filling is not used any more; the items up to Position are added.
func (f *Filling) Add(ctx context.Context, item Item, own bool) error {
	if f.position == MaxItems {
		return protocol.Invalid("Batch.Items", strconv.Itoa(MaxItems+1)+" items", strconv.Itoa(MaxItems)+" items at most")
	}
	if len(f.waiting) > 0 && f.bytes+len(item.Body) > protocol.MaxBytes {
		if err := f.begin(ctx); err != nil {
			return err
		}
	}
	f.position++
	f.note(item.Name)
	if own {
		f.note(item.ID)
	} else {
		f.note("")
	}
	f.waiting, f.bytes = append(f.waiting, item), f.bytes+len(item.Body)
	if f.position%protocol.MaxItems == 0 || f.position == f.record.Position { // at the latter the home has a hash to compare
		return f.begin(ctx)
	}
	return nil
}

// note adds a text to the running hash.
func (f *Filling) note(text string) {
	var length [4]byte
	binary.BigEndian.PutUint32(length[:], uint32(len(text)))
	f.running.Write(length[:])
	f.running.Write([]byte(text))
}

// Waiting reports whether items wait to be sent. The bodies of those that were sent must not change until Add has sent the next ones, or Flush has returned.
func (f *Filling) Waiting() bool { return len(f.waiting) > 0 }

// Flush sends the items that wait, and waits until all items are added.
func (f *Filling) Flush(ctx context.Context) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	return f.wait(ctx)
}

// begin waits for the call under way, and then sends the items that wait: it returns before these are added.
func (f *Filling) begin(ctx context.Context) error {
	if err := f.wait(ctx); err != nil || len(f.waiting) == 0 {
		return err
	}
	s := &sending{items: f.waiting, from: f.noted, to: f.position, hash: f.hash()}
	f.waiting, f.spare, f.bytes = f.spare[:0], nil, 0
	if f.sealed {
		return f.compare(s)
	}
	note := protocol.FillNote{Before: f.noted, Position: s.to, BeforeHash: f.before, Hash: s.hash}
	s.divide(f.batch)
	for i := range s.calls {
		note.Partitions = append(note.Partitions, s.calls[i].Partition)
	}
	err := f.options.attempt(ctx, "note items", func(ctx context.Context) error {
		record, err := f.store.NoteFill(ctx, f.batch, note)
		if err == nil || errors.Is(err, protocol.ErrConflict) {
			f.record = record
		}
		return err
	})
	switch {
	case errors.Is(err, protocol.ErrConflict):
		if err := f.noteState(); err != nil {
			return err
		}
		if !f.sealed {
			return f.differs(s.to)
		}
		return f.compare(s) // another process has sealed it
	case err != nil:
		return err
	}
	s.done = make(chan struct{})
	f.sending = s
	go func() {
		defer close(s.done)
		s.err = s.send(ctx, f.store, &f.options, f.batch)
	}()
	return nil
}

// wait waits for the call under way, and notes its answers.
func (f *Filling) wait(ctx context.Context) error {
	s := f.sending
	if s == nil {
		return nil
	}
	<-s.done
	f.sending = nil
	switch refused, first := f.answered(s); {
	case errors.Is(s.err, errClosed):
		if err := f.read(ctx); err != nil {
			return err
		}
		return f.compare(s)
	case s.err != nil:
		return s.err
	case refused != nil:
		f.noted += int64(first) // the items before it are added
		return refused
	}
	f.added(s)
	return nil
}

// Stop waits for the call under way.
func (f *Filling) Stop() {
	if f.sending != nil {
		<-f.sending.done
	}
}

// compare compares items with those of a sealed batch.
func (f *Filling) compare(s *sending) error {
	switch {
	case s.to > f.record.Position:
		return fmt.Errorf("%w: the batch was sealed with %d items, and now there are more", protocol.ErrConflict, f.record.Position)
	case s.to == f.record.Position && s.hash != f.record.Hash:
		return f.differs(s.to)
	}
	f.added(s)
	return nil
}

// added notes that items are in the batch.
func (f *Filling) added(s *sending) {
	f.noted, f.before = s.to, s.hash
	clear(s.items)
	f.spare = s.items[:0]
}

// hash returns the hash of all items up to the last one; empty: no items.
func (f *Filling) hash() string {
	const kept = 16 // bytes
	if f.position == 0 {
		return ""
	}
	return hex.EncodeToString(f.running.Sum(nil)[:kept])
}

// differs is the error if other items were added before, up to a position.
func (f *Filling) differs(position int64) error {
	return fmt.Errorf("%w: other items were added to the batch before, at position %d or earlier", protocol.ErrConflict, position)
}

// Seal sends the items that wait, and seals the batch. If all of its members have ended already, it ends the batch.
func (f *Filling) Seal(ctx context.Context) (protocol.BatchRecord, error) {
	if err := f.Flush(ctx); err != nil {
		return f.record, err
	}
	if f.sealed && f.position < f.record.Position {
		return f.record, fmt.Errorf("%w: the batch has %d items, and now there are %d", protocol.ErrConflict, f.record.Position, f.position)
	}
	record, err := Seal(ctx, f.store, f.options, f.batch, f.position, f.hash(), false)
	if err == nil || errors.Is(err, protocol.ErrConflict) {
		f.record = record
	}
	if errors.Is(err, protocol.ErrConflict) {
		if err := f.noteState(); err != nil {
			return f.record, err
		}
		return f.record, f.differs(f.position)
	}
	return f.record, err
}

// Seal seals a batch of that many items with this hash; asIs: whatever it has. It ends the batch if all of its members have ended. The Redis user
// of a producer has no right to do that: then workers and schedulers end the batch.
func Seal(ctx context.Context, store EndingStore, options Options, batch string, total int64, hash string, asIs bool) (record protocol.BatchRecord, err error) {
	err = options.attempt(ctx, "seal batch", func(ctx context.Context) error {
		var counts []protocol.PartitionCounts
		for {
			answer, sealed, err := store.SealBatch(ctx, batch, total, hash, asIs, counts)
			if record = answer; err != nil || sealed {
				return err
			}
			if counts, err = closed(ctx, store, &record); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return record, err
	}
	if record.HasEnded() && record.Owes() {
		err = options.attempt(ctx, "end batch", func(ctx context.Context) error { return endAndCarry(ctx, store, batch) })
		if errors.Is(err, protocol.ErrUnfit) {
			err = nil
		}
	}
	return record, err
}

// closed closes all partitions of a batch, and returns their counts.
func closed(ctx context.Context, store protocol.BatchStore, record *protocol.BatchRecord) (counts []protocol.PartitionCounts, err error) {
	calls := make([]protocol.CountCall, len(record.Partition))
	for i := range calls {
		of := &record.Partition[i]
		calls[i] = protocol.CountCall{Partition: of.Partition, Batch: record.ID, Above: of.Version, Close: true}
	}
	for i, answer := range store.CountBatch(ctx, calls) {
		if answer.Err != nil {
			return nil, fmt.Errorf("count %q in queue %q: %w", record.ID, calls[i].Partition.Queue, answer.Err)
		}
		counts = append(counts, answer.Counts)
	}
	if len(counts) < len(calls) {
		return nil, errNoAnswer
	}
	return counts, nil
}
