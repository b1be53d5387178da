package enqueue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// maxReplaceTime is how long a call that replaces is sent again at most: the store recognises a repeated call for 120 s.
const maxReplaceTime = 100 * time.Second

// replace enqueues one job in place of the one that has its ID. It makes a call for this job alone, which is sent again, unchanged, until it is
// answered or the time is up.
func (e *Enqueuer) replace(ctx context.Context, queue string, item *protocol.EnqueueItem) (protocol.Replaced, error) {
	n, err := e.counts.of(ctx, queue)
	if err != nil {
		return 0, err
	}
	if err := e.counts.checkGroups(ctx, item, queue, n); err != nil {
		return 0, err
	}
	partition := protocol.Partition{Queue: queue, Index: protocol.PartitionOf(item.ID, n)}
	call := protocol.ReplaceCall{Partition: partition, Token: rand.Text(), Item: *item}
	timeout := min(e.options.SendTimeout, maxReplaceTime)
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	logged := new(int) // identifies this call in the outage
	for failures := 1; ; failures++ {
		became, err := e.batcher.store.Replace(limited, call)
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
