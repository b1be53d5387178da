package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// Cancel cancels a batch that has not ended: it is noted at home, and then in every partition, from which moment on nothing is added to it. Then it cancels the
// members. It returns the record. What an error leaves undone, reporters do later.
func Cancel(ctx context.Context, store EndingStore, id string) (protocol.BatchRecord, error) {
	record, err := store.CancelBatch(ctx, id)
	if err != nil {
		return record, err
	}
	if record, err = refresh(ctx, store, &record, func(call *protocol.CountCall) { call.Close, call.Cancel = true, true }); err != nil {
		return record, err
	}
	if err := CancelMembers(ctx, store, &record); err != nil {
		return record, err
	}
	return refresh(ctx, store, &record, func(call *protocol.CountCall) { call.Close, call.Cancel = true, true })
}

// Recount reads the counts of every partition, brings them to the home, and ends the batch if all members have ended.
func Recount(ctx context.Context, store EndingStore, id string) (protocol.BatchRecord, error) {
	record, err := store.GetBatch(ctx, id)
	if err != nil {
		return record, err
	}
	return refresh(ctx, store, &record, func(*protocol.CountCall) {})
}

// refresh brings the counts of all partitions to the home, and returns the record after that.
func refresh(ctx context.Context, store EndingStore, record *protocol.BatchRecord, set func(*protocol.CountCall)) (protocol.BatchRecord, error) {
	calls := callsOf(record, set)
	for i := range calls {
		calls[i].Above = record.Partition[i].Version
	}
	var reports []protocol.BatchReport
	var failed error
	for i, answer := range store.CountBatch(ctx, calls) {
		if answer.Err != nil {
			failed = errors.Join(failed, fmt.Errorf("in queue %q: %w", calls[i].Partition.Queue, answer.Err))
			continue
		}
		reports = append(reports, protocol.BatchReport{Counts: answer.Counts})
	}
	if len(reports) > 0 {
		for _, answer := range store.ReportBatches(ctx, reports) {
			failed = errors.Join(failed, answer.Err)
		}
	}
	now, err := store.GetBatch(ctx, record.ID)
	if err == nil && now.HasEnded() && now.Owes() {
		if err = endAndCarry(ctx, store, record.ID); err == nil {
			now, err = store.GetBatch(ctx, record.ID)
		}
	}
	if err != nil {
		return *record, errors.Join(failed, err)
	}
	return now, failed
}

// Delete removes a batch that has ended: first the counts in its partitions, then the record. Otherwise the error is protocol.ErrConflict.
func Delete(ctx context.Context, store protocol.BatchStore, id string) error {
	record, err := store.GetBatch(ctx, id)
	if err != nil {
		return err
	}
	if !HasEnded(&record) {
		return fmt.Errorf("%w: the batch is %s, and %d of its members have not ended", protocol.ErrConflict, record.State, record.Totals().Left())
	}
	calls := callsOf(&record, func(call *protocol.CountCall) { call.Ended, call.Forget = true, true })
	var failed error
	for i, answer := range store.CountBatch(ctx, calls) {
		if answer.Err != nil {
			failed = errors.Join(failed, fmt.Errorf("in queue %q: %w", calls[i].Partition.Queue, answer.Err))
		}
	}
	if failed != nil {
		return failed
	}
	return store.DeleteBatch(ctx, id)
}

// HasEnded reports whether a batch has ended and no member was requeued since.
func HasEnded(record *protocol.BatchRecord) bool {
	switch record.State {
	case protocol.BatchEnded, protocol.BatchDone, protocol.BatchCancelled:
		return !record.Ended.IsZero() && record.Totals().Left() <= 0
	}
	return false
}

const (
	firstPoll = 50 * time.Millisecond
	maxPoll   = time.Second // the counts of a batch that runs are reported about once a second
)

// Wait returns the record of a batch as soon as it has ended. If ctx ends first, it returns the error of ctx with the store's last error.
func Wait(ctx context.Context, store protocol.BatchStore, id string) (protocol.BatchRecord, error) {
	var trouble error
	for wait := firstPoll; ; wait = min(2*wait, maxPoll) {
		record, err := store.GetBatch(ctx, id)
		switch {
		case ctx.Err() != nil:
		case err == nil && HasEnded(&record):
			return record, nil
		case errors.Is(err, protocol.ErrNotFound), errors.Is(err, protocol.ErrUnfit):
			return record, err
		default:
			trouble = err
		}
		if retry.Sleep(ctx, wait) {
			continue
		}
		if trouble != nil {
			return record, fmt.Errorf("%w; the store's last error: %w", ctx.Err(), trouble)
		}
		return record, ctx.Err()
	}
}
