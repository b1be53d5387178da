// Package batch brings the counts of batches to their homes, and ends batches of which no member is left. A batch is jobs, its members, whose common end adds other
// jobs. The store does each step once, however many processes take it.
package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// maxLooks is how often End asks the partitions: each time something has changed since.
const maxLooks = 3

// End ends a batch if no member is left. The reports alone do not show that: they come from different instants. So it asks each partition once more, and
// the store ends the batch only if nothing has changed since the reports. It does nothing if a member is left.
func End(ctx context.Context, store protocol.BatchStore, id string) error {
	_, err := end(ctx, store, id)
	return err
}

// end is End, and returns the record.
func end(ctx context.Context, store protocol.BatchStore, id string) (record protocol.BatchRecord, err error) {
	if record, err = store.GetBatch(ctx, id); err != nil {
		return record, err
	}
	for range maxLooks {
		if !record.HasEnded() || !record.Owes() {
			return record, nil
		}
		ending, err := look(ctx, store, &record)
		if err != nil {
			return record, err
		}
		next, done, err := store.EndBatch(ctx, id, ending)
		if err != nil || done {
			return next, err
		}
		record = next
	}
	return record, nil // whoever brings the next report continues
}

// look asks each partition of a batch, and builds the jobs that follow from what they answer.
func look(ctx context.Context, store protocol.BatchStore, record *protocol.BatchRecord) (ending protocol.BatchEnding, err error) {
	calls := make([]protocol.CountCall, len(record.Partition))
	for i := range calls {
		of := &record.Partition[i]
		calls[i] = protocol.CountCall{Partition: of.Partition, Batch: record.ID, Above: of.Version, Close: record.State != protocol.BatchOpen, Cancel: record.State == protocol.BatchCancelled}
	}
	asked := *record
	asked.Partition = nil
	var failed error
	for i, answer := range store.CountBatch(ctx, calls) {
		if answer.Err != nil {
			failed = errors.Join(failed, fmt.Errorf("partition %s: %w", calls[i].Partition.Path(), answer.Err))
		}
		asked.Partition = append(asked.Partition, answer.Counts)
	}
	if failed != nil {
		return ending, failed
	}
	spec, err := wire.DecodeBatchSpec(record.Spec)
	if err != nil {
		return ending, err
	}
	ending = protocol.BatchEnding{Revision: record.Revision, Counts: asked.Partition}
	as := endOf(&asked, spec.Note)
	if len(spec.Ended) > 0 {
		if ending.Ended, err = wire.FollowBatch(spec.Ended, as); err != nil {
			return ending, fmt.Errorf("the job Ended of batch %q: %w", record.ID, err)
		}
	}
	if len(spec.Done) > 0 {
		if ending.Done, err = wire.FollowBatch(spec.Done, as); err != nil {
			return ending, fmt.Errorf("the job Done of batch %q: %w", record.ID, err)
		}
	}
	return ending, nil
}

// endOf returns the batch as the jobs that follow it have it.
func endOf(record *protocol.BatchRecord, note string) wire.BatchEnd {
	sum, ended := record.Totals(), record.Ended
	if ended.IsZero() {
		ended = record.Now
	}
	if ended.IsZero() {
		ended = time.Now()
	}
	return wire.BatchEnd{
		ID: record.ID, Total: sum.Added, Done: sum.Done, Dead: sum.Dead, Cancelled: sum.Cancelled, Existing: sum.Existing,
		Created: record.Created, Sealed: record.Sealed, Ended: ended, Cancel: record.State == protocol.BatchCancelled,
		Without: record.DoneWithoutCancelled, Note: note,
	}
}
