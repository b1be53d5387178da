package enqueue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
	"github.com/chimejobs/chime/internal/wire"
)

// maxReplaceTime is how long a call that replaces is sent again at most: the store recognises a repeated call for 120 s.
const maxReplaceTime = 100 * time.Second

// replace enqueues one job in place of the one that has its ID. It makes a call for this job alone, which is sent again, unchanged, until it is
// answered or the time is up.
func (e *Enqueuer) replace(ctx context.Context, queue string, item *protocol.EnqueueItem) (protocol.Replaced, error) {
	n, err := e.counts.of(ctx, queue, time.Now())
	if err != nil {
		return 0, err
	}
	if err := e.counts.checkGroups(ctx, item, queue, n); err != nil {
		return 0, err
	}
	partition := protocol.Partition{Queue: queue, Index: protocol.PartitionOf(item.ID, n)}
	call := protocol.ReplaceCall{Partition: partition, Token: rand.Text(), Item: *item}
	for moves := 0; ; moves++ {
		became, err := e.replaceOnce(ctx, &call)
		if err != nil || became != protocol.ReplaceOtherBatch {
			return became, err
		}
		if moves == maxMoves {
			return 0, errMoves
		}
		if err := e.joinBatch(ctx, &call); err != nil {
			return 0, err
		}
	}
}

// maxMoves is how often a job that replaces is given the batch of the one that has its ID, which may be another one each time.
const maxMoves = 10

var errMoves = errors.New("the job that is to be replaced was another one each time")

// joinBatch makes the new job a member of the batch of the job that it is to replace, or of none if that one has none or is gone.
func (e *Enqueuer) joinBatch(ctx context.Context, call *protocol.ReplaceCall) error {
	found, err := e.batcher.store.FindJobs(ctx, call.Partition.Queue, []string{call.Item.ID})
	if err != nil {
		return err
	}
	call.Batch = ""
	if len(found) > 0 && len(found[0].Body) > 0 {
		old, err := wire.DecodeEnvelope(found[0].Body)
		if err != nil {
			return fmt.Errorf("the job that is to be replaced: %w", err)
		}
		if old.Details != nil {
			call.Batch = old.Details.Batch
		}
	}
	message, err := wire.DecodeEnvelope(call.Item.Body)
	if err != nil {
		return err
	}
	var details wire.Details
	if message.Details != nil {
		details = *message.Details
	}
	details.Batch, message.Details = call.Batch, &details
	call.Item.Body, call.Token = message.Encode(), rand.Text()
	return nil
}

// replaceOnce makes the call until it is answered.
func (e *Enqueuer) replaceOnce(ctx context.Context, call *protocol.ReplaceCall) (protocol.Replaced, error) {
	timeout := min(e.options.SendTimeout, maxReplaceTime)
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	logged := new(int) // identifies this call in the outage
	for failures := 1; ; failures++ {
		became, err := e.batcher.store.Replace(limited, *call)
		if err == nil {
			if failures > 1 {
				e.batcher.noteReplacing(logged, nil)
			}
			return became, nil
		}
		if failures == 1 && (errors.Is(err, protocol.ErrStoreFull) || errors.Is(err, protocol.ErrUnfit)) {
			return 0, err
		}
		e.batcher.noteReplacing(logged, err)
		if retry.Sleep(limited, retry.Delay(failures)) {
			continue
		}
		e.batcher.noteReplacing(logged, nil)
		if ctx.Err() != nil {
			return 0, fmt.Errorf("outcome unknown: %w", because(ctx, err))
		}
		return 0, fmt.Errorf("outcome unknown after %v: %w", timeout, err)
	}
}

// noteReplacing logs that a call that replaces has failed; with a nil error it logs that the failure is over.
func (b *batcher) noteReplacing(what *int, err error) {
	b.outageMu.Lock()
	defer b.outageMu.Unlock()
	if err == nil {
		b.outage.End(what, time.Now())
		return
	}
	b.outage.Begin(what, "replace", err, time.Now())
}
