package chime

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/batch"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// Batches shows the batches of a store, and changes them. Create one with NewBatches; the zero value has no store.
type Batches struct {
	store protocol.Store
}

// NewBatches returns the batches of a store. It does no I/O.
func NewBatches(store Store) *Batches { return &Batches{store: protocolOf(store)} }

// A BatchState is the state of a batch.
type BatchState string

// The states. An open batch becomes running, a running one ended or done. One with dead members that are requeued runs again.
const (
	BatchOpen      BatchState = "open"      // EnqueueBatch has not added all items; the members run already
	BatchRunning   BatchState = "running"   // it is complete, and some members have not ended
	BatchEnded     BatchState = "ended"     // all members have ended, and some of them are dead or were cancelled
	BatchDone      BatchState = "done"      // all members are done, with Batch.DoneWithoutCancelled all that were not cancelled
	BatchCancelled BatchState = "cancelled" // [Batches.Cancel] was called
)

// BatchStates returns all states of a batch.
func BatchStates() []BatchState {
	return []BatchState{BatchOpen, BatchRunning, BatchDone, BatchEnded, BatchCancelled}
}

// BatchInfo is a batch as it is stored. While it runs, the counts may be a second old.
type BatchInfo struct {
	ID    string     `json:"id"`             // the ID of the batch
	State BatchState `json:"state"`          // its state
	Note  string     `json:"note,omitempty"` // the remark of [Batch]

	Total     int64 `json:"total"`     // the members
	Existing  int64 `json:"existing"`  // items that are no members, because a job with their ID existed
	Left      int64 `json:"left"`      // members that have not ended
	Done      int64 `json:"done"`      // members that are done
	Dead      int64 `json:"dead"`      // members that are dead or have expired
	Cancelled int64 `json:"cancelled"` // members that were cancelled, deleted or purged

	CreatedAt time.Time     `json:"created_at"`          // when it was created
	SealedAt  time.Time     `json:"sealed_at,omitzero"`  // when its last item was added; zero: it is open
	EndedAt   time.Time     `json:"ended_at,omitzero"`   // when all members had ended for the first time
	Items     int64         `json:"items"`               // how many items were sent so far
	Growing   int           `json:"growing,omitempty"`   // calls of [InBatch] under way
	DoneJob   string        `json:"done_job,omitempty"`  // the name of the job Done; empty: none
	EndedJob  string        `json:"ended_job,omitempty"` // the name of the job Ended; empty: none
	DoneAdded time.Time     `json:"done_added,omitzero"` // when Done was added
	Keep      time.Duration `json:"-"`                   // how long it is shown after its end. In JSON: keep_ms

	Queues []BatchQueue `json:"queues,omitempty"` // its members by queue, in the order of the names

	// In a list, Next is the BatchFilter.After that continues the list after this batch.
	Next string `json:"-"`
}

// A BatchQueue is the members of a batch on one queue.
type BatchQueue struct {
	Queue     string `json:"queue"`     // the name of the queue
	Total     int64  `json:"total"`     // the members on it
	Left      int64  `json:"left"`      // those that have not ended
	Done      int64  `json:"done"`      // those that are done
	Dead      int64  `json:"dead"`      // those that are dead or have expired
	Cancelled int64  `json:"cancelled"` // those that were cancelled, deleted or purged
}

// MarshalJSON encodes the batch for display: instants in UTC, Keep in milliseconds.
func (b BatchInfo) MarshalJSON() ([]byte, error) {
	type fields BatchInfo // without methods
	for _, at := range []*time.Time{&b.CreatedAt, &b.SealedAt, &b.EndedAt, &b.DoneAdded} {
		*at = at.UTC()
	}
	return json.Marshal(struct {
		fields
		KeepMS int64 `json:"keep_ms,omitempty"`
	}{fields(b), b.Keep.Milliseconds()})
}

