package enqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/recent"
	"github.com/chimejobs/chime/internal/retry"
)

// A batcher sends jobs to the store, and combines those of concurrent callers. A partition has one call under way at a time; jobs that arrive
// meanwhile are sent together in the next one. The first job finds no call under way and is sent at once. No goroutine runs while nothing waits.
//
// A call whose outcome is unknown is sent again, unchanged and with its number, until it is answered or its time is up. The time belongs to the
// call, not to a caller: a caller that stops waiting withdraws its jobs that have not been sent, and does not affect those of other callers.
type batcher struct {
	store   protocol.Store
	timeout time.Duration

	outageMu sync.Mutex
	outage   retry.Outage

	// ahead is how far the store's clock was ahead of this process's at the last answer, in ns: an estimate, for information only.
	ahead atomic.Int64

	first, brief sharedDeadline // of the first attempts of calls that begin now; brief: of brief calls

	mu     sync.Mutex
	queues recent.Map[protocol.Partition, *partitionQueue]

	outcomes outcomes

	spare sync.Pool // *pending; not shared with other batchers, for tests in bubbles of fake time
}

func newBatcher(store protocol.Store, timeout time.Duration, log *slog.Logger, trouble func(string, error)) *batcher {
	b := &batcher{
		store: store, timeout: timeout, outage: retry.Outage{Log: log, Role: "enqueuer", Trouble: trouble},
	}
	b.outcomes.removals = func() *protocol.Removals { return store.Removals() }
	return b
}

// single returns a pending for one item, with room for its body.
func (b *batcher) single() *pending {
	p, _ := b.spare.Get().(*pending)
	if p == nil {
		p = newPending()
		p.items, p.alone[0] = p.one[:], p
	}
	return p
}

// reuse takes back a single pending that is in no call: it is done, or was not posted.
func (b *batcher) reuse(p *pending) {
	if p.err != nil { // the store may still read its body
		p.room.Forget()
	}
	p.room.Reset(maxSpareBody)
	p.one[0], p.existing, p.full, p.to, p.sent, p.err = protocol.EnqueueItem{}, nil, nil, nil, 0, nil
	p.fate.Store(waiting)
	b.spare.Put(p)
}

// maxSpareBody is how much memory for a body a spare pending keeps. The number of spare ones is the largest number of concurrent callers.
const maxSpareBody = 4 << 10

// now estimates the store's clock.
func (b *batcher) now() time.Time { return b.at(time.Now()) }

// at estimates the store's clock at an instant of this process's.
func (b *batcher) at(instant time.Time) time.Time { return instant.Add(time.Duration(b.ahead.Load())) }

// A sender makes the first call for the pending items that find no call under way.
type sender byte

const (
	sentByGoroutine sender = iota
	sentByCaller           // its ctx never ends
	sentBriefly            // by the caller too, if its call is short: its ctx may end meanwhile
)

// post hands over pending items, each to its partition. A caller with a single job makes the first call itself: two switches between goroutines
// cost more than all other work for the job.
func (b *batcher) post(partitions []protocol.Partition, items []*pending, by sender) {
	now := time.Now()
	var idle []*partitionQueue
	b.mu.Lock()
	for i, p := range items {
		q := b.queue(partitions[i], now)
		p.since, p.to = now, q
		q.push(p)
		switch {
		case q.busy:
		case len(idle) == 0:
			q.busy, idle = true, q.alone[:]
		default:
			q.busy, idle = true, append(idle[:len(idle):len(idle)], q)
		}
	}
	b.mu.Unlock()
	switch {
	case len(idle) == 0:
	case by == sentByCaller:
		b.sendOnce(idle, now)
	case by == sentBriefly && idle[0].answersSoon() && b.outcomes.size.Load() == 0:
		b.sendBriefly(idle, now)
	default:
		go b.sendAll(idle)
	}
}

// queue returns the queue of a partition. One that was not used for long is forgotten, so a process may use any number of queues, one after the
// other. Each has a caller of its own, whose calls are numbered from 1. If it used the name of a forgotten one again, the store would take its
// first calls for repeated ones, and answer that their jobs were added.
func (b *batcher) queue(partition protocol.Partition, now time.Time) *partitionQueue {
	return b.queues.Add(partition, now, func() *partitionQueue {
		q := &partitionQueue{call: protocol.EnqueueCall{Partition: partition, Caller: NewID()}}
		q.alone[0] = q
		return q
	})
}

