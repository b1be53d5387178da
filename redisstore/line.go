package redisstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var extendScript = load("extend")

const (
	// pingAfter is how long a subscription may be silent before it is asked for a sign of life; silent for as long again it is
	// given up and made anew.
	pingAfter = 30 * time.Second

	reconnectFirst, reconnectMost = 200 * time.Millisecond, 5 * time.Second
)

// A line subscribes to the wake-up channel of one role, again and again until it is closed, and sends the role's heartbeats
// on a connection of their own.
type line struct {
	store   *store
	channel []string
	signals chan protocol.Signal

	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	pending []protocol.Signal
	news    chan struct{} // room for one: pending is not empty

	pulseOnce sync.Once
	pulse     redis.UniversalClient
	ownPulse  bool
}

// Listen opens the wake-up channel of a role and, at its first heartbeat, a connection for its heartbeats.
func (s *store) Listen(name string) protocol.Listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &line{
		store: s, channel: []string{s.keys.wake() + name, s.keys.wake() + elections},
		signals: make(chan protocol.Signal), cancel: cancel, news: make(chan struct{}, 1),
	}
	if s.bad != nil {
		return l
	}
	l.done.Add(2)
	go l.hear(ctx)
	go l.deliver(ctx)
	return l
}

func (l *line) Signals() <-chan protocol.Signal { return l.signals }

// Close ends the subscription and the heartbeats' connection and waits for both.
func (l *line) Close() error {
	l.cancel()
	l.done.Wait()
	l.pulseOnce.Do(func() {})
	if l.ownPulse {
		return l.pulse.Close()
	}
	return nil
}

// hear keeps a subscription alive.
func (l *line) hear(ctx context.Context) {
	defer l.done.Done()
	backoff := reconnectFirst
	for ctx.Err() == nil {
		confirmed := l.subscribe(ctx)
		if confirmed {
			backoff = reconnectFirst
		}
		wait := time.NewTimer(backoff/2 + rand.N(backoff))
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
		backoff = min(2*backoff, reconnectMost)
	}
}

// subscribe listens until the connection is no good any more and tells whether it ever was.
func (l *line) subscribe(ctx context.Context) (confirmed bool) {
	subscription := l.store.client.Subscribe(ctx, l.channel...)
	closed := context.AfterFunc(ctx, func() { _ = subscription.Close() })
	defer func() {
		if closed() {
			_ = subscription.Close()
		}
	}()
	waiting := false // for the answer to a ping
	for {
		message, err := subscription.ReceiveTimeout(ctx, pingAfter)
		var timeout net.Error
		switch {
		case err == nil:
			waiting = false
		case errors.As(err, &timeout) && timeout.Timeout() && !waiting && ctx.Err() == nil:
			waiting = true
			if subscription.Ping(ctx) != nil {
				return confirmed
			}
			continue
		default:
			return confirmed
		}
		switch m := message.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" && m.Count == len(l.channel) {
				confirmed = true
				l.push(protocol.Signal{Connected: true})
			}
		case *redis.Message:
			l.push(signal(m.Payload))
		}
	}
}

// signal reads what the scripts publish: w wake up, a<ms> the head of due, r<ID> replaced, e elect a leader.
func signal(payload string) protocol.Signal {
	if payload == "" {
		return protocol.Signal{}
	}
	kind, rest := payload[0], payload[1:]
	switch kind {
	case 'w':
		return protocol.Signal{Wake: true}
	case 'a':
		if ms, err := strconv.ParseInt(rest, 10, 64); err == nil {
			return protocol.Signal{Alarm: time.UnixMilli(ms).UTC()}
		}
	case 'r':
		return protocol.Signal{Replaced: rest}
	case 'e':
		return protocol.Signal{Elect: true}
	}
	return protocol.Signal{}
}

// push adds a signal to those not yet received. Equal ones count once, and of alarms the earliest: it does not say of which
// partition, and who wakes for it asks all of them what comes next.
func (l *line) push(s protocol.Signal) {
	if s == (protocol.Signal{}) {
		return
	}
	l.mu.Lock()
	kept := l.pending[:0]
	for _, p := range l.pending {
		if !s.Alarm.IsZero() && p.Alarm.Before(s.Alarm) && !p.Alarm.IsZero() {
			s = p
		}
		if p != s && (s.Alarm.IsZero() || p.Alarm.IsZero()) {
			kept = append(kept, p)
		}
	}
	l.pending = append(kept, s)
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// deliver hands signals over one by one, in their order.
func (l *line) deliver(ctx context.Context) {
	defer l.done.Done()
	for {
		l.mu.Lock()
		var next protocol.Signal
		if len(l.pending) > 0 {
			next = l.pending[0]
			l.pending = append(l.pending[:0], l.pending[1:]...)
		}
		l.mu.Unlock()
		if next == (protocol.Signal{}) {
			select {
			case <-ctx.Done():
				return
			case <-l.news:
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case l.signals <- next:
		}
	}
}

// Extend keeps sessions alive.
func (l *line) Extend(ctx context.Context, calls []protocol.ExtendCall) []protocol.ExtendAnswer {
	answers := make([]protocol.ExtendAnswer, len(calls))
	l.pulseOnce.Do(func() { l.pulse, l.ownPulse = dedicated(l.store.client) })
	sent := make([]call, len(calls))
	for i, c := range calls {
		k := l.store.keys.partition(c.Partition)
		args := []any{c.Session, c.TTL.Milliseconds()}
		for _, name := range c.Schedules {
			args = append(args, name)
		}
		sent[i] = newCall(&extendScript, []string{k.inflight(c.Session), k.sessions, k.open}, args)
	}
	for i, cmd := range l.store.run(ctx, l.pulse, sent...) {
		values, err := list("extend session", calls[i].Session, cmd)
		if err != nil {
			answers[i].Err = err
			continue
		}
		if values.number(1) == 0 {
			answers[i].Err = failure("extend session", calls[i].Session, protocol.ErrSessionLost)
		}
		for j := 2; j < len(values); j++ {
			answers[i].Replaced = append(answers[i].Replaced, values.text(j))
		}
	}
	return answers
}

// dedicated returns a client with the same options and one connection of its own, so that a heartbeat waits behind nobody.
// A client of another make is used as it is.
func dedicated(client redis.UniversalClient) (pulse redis.UniversalClient, own bool) {
	switch c := client.(type) {
	case *redis.Client:
		options := *c.Options()
		options.PoolSize, options.MinIdleConns, options.MaxIdleConns, options.MaxActiveConns = 1, 0, 0, 0
		return redis.NewClient(&options), true
	case *redis.ClusterClient:
		options := *c.Options()
		options.PoolSize, options.MinIdleConns, options.MaxIdleConns, options.MaxActiveConns = 1, 0, 0, 0
		return redis.NewClusterClient(&options), true
	}
	return client, false
}
