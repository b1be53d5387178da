package chime

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/batch"
	"github.com/chimejobs/chime/internal/enqueue"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// A Batch is jobs that belong together, its members, and up to two jobs that are added when they have ended. See [Enqueuer.EnqueueBatch].
type Batch struct {
	// ID is the ID of the batch: a text like the [ID] of a job, unique in the store. Make it of the work, so that you can repeat the call. Empty: one is created,
	// and the receipt has it.
	ID string
	// Items yields the members, at most 1,000,000, for any queues. An error ends it: then the batch remains open. Nil: no members. The same call after a crash
	// must yield the same items in the same order.
	Items iter.Seq2[Item, error]
	// Done is added when all members are done. If some became dead, it is added when they were requeued and are done. An Item without a name: none is added.
	Done Item
	// Ended is added when all members have ended in any way: done, dead or cancelled. An Item without a name: none is added.
	Ended Item
	// Note is a remark for people, at most 1 KiB.
	Note string
	// Keep is how long the batch is shown after its end, 1 minute to 365 days. One with dead members is shown for 7 days at least. Zero means 24 hours.
	Keep time.Duration
	// DoneWithoutCancelled adds Done also if members were cancelled, deleted or purged, and all others are done. False: then only Ended is added.
	DoneWithoutCancelled bool
}

const (
	maxBatchNote     = 1 << 10 // bytes
	minBatchKeep     = time.Minute
	defaultBatchKeep = 24 * time.Hour
	keepDeadBatch    = 7 * 24 * time.Hour
)

// A BatchReceipt is the result of [Enqueuer.EnqueueBatch].
type BatchReceipt struct {
	// ID of the batch. It is set even with an error, unless your own ID was refused.
	ID string `json:"id"`
	// Items is how many items are in the batch, from the first one on. After an error the call has stopped behind them.
	Items int64 `json:"items"`
	// Existing is how many of these are no members, because a job with their ID existed, see [Receipt].
	Existing int64 `json:"existing"`
	// Repeated is true if the batch was there, with the same items, and complete. Nothing was added.
	Repeated bool `json:"repeated,omitempty"`
}

// A BatchError is why EnqueueBatch has stopped before the end of the items. The batch remains open: the items before Position are added and run, and Done and
// Ended wait. Repair the cause and repeat the call.
type BatchError struct {
	ID       string // the ID of the batch
	Position int64  // of the item at which it stopped: 1, 2, …
	Err      error  // the reason
}

// Error contains the position and the reason.
func (e *BatchError) Error() string { return fmt.Sprintf("item %d: %v", e.Position, e.Err) }

// Unwrap returns the reason: an *InvalidError for an item that was refused, ErrConflict if other items were added before, the error of the sequence, or one of
// the store.
func (e *BatchError) Unwrap() error { return e.Err }

// EnqueueBatch adds jobs that belong together, in calls of up to 500 jobs. They run from the first call on. When the last one is added the batch is complete, and
// from then on it may end: the job Ended, and Done if all are done, are added exactly once, whoever ends the last member. docs/batches.md has examples.
//
// If an item is refused, if the sequence yields an error, or if the store fails, it stops there. The error is a *[BatchError], and the batch remains open: shown as
// such, with its members running. Call EnqueueBatch again with the same batch, in the same process or another one: each position is added once. If the names or the
// IDs of its items differ from those of the first call, the error is ErrConflict. It is ErrConflict too if Done, Ended, Note, Keep or DoneWithoutCancelled differ,
// or if the batch was cancelled. A complete batch does not change: see BatchReceipt.Repeated.
//
// Members may have all options except [Replace]. An item whose ID exists is not added and is no member. Done and Ended may have the options of [OnDone];
// their IDs are the ID of the batch and "#done" or "#ended". Middleware gets the members, at most 500 in a call, and not Done and Ended.
func (e *Enqueuer) EnqueueBatch(ctx context.Context, b Batch) (BatchReceipt, error) {
	e.begin()
	if b.ID == "" {
		b.ID = enqueue.NewID()
	}
	receipt := BatchReceipt{ID: b.ID}
	err := e.enqueueBatch(ctx, &b, &receipt)
	if err != nil {
		if protocol.CheckID("Batch.ID", b.ID) != nil {
			receipt.ID = ""
		}
		return receipt, fmt.Errorf("chime: enqueue batch %.40q: %w", b.ID, err)
	}
	return receipt, nil
}

func (e *Enqueuer) enqueueBatch(ctx context.Context, b *Batch, receipt *BatchReceipt) error {
	def, err := e.batchDefinition(ctx, b)
	if err != nil {
		return err
	}
	same := func(stored *protocol.BatchDefinition) bool {
		return bytes.Equal(stored.Spec, def.Spec) && stored.Keep == def.Keep && stored.DoneWithoutCancelled == def.DoneWithoutCancelled
	}
	filling, err := e.engine.OpenBatch(ctx, *def, same)
	if err != nil {
		return err
	}
	f := &batchFilling{Filling: filling, enqueuer: e, batch: b.ID}
	defer f.Stop() // also if the sequence of the items panics
	err = f.addAll(ctx, b.Items)
	if err == nil {
		if _, err = f.Seal(ctx); err != nil {
			err = &BatchError{ID: b.ID, Position: f.Position() + 1, Err: err}
		}
	}
	receipt.Items, receipt.Existing, receipt.Repeated = f.Position(), f.Existing(), err == nil && f.Repeated()
	return err
}

