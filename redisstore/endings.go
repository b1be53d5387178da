package redisstore

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// endings tells those who wait for the end of jobs when it may have come. All of them share one connection, which is open as long as
// somebody waits. A message may be lost with its connection: whoever waits looks after each Await and after each change.
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

// Await tells when a job of a queue may have ended: the channel gets a value when it is listened for, at once and after each lost
// connection, and when a script says that it has ended. stop ends the wait.
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
		_ = e.pubsub.Subscribe(context.WithoutCancel(ctx), channel) // if it fails the client tries again, and says when it has succeeded
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

// notify notes a change; a second one before it was noticed is the same.
func notify(changed chan struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}
