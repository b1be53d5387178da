// Package enqueue puts jobs on queues: it checks them, gives them IDs, and combines those of concurrent callers into calls.
package enqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/batch"
	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// Options of an Enqueuer.
type Options struct {
	Log         *slog.Logger
	MaxPayload  int           // bytes
	SendTimeout time.Duration // how long a call is sent again after errors
	Observe     observe.Observer
	Sealing     *Sealing // nil: nothing is sealed
	Bad         error    // a problem of the enqueuer: it refuses every job with this error
}

// Sealing seals jobs before they are sent, so that an error refuses the job.
type Sealing struct {
	Job    func(queue, id string, job *wire.Envelope) error
	ArgsID func(data []byte) ([]byte, error) // the digest of a name and a payload, see ArgsID
}

// A Job is one job to enqueue.
type Job struct {
	Name          string
	Queue         string
	ID            string // empty: NewID makes one
	Own           bool   // ID comes from the application, or is made of the arguments
	ArgsID        bool   // ID is made of Name and Args, see ArgsID
	Once          time.Duration
	Replace       bool   // of an Own job: it replaces the job that has its ID
	Schedule      string // the job is a manual run of this schedule: then ID is set and checked; empty: an ordinary job
	MaxUnfinished int    // of a manual run: it is refused if the schedule has this number of unfinished runs; 0: any number
	In            time.Duration
	At            time.Time
	Expire        time.Duration         // 0: it does not expire
	Group         string                // empty: it has none
	Batch         string                // the batch that runs and of which it becomes a member; empty: none. The members of Member have it too
	MaxAttempts   int                   // 0: as the worker sets it
	Timeout       time.Duration         // 0: as the handler sets it
	Details       *wire.Details         // nil: none; the enqueuer may change it
	FollowsIn     []protocol.QueueGroup // the groups of jobs that may follow it
	Args          any
	Problems      []error // problems that are already known
}

// A Receipt is the result for one Job.
type Receipt struct {
	ID       string
	Queue    string
	Existing bool
	Replaced bool
	Full     bool // it was not added, because its group is full
}

// An Enqueuer enqueues jobs. It is safe for concurrent use.
type Enqueuer struct {
	options Options
	batcher *batcher
	counts  *partitionCounts
	grower  *batch.Grower
}

// New returns an enqueuer. It does no I/O.
func New(store protocol.Store, options Options) *Enqueuer {
	e := &Enqueuer{
		options: options,
		batcher: newBatcher(store, options.SendTimeout, options.Log, options.Observe.Trouble),
		counts:  newPartitionCounts(store, options.SendTimeout, options.Log),
	}
	e.grower = batch.NewGrower(store, e.batches())
	return e
}

// One enqueues one job. The receipt has its ID even with an error, unless the ID itself is wrong.
func (e *Enqueuer) One(ctx context.Context, job *Job) (receipt Receipt, err error) {
	began := time.Now()
	if !job.Own && job.Schedule == "" {
		job.ID = jobIDs.next(began)
	}
	p := e.batcher.single()
	now := e.batcher.at(began)
	err = e.item(&p.one[0], job, now, &p.room)
	receipt.ID, receipt.Queue = p.one[0].ID, job.Queue
	if err == nil && ctx == nil {
		err = protocol.ErrNilContext
	}
	if err != nil {
		e.batcher.reuse(p)
		return receipt, err
	}
	if job.Replace {
		became, err := e.replace(ctx, job.Queue, &p.one[0])
		if err == nil { // otherwise the store may still read its body
			e.batcher.reuse(p)
		}
		receipt.Existing, receipt.Replaced = became == protocol.ReplaceStayed, became == protocol.ReplaceDone
		if receipt.Full = became == protocol.ReplaceFull; receipt.Full && err == nil {
			err = protocol.ErrGroupFull
		}
		if err == nil && !receipt.Existing {
			e.reportOne(job.Queue, job.Name, receipt.ID, dueAt(job.At, job.In, now))
		}
		return receipt, err
	}
	if job.Batch != "" {
		receipt.Existing, err = e.growOne(ctx, job, &p.one[0])
		if err == nil { // otherwise the store may still read its body
			e.batcher.reuse(p)
		}
	} else {
		receipt.Existing, err = e.send(ctx, job.Queue, p, began)
	}
	receipt.Full = errors.Is(err, protocol.ErrGroupFull)
	if err == nil && !receipt.Existing {
		e.reportOne(job.Queue, job.Name, receipt.ID, dueAt(job.At, job.In, now))
	}
	return receipt, err
}

