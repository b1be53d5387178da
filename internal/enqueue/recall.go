package enqueue

import (
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// recall prepares the first attempts of calls: it seals the last call of a partition if its outcome is unknown, and takes out the items that the
// store has carried out before. It returns the queues whose calls are to be sent, and those that have to be tried again. The calls of the other
// queues have their outcome.
func (b *batcher) recall(ctx context.Context, queues []*partitionQueue) (send, open []*partitionQueue) {
	asked, failed := b.seal(ctx, queues), map[*partitionQueue]bool{}
	for q, err := range asked {
		if err == nil {
			continue
		}
		if failed[q] = true; q.refused(err) {
			q.fail(b, err)
			continue
		}
		q.err = err
		b.beginOutage(q)
		open = append(open, q)
	}
	now := time.Now()
	for _, q := range queues {
		if failed[q] {
			continue
		}
		if !q.unknown { // otherwise it is sent again unchanged
			q.takeOut(func(item *protocol.EnqueueItem) bool {
				return b.outcomes.answer(q.call.Partition, item, now)
			})
		}
		if len(q.call.Items) == 0 {
			b.endOutage(q)
			q.deliver(b, nil, nil)
			continue
		}
		send = append(send, q)
	}
	return send, open
}

// seal seals the last calls of these queues whose outcome is unknown. It returns the error of each seal. The call under way has not been
// sent: the seal gets its number, which is the same each time, and the call gets the next one. If the queue has another caller than the unknown
// call had, no other call has the number after that of the unknown call.
func (b *batcher) seal(ctx context.Context, queues []*partitionQueue) map[*partitionQueue]error {
	var calls []protocol.SealCall
	var of []*partitionQueue
	var lasts []*unsealedCall
	now := time.Now()
	for _, q := range queues {
		last := b.outcomes.unsealedOf(q.call.Partition)
		if last == nil || q.unknown {
			continue
		}
		switch {
		case last.seal != 0:
		case last.caller == q.call.Caller:
			last.seal = q.call.Number
			q.call.Number++
		default:
			last.seal = last.number + 1
		}
		calls = append(calls, protocol.SealCall{
			Partition: q.call.Partition, Caller: last.caller, Number: last.number, Seal: last.seal, Items: last.jobs, Young: last.young(now),
		})
		of, lasts = append(of, q), append(lasts, last)
	}
	if len(calls) == 0 {
		return nil
	}
	errs := make(map[*partitionQueue]error, len(of))
	answers := b.store.Seal(ctx, calls)
	for i, q := range of {
		if i >= len(answers) {
			errs[q] = errors.New("store gave no answer")
			continue
		}
		if errs[q] = answers[i].Err; errs[q] != nil {
			continue
		}
		b.noteClock(answers[i].Now)
		b.logUnknown(q.call.Partition.Queue, lasts[i], answers[i].Sealed)
		b.outcomes.resolve(q.call.Partition, &answers[i])
	}
	return errs
}

// logUnknown logs that nobody knows any more what has become of a call.
func (b *batcher) logUnknown(queue string, call *unsealedCall, sealed protocol.Sealed) {
	if sealed == protocol.SealedUnknown {
		b.outage.Log.Warn("chime: the outcome of a call that failed long ago remains unknown: if the store has its jobs, a repeated call runs them twice",
			"event", "enqueue.unknown", "queue", queue, "count", call.jobs)
	}
}