// newBatchInfo returns what a record shows.
func newBatchInfo(r *protocol.BatchRecord) *BatchInfo {
	sum := r.Totals()
	b := &BatchInfo{
		ID: r.ID, State: BatchState(r.State), Total: sum.Added + sum.Away, Existing: sum.Existing, Left: max(sum.Left(), 0), Done: sum.Done, Dead: sum.Dead,
		Cancelled: sum.Cancelled, CreatedAt: r.Created, SealedAt: r.Sealed, EndedAt: r.Ended, Items: r.Position, Growing: len(r.Growing), Keep: r.Keep,
		Next: batchCursor(r.Mark()),
	}
	if b.State == BatchEnded && b.Left > 0 { // a dead member was requeued
		b.State = BatchRunning
	}
	if spec, err := wire.DecodeBatchSpec(r.Spec); err == nil {
		b.Note, b.DoneJob, b.EndedJob = spec.Note, nameOfBody(spec.Done), nameOfBody(spec.Ended)
	}
	if b.DoneJob != "" {
		b.DoneAdded = r.Done
	}
	queues := map[string]*BatchQueue{}
	for i := range r.Partition {
		of := &r.Partition[i]
		q := queues[of.Partition.Queue]
		if q == nil {
			q = &BatchQueue{Queue: of.Partition.Queue}
			queues[q.Queue] = q
		}
		q.Total, q.Left, q.Done = q.Total+of.Counts.Added+of.Counts.Away, q.Left+of.Counts.Left(), q.Done+of.Counts.Done
		q.Dead, q.Cancelled = q.Dead+of.Counts.Dead, q.Cancelled+of.Counts.Cancelled
	}
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		b.Queues = append(b.Queues, *queues[name])
	}
	return b
}

// batchCursor returns the BatchFilter.After that continues a list after a batch.
func batchCursor(mark protocol.BatchMark) string {
	return base64.RawURLEncoding.EncodeToString([]byte(mark.String()))
}

// act makes a call for one batch.
func (b *Batches) act(ctx context.Context, verb, id string, call func() (protocol.BatchRecord, error)) (*BatchInfo, error) {
	var record protocol.BatchRecord
	var err error = errNilStore
	switch {
	case b.store == nil:
	case ctx == nil:
		err = errNilContext
	default:
		err = protocol.CheckID("ID", id)
	}
	if err == nil {
		record, err = call()
	}
	if err != nil {
		return nil, fmt.Errorf("chime: %s batch %.40q: %w", verb, id, err)
	}
	return newBatchInfo(&record), nil
}

// Get returns a batch. ErrNotFound: no batch has this ID, or it ended longer ago than Batch.Keep.
func (b *Batches) Get(ctx context.Context, id string) (*BatchInfo, error) {
	return b.act(ctx, "get", id, func() (protocol.BatchRecord, error) { return b.store.GetBatch(ctx, id) })
}

// A BatchFilter selects batches.
type BatchFilter struct {
	State  BatchState // they are in this state; empty: in any
	Prefix string     // their IDs begin with this text; the records of others are not read

	// InProgress leaves out those that have ended, unless dead members were requeued since: what is left is open, running, or cancelled with members that have
	// not ended. Only these are read, so the list costs the same however many have ended.
	InProgress bool

	After string // BatchInfo.Next of the batch, or BatchPage.Next of the page, after which the list continues; empty: from the newest one on
	Limit int    // how many batches at most; 0: for List no limit, for Page 100
}

// validate returns the filter's problems, and the mark of the batch after which the list continues.
func (f *BatchFilter) validate() (mark protocol.BatchMark, err error) {
	if f.State != "" && !slices.Contains(BatchStates(), f.State) {
		err = protocol.Invalid("BatchFilter.State", string(f.State), "open, running, ended, done or cancelled")
	}
	text, bad := base64.RawURLEncoding.DecodeString(f.After)
	mark, valid := protocol.ParseBatchMark(string(text))
	switch {
	case f.After == "":
		mark = protocol.BatchMark{}
	case bad != nil || !valid:
		err = errors.Join(err, protocol.Invalid("BatchFilter.After", f.After, "BatchInfo.Next of a batch"))
	}
	if f.Limit < 0 {
		err = errors.Join(err, protocol.Invalid("BatchFilter.Limit", strconv.Itoa(f.Limit), "0 or more"))
	}
	return mark, err
}

// List iterates over the batches that match the filter, the newest first. After an error, which comes with a nil batch, it ends.
func (b *Batches) List(ctx context.Context, filter BatchFilter) iter.Seq2[*BatchInfo, error] {
	return func(yield func(*BatchInfo, error) bool) { b.list(ctx, &filter, 0, yield) }
}

