package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

const (
	askEvery  = time.Minute        // how often the partitions of a batch are asked that has not ended
	voidAfter = time.Minute        // then the partition is asked whether a job that was to be added to a batch was added
	openLong  = 7 * 24 * time.Hour // then it is logged that a batch is open still
	keepLook  = time.Hour          // how often a batch that has ended is looked at until it is forgotten
)

// tend asks the homes what others have left undone, and does it.
func (r *Reporter) tend(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	for home := range protocol.BatchHomes {
		due, owes, err := r.store.TendBatches(ctx, home)
		if owes {
			r.carry(protocol.Home(home))
		}
		for i := range due {
			if failed := r.tendOne(ctx, &due[i]); failed != nil {
				err = errors.Join(err, fmt.Errorf("batch %q: %w", due[i].ID, failed))
			}
		}
		if err != nil && ctx.Err() == nil && r.logged.Allow("home", time.Now()) {
			r.log.Warn("chime: batches could not be looked after: trying again", "event", "batch.unreported", "error", err)
		}
	}
}

// tendOne does what is due for a batch.
func (r *Reporter) tendOne(ctx context.Context, record *protocol.BatchRecord) error {
	if !record.Ended.IsZero() && !(record.HasEnded() && record.Owes()) {
		return r.keep(ctx, record)
	}
	if record.State == protocol.BatchOpen && record.Now.Sub(record.Created) > openLong && r.logged.Allow(record.ID, time.Now()) {
		r.log.Warn("chime: a batch is open for a long time: repeat EnqueueBatch, or seal or cancel it", "event", "batch.open", "id", record.ID, "count", record.Position)
	}
	failed := refreshCounts(ctx, r.store, record)
	if record.State == protocol.BatchCancelled {
		failed = errors.Join(failed, CancelMembers(ctx, r.store, record))
	}
	if err := r.end(ctx, record.ID); err != nil {
		failed = errors.Join(failed, err)
	}
	now, err := r.store.GetBatch(ctx, record.ID)
	if err == nil && now.Ended.IsZero() && now.State != protocol.BatchCancelled && !now.HasEnded() {
		failed = errors.Join(failed, r.store.PutOffBatch(ctx, record.ID, record.Now.Add(askEvery)))
	}
	return failed
}

// refreshCounts asks the partitions of a batch for their counts, and brings these to its home, with the jobs that were to be added long ago.
func refreshCounts(ctx context.Context, store protocol.BatchStore, record *protocol.BatchRecord) (failed error) {
	var calls []protocol.CountCall
	var reports []protocol.BatchReport
	add := func(of *protocol.PartitionCounts, token string) {
		calls = append(calls, protocol.CountCall{
			Partition: of.Partition, Batch: record.ID, Above: of.Version, Void: token,
			Close: record.State != protocol.BatchOpen, Cancel: record.State == protocol.BatchCancelled,
		})
	}
	for i := range record.Partition {
		of := &record.Partition[i]
		add(of, "")
		for _, growth := range record.Growing {
			if growth.Partition == of.Partition && record.Now.Sub(growth.Since) >= voidAfter {
				add(of, growth.Token)
			}
		}
	}
	for i, answer := range store.CountBatch(ctx, calls) {
		if answer.Err != nil {
			failed = errors.Join(failed, fmt.Errorf("partition %s: %w", calls[i].Partition.Path(), answer.Err))
			continue
		}
		report := protocol.BatchReport{Counts: answer.Counts}
		if calls[i].Void != "" {
			report.Grown = []string{calls[i].Void}
		}
		reports = append(reports, report)
	}
	for _, answer := range store.ReportBatches(ctx, reports) {
		failed = errors.Join(failed, answer.Err)
	}
	return failed
}

// keep tells the partitions of a batch that it has ended, and forgets it when its time is over.
func (r *Reporter) keep(ctx context.Context, record *protocol.BatchRecord) error {
	until := record.Ended.Add(record.Keep)
	if record.Totals().Dead > 0 {
		until = record.Ended.Add(max(record.Keep, record.KeepDead))
	}
	forgets := !record.Now.Before(until) && record.Totals().Left() <= 0
	calls := callsOf(record, func(call *protocol.CountCall) { call.Ended, call.Forget = true, forgets })
	var failed error
	for i, answer := range r.store.CountBatch(ctx, calls) {
		if answer.Err != nil {
			failed = errors.Join(failed, fmt.Errorf("partition %s: %w", calls[i].Partition.Path(), answer.Err))
		}
	}
	switch {
	case failed != nil:
		return failed
	case forgets:
		return r.store.DeleteBatch(ctx, record.ID)
	}
	next := record.Now.Add(keepLook)
	if record.Totals().Left() > 0 { // members were requeued
		next = record.Now.Add(askEvery)
	}
	if until.After(record.Now) && until.Before(next) {
		next = until
	}
	return r.store.PutOffBatch(ctx, record.ID, next)
}

// callsOf returns a call to each partition of a batch.
func callsOf(record *protocol.BatchRecord, set func(*protocol.CountCall)) []protocol.CountCall {
	calls := make([]protocol.CountCall, len(record.Partition))
	for i := range calls {
		calls[i] = protocol.CountCall{Partition: record.Partition[i].Partition, Batch: record.ID}
		set(&calls[i])
	}
	return calls
}

// CancelMembers cancels the members of a cancelled batch, in all states but dead: a dead one has ended. It reads all jobs of their queues, in the order of the states
// that a job passes: so a member that moves on meanwhile is found in a later state. None moves back when the batch is marked in its partition, except from a worker
// that vanishes: a take ends that one. Whoever cancels calls it; the reporters repeat it while members are left.
func CancelMembers(ctx context.Context, store Store, record *protocol.BatchRecord) error {
	var queues []string
	for i := range record.Partition {
		of := &record.Partition[i]
		if of.Counts.Left() > 0 && !slices.Contains(queues, of.Partition.Queue) {
			queues = append(queues, of.Partition.Queue)
		}
	}
	var failed error
	for _, queue := range queues {
		for _, state := range []string{protocol.JobDelayed, protocol.JobParked, protocol.JobWaiting, protocol.JobTaken, protocol.JobRunning} {
			if err := cancelIn(ctx, store, queue, state, record.ID); err != nil {
				failed = errors.Join(failed, fmt.Errorf("queue %q: %w", queue, err))
				break
			}
		}
	}
	return failed
}

// cancelIn cancels the members of a batch in one state.
func cancelIn(ctx context.Context, store Store, queue, state, id string) error {
	for after, begun := "", false; after != "" || !begun; begun = true {
		page, err := store.PageJobs(ctx, protocol.JobPageCall{Queue: queue, State: state, Batch: id, After: after, Limit: protocol.MaxItems})
		if err != nil {
			return err
		}
		var ids []string
		for i := range page.Jobs {
			if job := &page.Jobs[i]; !job.Passed && !job.Cancelled && wire.Member(job.Body) == id {
				ids = append(ids, job.ID)
			}
		}
		if len(ids) > 0 {
			if err := store.CancelMembers(ctx, queue, ids); err != nil {
				return err
			}
		}
		after = page.Next
	}
	return nil
}
