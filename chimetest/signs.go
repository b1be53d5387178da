package chimetest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A sign is a sign of life that was not yet sent to the store.
type sign struct {
	send  func(ctx context.Context)
	until time.Time // how long it would count
}

// The kinds of signs of life: that a worker sleeps, which jobs it handles, the worker's own data, and that it lives.
const (
	beatSign     = "beat "
	pollSign     = "poll "
	announceSign = "announce "
	workerSign   = "worker "
)

// announcedFor is how long a worker that has announced itself counts as alive.
const announcedFor = 5 * time.Minute

// sendSigns sends the signs of life of a kind to the store, if they were not sent yet and still count.
func (q *quiet) sendSigns(ctx context.Context, kind string) {
	q.sending.Lock()
	defer q.sending.Unlock()
	signs := make(map[string]*sign)
	q.mu.Lock()
	for who, s := range q.signs {
		if strings.HasPrefix(who, kind) {
			signs[who] = s
			delete(q.signs, who)
		}
	}
	q.mu.Unlock()
	for _, who := range slices.Sorted(maps.Keys(signs)) {
		if time.Now().Before(signs[who].until) {
			signs[who].send(upkeep(context.WithoutCancel(ctx)))
		}
	}
}

// sign keeps a sign of life until it is sent to the store. The caller holds mu.
func (q *quiet) sign(who string, lasts time.Duration, send func(ctx context.Context)) {
	q.signs[who] = &sign{send: send, until: time.Now().Add(lasts)}
}

// Poll is answered from memory if all of its calls can be.
func (q *quiet) Poll(ctx context.Context, calls []protocol.PollCall) (answers []protocol.PollAnswer) {
	now := time.Now().Truncate(time.Microsecond)
	answers = make([]protocol.PollAnswer, len(calls))
	for i := range calls {
		call := &calls[i]
		known, ok := q.recall(pollKey(call), func(any) bool { return true })
		if !ok || call.Sleep && q.head(ctx, call.Partition.Queue).Before(now.Add(headMargin)) {
			return q.poll(ctx, calls)
		}
		answers[i] = known.(protocol.PollAnswer)
		if answers[i].Now = now; call.Sleep {
			answers[i].Since = now
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range calls {
		if calls[i].Sleep {
			again := calls[i]
			again.Since = time.Time{}
			q.sign(pollKey(&again), protocol.IdleRetention, func(ctx context.Context) { q.Store.Poll(ctx, []protocol.PollCall{again}) })
		}
	}
	return answers
}

func (q *quiet) poll(ctx context.Context, calls []protocol.PollCall) (answers []protocol.PollAnswer) {
	q.mu.Lock()
	changes := q.changes
	q.mu.Unlock()
	answers = q.Store.Poll(upkeep(ctx), calls)
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range answers {
		a, key := answers[i], pollKey(&calls[i])
		delete(q.memory, key)
		delete(q.signs, key)
		if a.Err == nil && !a.More && a.Next == 0 && a.Lapse.IsZero() && len(a.Lapsed) == 0 && a.ParkedMark == 0 && len(a.Parked) == 0 {
			q.memory[key] = &memory{changes: changes, at: now, answer: a}
		}
	}
	return answers
}

// pollKey is the key of a poll. Each worker that sleeps has its own; polls that only read lapsed sessions share one.
func pollKey(call *protocol.PollCall) string {
	key := pollSign + strconv.Itoa(call.Partition.Index) + " " + call.Partition.Queue + " "
	if call.Sleep {
		key += call.Worker
	}
	return key
}

// Announce is a sign of life: it is sent to the store the first time, and then when somebody reads it.
func (q *quiet) Announce(ctx context.Context, worker string, handled []protocol.Handled) (err error) {
	again := func(ctx context.Context) { err = q.Store.Announce(ctx, worker, handled) }
	q.announce(ctx, announceSign+worker, again)
	return err
}

// AnnounceWorker is like Announce.
func (q *quiet) AnnounceWorker(ctx context.Context, worker protocol.WorkerEntry) (err error) {
	began := time.Now().Add(-worker.Age)
	again := func(ctx context.Context) {
		worker.Age = time.Since(began)
		err = q.Store.AnnounceWorker(ctx, worker)
	}
	q.announce(ctx, workerSign+worker.Name, again)
	return err
}

// Beat is a sign of life that is sent when somebody reads it. The store's clock is the test's.
func (q *quiet) Beat(_ context.Context, name string, _ time.Time) (now time.Time, lost bool, err error) {
	at := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sign(beatSign+name, protocol.WorkerRetention, func(ctx context.Context) { _, _, _ = q.Store.Beat(ctx, name, at) })
	return at, false, nil
}

func (q *quiet) announce(ctx context.Context, who string, send func(ctx context.Context)) {
	q.mu.Lock()
	first := q.memory[who] == nil
	if q.memory[who] = new(memory); !first {
		q.sign(who, announcedFor, send)
	}
	q.mu.Unlock()
	if first {
		send(upkeep(ctx))
	}
}

// RetireWorker forgets a worker.
func (q *quiet) RetireWorker(ctx context.Context, name string) error {
	q.mu.Lock()
	for _, who := range []string{announceSign + name, workerSign + name, beatSign + name} {
		delete(q.memory, who)
		delete(q.signs, who)
	}
	q.mu.Unlock()
	return q.Store.RetireWorker(ctx, name)
}

// Workers reads signs of life.
func (q *quiet) Workers(ctx context.Context) ([]protocol.WorkerEntry, error) {
	q.sendSigns(ctx, workerSign)
	q.sendSigns(ctx, beatSign)
	return q.Store.Workers(upkeep(ctx))
}

// Served reads signs of life.
func (q *quiet) Served(ctx context.Context, also []string) ([]protocol.QueueSize, error) {
	q.sendSigns(ctx, announceSign)
	return q.Store.Served(upkeep(ctx), also)
}

// Work reads signs of life if it parks a job: it wakes a worker that handles it.
func (q *quiet) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	for i := range calls {
		if slices.ContainsFunc(calls[i].Settle, func(s protocol.Settlement) bool { return s.Kind == protocol.SettlePark }) {
			q.sendSigns(ctx, announceSign)
			break
		}
	}
	return q.Store.Work(ctx, calls)
}

// Unhandled reads signs of life.
func (q *quiet) Unhandled(ctx context.Context, args []protocol.Handled) (missing []protocol.Handled, err error) {
	same := func(earlier any) bool { return slices.Equal(earlier.([]protocol.Handled), args) }
	if _, ok := q.recall("unhandled", same); ok {
		return nil, nil
	}
	q.sendSigns(ctx, announceSign)
	q.fetch(ctx, "unhandled", slices.Clone(args), func(ctx context.Context) (any, bool) {
		missing, err = q.Store.Unhandled(ctx, args)
		return nil, err == nil && len(missing) == 0
	})
	return missing, err
}
