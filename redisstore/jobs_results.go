package redisstore

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// maxResults is how many results are read in a call: each has at most 64 KiB.
const maxResults = 50

// findResults looks up the results of jobs that are in no list any more, and the instants until which Once bars their IDs. Results that do not fit
// into a call are cut.
func (j *jobReader) findResults(ctx context.Context, ids []string, found map[string]protocol.FoundJob, cut map[string]bool) error {
	if len(ids) == 0 {
		return nil
	}
	some := ids[:min(len(ids), maxResults)]
	for _, id := range ids[len(some):] {
		cut[id] = true
	}
	pipe := j.client.Pipeline()
	until, results, now := pipe.ZMScore(ctx, j.keys.kept, some...), pipe.HMGet(ctx, j.keys.results, some...), pipe.Time(ctx)
	barred := pipe.ZMScore(ctx, j.keys.once, some...)
	cmds, err := pipe.Exec(ctx)
	if err := cmp.Or(err, complete(cmds[0], cmds[1], cmds[3])); err != nil {
		return err
	}
	for i, id := range some {
		text := reply(results.Val()).text(i)
		if kept := time.UnixMilli(int64(until.Val()[i])).UTC(); text != "" && now.Val().Before(kept) {
			found[id] = protocol.FoundJob{ID: id, State: protocol.JobDone, At: kept, Ended: text[0], Result: []byte(text[1:])}
		}
		if until := time.UnixMilli(int64(barred.Val()[i])).UTC(); now.Val().Before(until) {
			job := found[id]
			job.BarredUntil = until
			found[id] = job
		}
	}
	return nil
}

// readKept reads the results of entries of the sorted set kept; read is the number of entries that it has read.
func (j *jobReader) readKept(ctx context.Context, entries []jobEntry) (jobs []protocol.FoundJob, read int, err error) {
	entries = entries[:min(len(entries), maxResults)]
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.id
	}
	found := map[string]protocol.FoundJob{}
	if err := j.findResults(ctx, ids, found, nil); err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if job := found[e.id]; job.ID != "" {
			job.Next = e.next.String()
			jobs = append(jobs, job)
		}
	}
	return jobs, len(entries), nil
}

// endings notifies callers that wait for the end of jobs when it may have come. All of them share one connection, which is open while
// somebody waits. A message may be lost with its connection: so a waiting caller reads the job after each Await and after each change.
type endings struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool // by channel
	pubsub  *redis.PubSub                     // nil: nobody waits
	done    chan struct{}                     // closed when its messages have ended
}

// ended is the prefix of the channel of a job, behind that of the wake-up channels: scripts/lib/annex.lua.
const ended = "ended:"

// endedPrefix is what the channels of a queue's jobs begin with; the ID follows.
func (s *store) endedPrefix(queue string) string { return s.keys.channel(ended + queue + "\t") }

// Await notifies the caller when a job of a queue may have ended: the channel receives a value as soon as it is subscribed, at once after
// each lost connection, and when a script reports the end. stop ends the wait.
func (s *store) Await(ctx context.Context, queue, id string) (changed <-chan struct{}, stop func()) {
	e, mine := &s.endings, make(chan struct{}, 1)
	if s.bad != nil {
		return mine, func() {}
	}
	channel := s.endedPrefix(queue) + id
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pubsub == nil {
		e.waiting = make(map[string]map[chan struct{}]bool)
		e.pubsub, e.done = s.client.Subscribe(context.WithoutCancel(ctx)), make(chan struct{})
		go e.receive(e.pubsub.ChannelWithSubscriptions(), e.done)
	}
	if e.waiting[channel] == nil {
		e.waiting[channel] = make(map[chan struct{}]bool)
		_ = e.pubsub.Subscribe(context.WithoutCancel(ctx), channel) // if it fails, the client tries again and reports when it has succeeded
	} else {
		notify(mine)
	}
	e.waiting[channel][mine] = true
	return mine, sync.OnceFunc(func() { e.leave(channel, mine) })
}

// leave ends a wait; the last one closes the connection.
func (e *endings) leave(channel string, mine chan struct{}) {
	e.mu.Lock()
	delete(e.waiting[channel], mine)
	if len(e.waiting[channel]) > 0 {
		e.mu.Unlock()
		return
	}
	delete(e.waiting, channel)
	if len(e.waiting) > 0 {
		_ = e.pubsub.Unsubscribe(context.Background(), channel)
		e.mu.Unlock()
		return
	}
	pubsub, done := e.pubsub, e.done
	e.pubsub = nil
	e.mu.Unlock()
	_ = pubsub.Close()
	<-done
}

// receive passes on what arrives.
func (e *endings) receive(messages <-chan any, done chan struct{}) {
	defer close(done)
	for message := range messages {
		channel := ""
		switch m := message.(type) {
		case *redis.Message:
			channel = m.Channel
		case *redis.Subscription:
			channel = m.Channel
		}
		e.mu.Lock()
		for waiting := range e.waiting[channel] {
			notify(waiting)
		}
		e.mu.Unlock()
	}
}

// notify records a change; a second one before the first was read is merged with it.
func notify(changed chan struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}
