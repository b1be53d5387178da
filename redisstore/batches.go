package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	openBatchScript   = scripts.Load("batches/open_batch")
	noteFillScript    = scripts.Load("batches/note_fill")
	sealBatchScript   = scripts.Load("batches/seal_batch")
	reportBatchScript = scripts.Load("batches/report_batch")
	growBatchScript   = scripts.Load("batches/grow_batch")
	endBatchScript    = scripts.Load("batches/end_batch")
	cancelBatchScript = scripts.Load("batches/cancel_batch")
	tendBatchesScript = scripts.Load("batches/tend_batches")
	deleteBatchScript = scripts.Load("batches/delete_batch")
)

// The answers of the scripts about a batch at its home.
const (
	batchUnknown  = 0
	batchYes      = 1
	batchOther    = 2
	batchConflict = 3
)

// homeOf returns the keys of the home of a batch, and that of its record.
func (s *store) homeOf(id string) (k homeKeys, record string) {
	k = s.keys.home(protocol.HomeOf(id))
	return k, k.batch(id)
}

// atHome sends a script about a batch, whose answer has an outcome and the fields of the record.
func (s *store) atHome(ctx context.Context, act, id string, c call) (record protocol.BatchRecord, outcome int64, values reply, err error) {
	values, err = s.runOne(ctx, act, id, c)
	if err != nil {
		return record, 0, values, err
	}
	outcome = values.number(1)
	if outcome == batchUnknown {
		return record, outcome, values, unknownBatch(id)
	}
	record = batchRecord(id, values.texts(2))
	record.Now = values.now()
	if outcome == batchConflict {
		err = fmt.Errorf("redisstore: %s %q: %w", act, id, protocol.ErrConflict)
	}
	return record, outcome, values, err
}

func unknownBatch(id string) error {
	return fmt.Errorf("redisstore: batch %q: %w", id, protocol.ErrNotFound)
}

// OpenBatch creates a batch.
func (s *store) OpenBatch(ctx context.Context, def protocol.BatchDefinition) (record protocol.BatchRecord, existed bool, err error) {
	k, key := s.homeOf(def.ID)
	flags := letterIf(def.HasDone, "d") + letterIf(def.HasEnded, "e") + letterIf(def.DoneWithoutCancelled, "w")
	args := []any{def.ID, def.Spec, def.Keep.Milliseconds(), def.KeepDead.Milliseconds(), flags}
	record, outcome, _, err := s.atHome(ctx, "create batch", def.ID, newCall(&openBatchScript, []string{key, k.made, k.tended, k.state}, args))
	return record, outcome == batchOther, err
}

// NoteFill notes at the home of a batch which items are sent next.
func (s *store) NoteFill(ctx context.Context, id string, note protocol.FillNote) (protocol.BatchRecord, error) {
	k, key := s.homeOf(id)
	args := []any{note.Before, note.BeforeHash, note.Position, note.Hash}
	for _, p := range note.Partitions {
		args = append(args, p.Path())
	}
	record, _, _, err := s.atHome(ctx, "fill batch", id, newCall(&noteFillScript, []string{key, k.state}, args))
	return record, err
}

// SealBatch seals an open batch.
func (s *store) SealBatch(ctx context.Context, id string, total int64, hash string, asIs bool, counts []protocol.PartitionCounts) (record protocol.BatchRecord, sealed bool, err error) {
	k, key := s.homeOf(id)
	args := []any{id, total, hash, flag(asIs)}
	for i := range counts {
		args = append(args, counts[i].Partition.Path(), reportText(&counts[i]))
	}
	record, outcome, _, err := s.atHome(ctx, "seal batch", id, newCall(&sealBatchScript, []string{key, k.tended, k.state}, args))
	return record, outcome == batchYes, err
}

// ReportBatches brings counts to the homes of their batches.
func (s *store) ReportBatches(ctx context.Context, reports []protocol.BatchReport) []protocol.ReportAnswer {
	answers := make([]protocol.ReportAnswer, len(reports))
	if s.bad != nil || len(reports) == 0 {
		for i := range answers {
			answers[i].Err = s.bad
		}
		return answers
	}
	sent := make([]call, len(reports))
	for i := range reports {
		counts := &reports[i].Counts
		k, key := s.homeOf(counts.Batch)
		args := []any{counts.Batch, counts.Partition.Path(), reportText(counts)}
		for _, token := range reports[i].Grown {
			args = append(args, token)
		}
		sent[i] = newCall(&reportBatchScript, []string{key, k.tended, k.state}, args)
	}
	for i, cmd := range s.run(ctx, s.client, sent...) {
		values, err := list("report batch", reports[i].Counts.Batch, cmd)
		answers[i] = protocol.ReportAnswer{Err: err, Unknown: err == nil && values.number(1) == batchUnknown, Ends: values.number(1) == batchYes, Above: values.number(2)}
	}
	return answers
}