// batchDefinition checks everything but the items.
func (e *Enqueuer) batchDefinition(ctx context.Context, b *Batch) (*protocol.BatchDefinition, error) {
	if ctx == nil {
		return nil, errNilContext
	}
	var bad []error
	bad = append(bad, protocol.CheckID("Batch.ID", b.ID))
	if len(b.Note) > maxBatchNote {
		bad = append(bad, protocol.Invalid("Batch.Note", strconv.Itoa(len(b.Note))+" bytes", strconv.Itoa(maxBatchNote)+" bytes at most"))
	}
	keep := cmp.Or(b.Keep, defaultBatchKeep)
	if keep < minBatchKeep || keep > schedule.MaxTimeout {
		bad = append(bad, protocol.Invalid("Batch.Keep", b.Keep.String(), "1m to "+schedule.MaxTimeout.String()+", or 0 for 24h"))
	}
	spec := wire.BatchSpec{Note: b.Note}
	var groups []func() error // checks that need the store
	for _, after := range []struct {
		field, id string
		item      Item
		body      *[]byte
	}{{"Batch.Done", protocol.BatchDoneID(b.ID), b.Done, &spec.Done}, {"Batch.Ended", protocol.BatchEndedID(b.ID), b.Ended, &spec.Ended}} {
		if after.item.Name == "" {
			continue
		}
		body, queue, group, follow, err := e.afterBatch(after.item)
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", after.field, err))
			continue
		}
		*after.body = body
		groups = append(groups, func() error { return e.engine.After(ctx, queue, after.id, group, follow) })
	}
	if err := errors.Join(bad...); err != nil {
		return nil, err
	}
	if err := e.engine.Fit(ctx); err != nil {
		return nil, err
	}
	for _, check := range groups {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return &protocol.BatchDefinition{
		ID: b.ID, Spec: spec.Encode(), Keep: keep, KeepDead: keepDeadBatch, DoneWithoutCancelled: b.DoneWithoutCancelled,
		HasDone: spec.Done != nil, HasEnded: spec.Ended != nil,
	}, nil
}

// afterBatch returns the body of a job that is added at the end of a batch, with its queue and group, and the groups of the jobs that may follow it.
func (e *Enqueuer) afterBatch(item Item) (body []byte, queue, group string, follow []protocol.QueueGroup, err error) {
	if body, err = followerBody(item); err != nil {
		return nil, "", "", nil, err
	}
	message, err := wire.DecodeEnvelope(body)
	if err != nil {
		return nil, "", "", nil, err
	}
	details := cmp.Or(message.Details, &wire.Details{})
	if details.SameBatch {
		return nil, "", "", nil, protocol.Invalid("option", "SameBatch", "an option of an attempt, Header, Keep, Queue, In, Group, OnDone or OnDeath")
	}
	details.Queue = cmp.Or(details.Queue, e.options.Queue)
	follow, err = checkFollowers(details, "")
	message.Details = details
	return message.Encode(), details.Queue, details.Group, follow, err
}

// A batchFilling adds the items of a call of EnqueueBatch.
type batchFilling struct {
	*batch.Filling
	enqueuer *Enqueuer
	batch    string
	room     wire.Bodies
	sent     wire.Bodies // the bodies of the call under way
	settings enqueueSettings
}

// addAll adds items until their sequence ends. An error is a *BatchError.
func (f *batchFilling) addAll(ctx context.Context, items iter.Seq2[Item, error]) error {
	if items == nil {
		return nil
	}
	var stopped error // by the sequence
	var waiting []Item
	var err error
	for item, failed := range items {
		if stopped = failed; stopped != nil {
			break
		}
		item.Options = slices.Clip(item.Options)
		if waiting = append(waiting, item); len(waiting) == protocol.MaxItems || f.enqueuer.around == nil {
			if err = f.pass(ctx, waiting); err != nil {
				break
			}
			waiting = waiting[:0]
		}
	}
	if err == nil {
		err = f.pass(ctx, waiting)
	}
	if err == nil && stopped != nil {
		if err = f.Flush(ctx); err == nil {
			err = stopped
		}
	}
	if err != nil {
		return &BatchError{ID: f.batch, Position: f.Position() + 1, Err: err}
	}
	return nil
}

// pass adds items, through the middleware if there is any.
func (f *batchFilling) pass(ctx context.Context, items []Item) error {
	if f.enqueuer.around == nil || len(items) == 0 {
		for i := range items {
			if _, _, err := f.add(ctx, &items[i]); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := f.enqueuer.wrap(func(ctx context.Context, items []Item) ([]Receipt, error) {
		receipts := make([]Receipt, len(items))
		for i := range items {
			var err error
			if receipts[i].ID, receipts[i].Queue, err = f.add(ctx, &items[i]); err != nil {
				return receipts, err
			}
		}
		return receipts, nil
	})(ctx, slices.Clone(items))
	return err
}

// add adds an item, and returns its ID and its queue.
func (f *batchFilling) add(ctx context.Context, item *Item) (id, queue string, err error) {
	var job enqueue.Job
	f.enqueuer.job(&job, item.Name, item.Args, item.Options, &f.settings)
	if job.Replace || job.Batch != "" {
		job.Problems = append(job.Problems, protocol.Invalid("option of an item of a batch", "Replace or InBatch", "another option of one job"))
	}
	if job.Batch = f.batch; !job.Own {
		job.ID = f.Next()
	}
	member, err := f.enqueuer.engine.Member(ctx, &job, &f.room)
	if err != nil {
		return member.ID, job.Queue, errors.Join(f.Flush(ctx), fmt.Errorf("%.40q: %w", item.Name, err)) // those before it are added
	}
	if err = f.Add(ctx, member, job.Own); err == nil && !f.Waiting() {
		f.room, f.sent = f.sent, f.room
		f.room.Reset(protocol.MaxBytes)
	}
	return member.ID, job.Queue, err
}