// withdraw takes back the items of a pending that have not been sent, for a caller that does not wait any more. It returns how many items have
// been sent or may be under way, and the store's last error (nil: the store has not failed). ok is false if the pending has ended meanwhile.
func (b *batcher) withdraw(p *pending) (sent int, trouble error, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !p.leave() {
		return 0, nil, false
	}
	if p.queue != nil {
		p.queue.remove(p)
	}
	b.outcomes.add(p.to.call.Partition, p.carriedOut(0, p.delivered))
	return p.sent, p.to.trouble, true
}

// sendAll sends what waits in queues for which only the caller sends, until nothing is left.
func (b *batcher) sendAll(queues []*partitionQueue) {
	for {
		now := time.Now()
		queues = b.load(queues, now)
		if len(queues) == 0 {
			return
		}
		queues = b.send(queues, now)
		if b.leaves(queues) {
			return
		}
		if b.halfEmpty(queues) {
			// The callers that were just answered are about to enqueue their next jobs. Yielding to them once combines two half-full calls into
			// one full call.
			runtime.Gosched()
		}
	}
}

// leaves ends the sending for a queue whose last call had a job of one caller, if nothing waits: this caller sends its next job itself.
func (b *batcher) leaves(queues []*partitionQueue) bool {
	if len(queues) != 1 || len(queues[0].parts) != 1 || !queues[0].answersSoon() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	queues[0].busy = queues[0].head != nil
	return !queues[0].busy
}

// halfEmpty reports whether each of these queues has less waiting than makes a good call.
func (b *batcher) halfEmpty(queues []*partitionQueue) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range queues {
		if q.waiting >= protocol.MaxItems/2 {
			return false
		}
	}
	return true
}

// sendOnce makes the next call of queues for which only the caller sends, and leaves later arrivals to a goroutine.
func (b *batcher) sendOnce(queues []*partitionQueue, now time.Time) {
	if queues = b.load(queues, now); len(queues) > 0 {
		queues = b.send(queues, now)
	}
	b.sendMore(queues)
}

// sendBriefly makes the next call of a queue for which only the caller sends. If it is not answered within protocol.BriefCall, a goroutine sends it
// again, and the caller waits for that only as long as its ctx permits. It also leaves later arrivals to a goroutine.
func (b *batcher) sendBriefly(queues []*partitionQueue, now time.Time) {
	if queues = b.load(queues, now); len(queues) == 0 {
		return
	}
	queues[0].call.Brief = true
	open := b.attempt(b.brief.after(protocol.BriefCall, now), queues)
	queues[0].call.Brief = false
	if len(open) > 0 {
		go func() { b.sendAll(b.sendAgain(queues, open, now)) }()
		return
	}
	b.sendMore(queues)
}

// sendMore leaves what has arrived meanwhile to a goroutine.
func (b *batcher) sendMore(queues []*partitionQueue) {
	var more []*partitionQueue
	b.mu.Lock()
	for _, q := range queues {
		if q.busy = q.head != nil; q.busy {
			more = append(more, q)
		}
	}
	b.mu.Unlock()
	if len(more) > 0 {
		go b.sendAll(more)
	}
}

// load fills the next call of each queue and returns the queues that have one. The caller does not send for the others any more.
func (b *batcher) load(queues []*partitionQueue, now time.Time) []*partitionQueue {
	loaded := queues[:0]
	var late []*pending
	b.mu.Lock()
	for _, q := range queues {
		for q.head != nil && now.Sub(q.head.since) > b.timeout {
			p := q.head
			q.remove(p)
			p.err, p.failed = notSent(now.Sub(p.since), q.err), p.sent
			b.outcomes.add(q.call.Partition, p.carriedOut(0, p.sent))
			late = append(late, p)
		}
		q.load(now)
		q.busy = len(q.parts) > 0
		if q.busy {
			loaded = append(loaded, q)
		}
	}
	b.mu.Unlock()
	for _, p := range late {
		p.end()
	}
	return loaded
}