// list lists batches. If it has looked at a number of batches, others too, it ends and returns the place to continue; 0: no number.
func (b *Batches) list(ctx context.Context, filter *BatchFilter, looked int, yield func(*BatchInfo, error) bool) (next string) {
	mark, err := filter.validate()
	switch {
	case b.store == nil:
		err = errNilStore
	case ctx == nil:
		err = errNilContext
	}
	if err != nil {
		yield(nil, fmt.Errorf("chime: list batches: %w", err))
		return ""
	}
	listed, last := 0, ""
	listing := batch.Listing{After: mark, Prefix: filter.Prefix, InProgress: filter.InProgress, Looked: looked}
	for record, err := range batch.List(ctx, b.store, &listing) {
		if err != nil {
			yield(nil, fmt.Errorf("chime: list batches: %w", err))
			return ""
		}
		info := newBatchInfo(&record)
		if filter.State != "" && filter.State != info.State {
			continue
		}
		if looked > 0 && listed == filter.Limit { // another one follows
			return last
		}
		if listed++; !yield(info, nil) || looked == 0 && listed == filter.Limit {
			return ""
		}
		last = info.Next
	}
	if listing.Cut {
		return batchCursor(listing.Last)
	}
	return ""
}

// maxBatchesLooked is how many batches Page looks at, those that do not match the filter too.
const maxBatchesLooked = 5000

// A BatchPage is a part of a list of batches.
type BatchPage struct {
	Batches []*BatchInfo // the newest first
	Next    string       // BatchFilter.After of the next page; empty: this is the last page
}

// Page returns the next batches that match the filter, the newest first. It looks at 5,000 batches at most, so a page may have fewer than Limit, or none,
// although others follow: continue until Next is empty.
func (b *Batches) Page(ctx context.Context, filter BatchFilter) (page BatchPage, err error) {
	filter.Limit = cmp.Or(filter.Limit, 100)
	page.Next = b.list(ctx, &filter, maxBatchesLooked, func(info *BatchInfo, failed error) bool {
		if err = failed; err == nil {
			page.Batches = append(page.Batches, info)
		}
		return err == nil
	})
	return page, err
}

// Wait waits until a batch has ended, and returns it. It costs the store a read each second. When ctx ends, Wait returns the error of ctx, together with
// the store's last error if the store was failing.
func (b *Batches) Wait(ctx context.Context, id string) (*BatchInfo, error) {
	return b.act(ctx, "wait for", id, func() (protocol.BatchRecord, error) { return batch.Wait(ctx, b.store, id) })
}

// Cancel cancels a batch that has not ended: nothing is added to it any more, members that wait, are delayed or are parked are removed, and the ctx of those that
// run ends, with the cause ErrCancelled. Dead ones remain dead. Ended is added when no member is left, and Done never. It reads the jobs of the queues on which
// members are left. After an error the batch is cancelled too, and workers and schedulers do the rest. ErrConflict: it has ended.
func (b *Batches) Cancel(ctx context.Context, id string) (*BatchInfo, error) {
	return b.act(ctx, "cancel", id, func() (protocol.BatchRecord, error) { return batch.Cancel(ctx, b.store, id) })
}

// Delete removes a batch that has ended. Its dead members remain, and belong to no batch any more. ErrConflict: it has not ended.
func (b *Batches) Delete(ctx context.Context, id string) error {
	_, err := b.act(ctx, "delete", id, func() (protocol.BatchRecord, error) { return protocol.BatchRecord{}, batch.Delete(ctx, b.store, id) })
	return err
}

// Seal completes an open batch as it is. Use it if the process that called EnqueueBatch is gone and will not repeat the call.
func (b *Batches) Seal(ctx context.Context, id string) (*BatchInfo, error) {
	return b.act(ctx, "seal", id, func() (protocol.BatchRecord, error) {
		return batch.Seal(ctx, b.store, batch.Options{Timeout: defaultSendTimeout}, id, 0, "", true)
	})
}

// Recount reads the counts of a batch from all its queues again, and ends the batch if no member is left. Workers report these counts without it too. After a node
// of Redis went back to an earlier state, it repairs the counts at once.
func (b *Batches) Recount(ctx context.Context, id string) (*BatchInfo, error) {
	return b.act(ctx, "recount", id, func() (protocol.BatchRecord, error) { return batch.Recount(ctx, b.store, id) })
}

// newBatchEnd returns the batch at whose end a job with this ID was added.
func newBatchEnd(id string, end *wire.BatchEnd) *BatchInfo {
	b := &BatchInfo{
		ID: end.ID, State: BatchEnded, Note: end.Note, Total: end.Total, Existing: end.Existing, Done: end.Done, Dead: end.Dead, Cancelled: end.Cancelled,
		CreatedAt: end.Created, SealedAt: end.Sealed, EndedAt: end.Ended,
	}
	switch {
	case end.Cancel:
		b.State = BatchCancelled
	case end.Dead == 0 && (end.Cancelled == 0 || end.Without) || id == protocol.BatchDoneID(end.ID):
		b.State = BatchDone
	}
	return b
}