// GrowBatch notes that a job is about to be added to a batch.
func (s *store) GrowBatch(ctx context.Context, id, token string, partition protocol.Partition) (protocol.BatchRecord, error) {
	k, key := s.homeOf(id)
	record, _, _, err := s.atHome(ctx, "add to batch", id, newCall(&growBatchScript, []string{key, k.tended, k.state}, []any{id, token, partition.Path()}))
	return record, err
}

// EndBatch adds the jobs that follow a batch. If the Redis user has no right to do that (that of a producer has not), the error wraps ErrUnfit.
func (s *store) EndBatch(ctx context.Context, id string, end protocol.BatchEnding) (record protocol.BatchRecord, done bool, err error) {
	k, key := s.homeOf(id)
	args := []any{id, end.Revision, len(end.Counts)}
	for i := range end.Counts {
		args = append(args, end.Counts[i].Partition.Path(), reportText(&end.Counts[i]))
	}
	for _, follower := range []*protocol.Follower{end.Ended, end.Done} {
		if follower == nil {
			args = append(args, "", 0, "", "")
			continue
		}
		args = append(args, follower.Queue, follower.In.Milliseconds(), follower.Group, follower.Body)
	}
	record, outcome, _, err := s.atHome(ctx, "end batch", id, newCall(&endBatchScript, []string{key, k.tended, k.state, k.outbox, k.outgoing}, args))
	return record, outcome == batchYes, unfitIfDenied(err)
}

// CancelBatch marks a batch as cancelled.
func (s *store) CancelBatch(ctx context.Context, id string) (protocol.BatchRecord, error) {
	k, key := s.homeOf(id)
	record, _, _, err := s.atHome(ctx, "cancel batch", id, newCall(&cancelBatchScript, []string{key, k.tended, k.state}, []any{id}))
	return record, err
}

// CancelMembers cancels jobs of a queue.
func (s *store) CancelMembers(ctx context.Context, queue string, ids []string) error {
	_, err := s.discard(ctx, "cancel", queue, ids, nil)
	return err
}

// tendEvery is how long a batch that TendBatches has returned is left to the caller.
const tendEvery = 15 * time.Second

// TendBatches returns batches of a home that somebody must look after.
func (s *store) TendBatches(ctx context.Context, home int) (due []protocol.BatchRecord, owes bool, err error) {
	k := s.keys.home(home)
	if s.bad != nil {
		return nil, false, s.bad
	}
	switch exist, err := s.client.Exists(ctx, k.tended, k.outgoing).Result(); {
	case err != nil:
		return nil, false, failure("read batches of home", strconv.Itoa(home), err)
	case exist == 0: // as in most stores: one command a home instead of four
		return nil, false, nil
	}
	values, err := s.runOne(ctx, "read batches of home", strconv.Itoa(home), newCall(&tendBatchesScript, []string{k.tended, k.state}, []any{protocol.MaxTended, tendEvery.Milliseconds()}))
	if err != nil {
		return nil, false, err
	}
	var failed []error
	for _, id := range values.texts(2) {
		record, err := s.GetBatch(ctx, id)
		switch {
		case err == nil:
			record.Now = values.now()
			due = append(due, record)
		case errors.Is(err, protocol.ErrNotFound): // its record was lost
			err = s.DeleteBatch(ctx, id)
			if !errors.Is(err, protocol.ErrNotFound) {
				failed = append(failed, err)
			}
		default:
			failed = append(failed, err)
		}
	}
	return due, values.number(1) == 1, errors.Join(failed...)
}

// PutOffBatch sets when somebody must look after a batch again.
func (s *store) PutOffBatch(ctx context.Context, id string, at time.Time) error {
	k, _ := s.homeOf(id)
	err := s.client.ZAddArgs(ctx, k.tended, redis.ZAddArgs{XX: true, Members: []redis.Z{{Score: float64(at.UnixMilli()), Member: id}}}).Err()
	if err != nil {
		return failure("put off batch", id, err)
	}
	return nil
}

// DeleteBatch removes the record of a batch that has ended.
func (s *store) DeleteBatch(ctx context.Context, id string) error {
	k, key := s.homeOf(id)
	_, _, _, err := s.atHome(ctx, "delete batch", id, newCall(&deleteBatchScript, []string{key, k.made, k.tended, k.state}, []any{id}))
	return err
}

// batchRecord reads the fields of a record as a script has returned them.
func batchRecord(id string, flat []string) protocol.BatchRecord {
	fields := make(map[string]string, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		fields[flat[i]] = flat[i+1]
	}
	return recordOf(id, fields)
}