// send sends a single item. now: the time of this process. The error is ErrGroupFull or ErrMaxUnfinished if it was refused.
func (e *Enqueuer) send(ctx context.Context, queue string, p *pending, now time.Time) (existing bool, err error) {
	n, err := e.counts.of(ctx, queue, now)
	if err == nil {
		err = e.counts.checkGroups(ctx, &p.one[0], queue, n)
	}
	if err != nil {
		e.batcher.reuse(p)
		return false, err
	}
	partition := [1]protocol.Partition{{Queue: queue, Index: protocol.PartitionOf(p.one[0].ID, n)}}
	e.batcher.post(partition[:], p.alone[:], senderFor(ctx))
	if err := e.wait(ctx, p); err != nil {
		return false, err // p may still be in a call: it is not reused
	}
	existing, err = p.existing != nil, p.err
	if err == nil && p.full != nil {
		err = p.full[0]
	}
	e.batcher.reuse(p)
	return existing, err
}

// senderFor returns who sends a single job of a caller with this ctx.
func senderFor(ctx context.Context) sender {
	if ctx.Done() == nil {
		return sentByCaller
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < protocol.BriefCall || ctx.Err() != nil {
		return sentByGoroutine
	}
	return sentBriefly
}

// wait returns nil when p is done.
func (e *Enqueuer) wait(ctx context.Context, p *pending) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	sent, trouble, ok := e.batcher.withdraw(p)
	switch {
	case !ok:
		<-p.done
		return nil
	case sent == 0:
		return fmt.Errorf("not sent: %w", because(ctx, trouble))
	}
	return fmt.Errorf("outcome unknown: %w", because(ctx, trouble))
}

// because returns why a caller stops waiting: its ctx has ended. If the store has failed, the error also contains the store's last error.
func because(ctx context.Context, trouble error) error {
	if trouble == nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w; the store's last error: %w", ctx.Err(), trouble)
}

// item checks a job and makes its body in room. The item has its ID even with an error, unless the ID itself is wrong.
func (e *Enqueuer) item(item *protocol.EnqueueItem, job *Job, now time.Time, room *wire.Bodies) error {
	// Not a literal, here and below: a processor waits where it copies what it has just written in smaller pieces.
	*item = protocol.EnqueueItem{}
	item.ID, item.Own, item.Once, item.In, item.At = job.ID, job.Own, job.Once, job.In, job.At
	item.Schedule, item.MaxUnfinished, item.Expire, item.Group = job.Schedule, job.MaxUnfinished, job.Expire, job.Group
	if job.Own && !job.ArgsID && job.Schedule == "" && protocol.CheckID("ID", job.ID) != nil {
		item.ID = ""
	}
	if e.options.Bad != nil {
		job.Problems = []error{e.options.Bad}
		return e.options.Bad
	}
	if err := protocol.CheckName("job name", job.Name); err != nil {
		job.Problems = append(job.Problems, err)
	}
	payload, buf, err := wire.EncodeTo(job.Args, e.options.MaxPayload)
	if err == nil && job.ArgsID {
		payload = wire.Stable(payload, buf != nil)
		item.ID, err = e.argsID(job.Name, payload)
	}
	if err != nil {
		job.Problems = append(job.Problems, err)
		return errors.Join(job.Problems...)
	}
	planned := dueAt(job.At, job.In, now)
	if job.Schedule != "" {
		planned = now // also for a job that is due later
	}
	if job.In > 0 || !job.At.IsZero() || job.Schedule != "" { // for other jobs it is Planned
		if job.Details == nil {
			job.Details = new(wire.Details)
		}
		job.Details.Enqueued = now
	}
	if job.Group != "" || job.Batch != "" {
		if job.Details == nil {
			job.Details = new(wire.Details)
		}
		job.Details.Group, job.Details.Batch = job.Group, job.Batch
	}
	var envelope wire.Envelope
	envelope.Name, envelope.Payload, envelope.Planned, envelope.MaxAttempts = job.Name, payload, planned, job.MaxAttempts
	envelope.Timeout, envelope.Schedule, envelope.Details = job.Timeout, job.Schedule, job.Details
	if job.Expire > 0 { // by the clock of this process; the store sets it by its own
		envelope.Expires = dueAt(job.At, job.In, now).Add(job.Expire)
	}
	item.Follows, item.FollowsIn = job.Details != nil && (job.Details.OnDone != nil || job.Details.OnDeath != nil), job.FollowsIn
	if sealing := e.options.Sealing; sealing != nil {
		sealed := envelope // a copy: the memory of other jobs is not allocated
		if err := sealing.Job(job.Queue, item.ID, &sealed); err != nil {
			job.Problems = append(job.Problems, err)
		}
		envelope = sealed
	}
	item.Body = room.Add(&envelope)
	if buf != nil {
		buf.Release()
	}
	return errors.Join(job.Problems...)
}