func notSent(waited time.Duration, last error) error {
	if last == nil {
		return fmt.Errorf("not sent: waited %v behind other calls", waited.Round(time.Millisecond))
	}
	return fmt.Errorf("not sent in %v: %w", waited.Round(time.Millisecond), last)
}

// send sends the calls of queues in one round trip. It sends calls that failed again, until each has its outcome. It returns the queues for which
// the caller still sends.
func (b *batcher) send(queues []*partitionQueue, began time.Time) []*partitionQueue {
	open := b.attempt(b.first.after(b.timeout, began), queues)
	if len(open) == 0 {
		return queues
	}
	return b.sendAgain(queues, open, began)
}

// sendAgain sends the calls that failed again, as send does. open: the queues of these calls.
func (b *batcher) sendAgain(queues, open []*partitionQueue, began time.Time) []*partitionQueue {
	ctx, cancel := context.WithDeadline(context.Background(), began.Add(b.timeout))
	defer cancel()
	for failures := 1; ; failures++ {
		if len(open) < len(queues) { // the other queues do not wait for these
			go b.sendAll(without(queues, open))
		}
		if queues = open; !retry.Sleep(ctx, retry.Delay(failures)) {
			break
		}
		if open = b.attempt(ctx, queues); len(open) == 0 {
			return queues
		}
	}
	for _, q := range queues {
		if q.unknown {
			q.fail(b, fmt.Errorf("outcome unknown after %v: %w", b.timeout, q.err))
		} else { // the call before it could not be sealed
			q.fail(b, notSent(b.timeout, q.err))
		}
	}
	return queues
}

// attempt sends the calls of queues once. It returns the queues whose calls still have no outcome.
func (b *batcher) attempt(ctx context.Context, queues []*partitionQueue) (open []*partitionQueue) {
	if b.outcomes.size.Load() > 0 {
		if queues, open = b.recall(ctx, queues); len(queues) == 0 {
			return open
		}
	}
	calls := queues[0].sent[:1]
	if len(queues) > 1 {
		calls = make([]protocol.EnqueueCall, len(queues))
	}
	for i, q := range queues {
		calls[i] = q.call
	}
	began := time.Now()
	answers := b.store.Enqueue(ctx, calls)
	took := time.Since(began)
	for i, q := range queues {
		err := answerErr(answers, i)
		q.took = took
		switch {
		case err == nil:
			b.noteClock(answers[i].Now)
			q.call.Ticket = answers[i].Ticket
			b.endOutage(q)
			q.deliver(b, answers[i].Existing, answers[i].Full)
		case q.refused(err):
			q.fail(b, err)
		default:
			q.unknown, q.err = true, err
			if !calls[i].Brief { // else it is sent again, with more time
				b.beginOutage(q)
			}
			open = append(open, q)
		}
	}
	return open
}

func without(queues, open []*partitionQueue) []*partitionQueue {
	var rest []*partitionQueue
	for _, q := range queues {
		if !slices.Contains(open, q) {
			rest = append(rest, q)
		}
	}
	return rest
}

// beginOutage logs that a call has failed; endOutage logs that calls of all queues succeed again.
func (b *batcher) beginOutage(q *partitionQueue) {
	b.outageMu.Lock()
	defer b.outageMu.Unlock()
	q.logged = true
	b.outage.Begin(q, "enqueue", q.err, time.Now())
	b.mu.Lock()
	q.trouble = q.err
	b.mu.Unlock()
}

func (b *batcher) endOutage(q *partitionQueue) {
	if !q.logged {
		return
	}
	b.outageMu.Lock()
	defer b.outageMu.Unlock()
	q.logged = false
	b.outage.End(q, time.Now())
	b.mu.Lock()
	q.trouble = nil
	b.mu.Unlock()
}

func answerErr(answers []protocol.EnqueueAnswer, i int) error {
	if i >= len(answers) {
		return errors.New("store gave no answer")
	}
	return answers[i].Err
}

func (b *batcher) noteClock(now time.Time) {
	if !now.IsZero() {
		b.ahead.Store(int64(time.Until(now)))
	}
}
