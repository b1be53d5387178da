package redisstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var extendScript = scripts.Load("sessions/extend")

const (
	// pingAfter is how long a subscription may be silent before it is pinged. If it remains silent for as long again, it is closed
	// and opened again.
	pingAfter = 30 * time.Second

	// A lost subscription is opened again after about minReconnect, then twice as long each time, at most about maxReconnect.
	minReconnect, maxReconnect = 200 * time.Millisecond, time.Second

	// answerWithin is how soon a doubted subscription must answer a ping; otherwise it is opened again.
	answerWithin = 500 * time.Millisecond

	// beatWithin limits one try of a heartbeat: after a failure on a dead connection there is time for another try on another one.
	beatWithin = 2 * time.Second
)

// A listener keeps one role subscribed to its channel until it is closed, and sends the role's heartbeats on a separate
// connection.
type listener struct {
	store    *store
	channels []string
	signals  chan protocol.Signal

	cancel context.CancelFunc
	done   sync.WaitGroup

	doubted chan struct{} // capacity 1: the subscription may be dead

	mu          sync.Mutex
	undelivered []protocol.Signal
	added       chan struct{} // capacity 1: undelivered is not empty

	heartbeatsOnce sync.Once
	heartbeats     redis.UniversalClient // the heartbeat connection
	ownsHeartbeats bool                  // Close closes it
}

// Listen subscribes to the channel of a role and, at the first heartbeat, opens a connection for its heartbeats.
func (s *store) Listen(name string) protocol.Listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{
		store: s, channels: []string{s.keys.channel(name), s.keys.channel(elections)},
		signals: make(chan protocol.Signal), cancel: cancel, added: make(chan struct{}, 1), doubted: make(chan struct{}, 1),
	}
	if s.bad != nil {
		return l
	}
	s.listeners.add(l)
	l.done.Add(2)
	go l.subscribeLoop(ctx)
	go l.deliver(ctx)
	return l
}

func (l *listener) Signals() <-chan protocol.Signal { return l.signals }

// Close ends the subscription, waits for its goroutines, and closes the heartbeat connection.
func (l *listener) Close() error {
	l.cancel()
	l.done.Wait()
	l.store.listeners.remove(l)
	l.heartbeatsOnce.Do(func() {})
	if l.ownsHeartbeats {
		return l.heartbeats.Close()
	}
	return nil
}

// openListeners are the open listeners. The zero value is ready.
type openListeners struct {
	mu   sync.Mutex
	open map[*listener]bool
}

func (o *openListeners) add(l *listener) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open == nil {
		o.open = make(map[*listener]bool)
	}
	o.open[l] = true
}

func (o *openListeners) remove(l *listener) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, l)
}

// doubt requests a check of all subscriptions.
func (o *openListeners) doubt() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for l := range o.open {
		l.doubt()
	}
}

// subscribeLoop opens the subscription again whenever it is lost, until ctx ends.
func (l *listener) subscribeLoop(ctx context.Context) {
	defer l.done.Done()
	backoff := minReconnect
	for ctx.Err() == nil {
		confirmed := l.subscribe(ctx)
		if confirmed {
			backoff = minReconnect
		}
		wait := time.NewTimer(backoff/2 + rand.N(backoff/2))
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
		backoff = min(2*backoff, maxReconnect)
	}
}

// doubt requests a check of the subscription: another connection to the server has failed. It wakes the role, because a message may be lost.
func (l *listener) doubt() {
	l.push(protocol.Signal{Wake: true})
	select {
	case l.doubted <- struct{}{}:
	default:
	}
}

// check pings a doubted subscription, and closes it if nothing is received within answerWithin. It returns when closed is closed. ctx has ended: subscribe has the reason.
func (l *listener) check(ctx context.Context, subscription *redis.PubSub, received *atomic.Int64, closed <-chan struct{}) {
	for {
		select {
		case <-closed:
			return
		case <-l.doubted:
		}
		before := received.Load()
		err := subscription.Ping(ctx)
		timer := time.NewTimer(answerWithin)
		select {
		case <-closed:
			timer.Stop()
			return
		case <-timer.C:
		}
		if err != nil || received.Load() == before {
			_ = subscription.Close()
		}
	}
}

// subscribe receives until the connection fails or ctx ends. confirmed reports whether the server ever confirmed the subscription.
func (l *listener) subscribe(ctx context.Context) (confirmed bool) {
	subscription := l.store.client.Subscribe(ctx)
	opening, cancel := context.WithTimeout(ctx, shortestRead)
	err := subscription.Subscribe(opening, l.channels...)
	cancel()
	if err != nil {
		_ = subscription.Close()
		return false
	}
	closed := context.AfterFunc(ctx, func() { _ = subscription.Close() })
	// With a ctx that has ended, go-redis uses the connection, and opens no other one when it fails. Nothing would use that one, and Ping and Close would wait for it.
	ended, end := context.WithCancel(ctx)
	end()
	var received atomic.Int64
	left, checked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(checked)
		l.check(ended, subscription, &received, left)
	}()
	defer func() {
		if closed() {
			_ = subscription.Close()
		}
		close(left)
		<-checked
	}()
	pinged := false // and not answered yet
	silence := l.store.maySilence()
	for {
		message, err := subscription.ReceiveTimeout(ended, silence)
		var timeout net.Error
		switch {
		case err == nil:
			received.Add(1)
			pinged = false
		case errors.As(err, &timeout) && timeout.Timeout() && !pinged && ctx.Err() == nil:
			pinged = true
			if subscription.Ping(ended) != nil {
				return confirmed
			}
			continue
		default:
			return confirmed
		}
		switch m := message.(type) {
		case *redis.Subscription:
			if m.Kind == "subscribe" && m.Count == len(l.channels) {
				confirmed = true
				l.push(protocol.Signal{Connected: true})
			}
		case *redis.Message:
			l.push(signal(m.Payload))
		}
	}
}

// maySilence returns how long a subscription may be silent; 0: without limit. A server in the same process has no network on which a
// connection could die silently: its client's address has port 0, which no other server has.
func (s *store) maySilence() time.Duration {
	if single, ok := s.client.(*redis.Client); ok && strings.HasSuffix(single.Options().Addr, ":0") {
		return 0
	}
	return pingAfter
}

// signal reads a message that a script published: w<partition> wake up, which older versions send without the partition, a<ms> the instant at which the head of due is due, r<ID> replaced,
// c<fence>\t<ID> cancelled, e elect a leader. Any other message is the zero Signal.
func signal(payload string) protocol.Signal {
	if payload == "" {
		return protocol.Signal{}
	}
	kind, rest := payload[0], payload[1:]
	switch kind {
	case 'w':
		return protocol.Signal{Wake: true, Partition: partitionOfTag(rest)}
	case 'a':
		if ms, err := strconv.ParseInt(rest, 10, 64); err == nil {
			return protocol.Signal{Alarm: time.UnixMilli(ms).UTC()}
		}
	case 'r':
		return protocol.Signal{Replaced: rest}
	case 'c':
		fence, id, _ := strings.Cut(rest, "\t")
		if n, err := strconv.ParseInt(fence, 10, 64); err == nil && id != "" {
			return protocol.Signal{Cancelled: protocol.HeldJob{ID: id, Fence: n}}
		}
	case 'e':
		return protocol.Signal{Elect: true}
	}
	return protocol.Signal{}
}

// push adds a signal to the undelivered ones. Equal signals are delivered once. If there are several alarms, the earliest is kept: an
// alarm does not name its partition, and a worker that wakes for it polls all of its partitions.
func (l *listener) push(s protocol.Signal) {
	if s == (protocol.Signal{}) {
		return
	}
	l.mu.Lock()
	kept := l.undelivered[:0]
	for _, p := range l.undelivered {
		if !s.Alarm.IsZero() && p.Alarm.Before(s.Alarm) && !p.Alarm.IsZero() {
			s = p
		}
		if p != s && (s.Alarm.IsZero() || p.Alarm.IsZero()) {
			kept = append(kept, p)
		}
	}
	l.undelivered = append(kept, s)
	l.mu.Unlock()
	select {
	case l.added <- struct{}{}:
	default:
	}
}

// deliver sends signals to the role one by one, in their order, until ctx ends.
func (l *listener) deliver(ctx context.Context) {
	defer l.done.Done()
	for {
		l.mu.Lock()
		var next protocol.Signal
		if len(l.undelivered) > 0 {
			next = l.undelivered[0]
			l.undelivered = append(l.undelivered[:0], l.undelivered[1:]...)
		}
		l.mu.Unlock()
		if next == (protocol.Signal{}) {
			select {
			case <-ctx.Done():
				return
			case <-l.added:
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

// Extend keeps sessions alive. It sends all calls on the heartbeat connection in one round trip.
func (l *listener) Extend(ctx context.Context, calls []protocol.ExtendCall) []protocol.ExtendAnswer {
	answers := make([]protocol.ExtendAnswer, len(calls))
	l.heartbeatsOnce.Do(func() { l.heartbeats, l.ownsHeartbeats = dedicated(l.store.client) })
	sent := make([]call, len(calls))
	for i, c := range calls {
		k := l.store.keys.partition(c.Partition)
		args := []any{c.Session, c.TTL.Milliseconds()}
		for _, name := range c.Schedules {
			args = append(args, name)
		}
		sent[i] = newCall(&extendScript, []string{k.inflight(c.Session), k.sessions, k.open, k.state}, args)
	}
	for i, cmd := range l.store.run(ctx, l.heartbeats, sent...) {
		values, err := list("extend session", calls[i].Session, cmd)
		if err != nil {
			answers[i].Err = err
			continue
		}
		if values.number(1) == 0 {
			answers[i].Err = failure("extend session", calls[i].Session, protocol.ErrSessionLost)
		}
		for cancelled, j := values.list(2), 0; j+1 < len(cancelled); j += 2 {
			answers[i].Cancelled = append(answers[i].Cancelled, protocol.HeldJob{ID: cancelled.text(j), Fence: cancelled.number(j + 1)})
		}
		for j := 3; j < len(values); j++ {
			answers[i].Replaced = append(answers[i].Replaced, values.text(j))
		}
	}
	return answers
}

// dedicated returns a client with the same options and one connection of its own, so that a heartbeat does not wait behind another
// call, nor on a dead connection for longer than a heartbeat can wait. If the client's type cannot be copied, it returns the client itself
// and own is false.
func dedicated(client redis.UniversalClient) (heartbeats redis.UniversalClient, own bool) {
	switch c := client.(type) {
	case *redis.Client:
		options := *c.Options()
		options.PoolSize, options.MinIdleConns, options.MaxIdleConns, options.MaxActiveConns = 1, 0, 0, 0
		options.ContextTimeoutEnabled = true
		options.ReadTimeout, options.DialTimeout = within(options.ReadTimeout), within(options.DialTimeout)
		return redis.NewClient(&options), true
	case *redis.ClusterClient:
		options := *c.Options()
		options.PoolSize, options.MinIdleConns, options.MaxIdleConns, options.MaxActiveConns = 1, 0, 0, 0
		options.ContextTimeoutEnabled = true
		options.ReadTimeout, options.DialTimeout = within(options.ReadTimeout), within(options.DialTimeout)
		return redis.NewClusterClient(&options), true
	}
	return client, false
}

// within returns a timeout of the application's client, at most beatWithin; -1 means no timeout.
func within(timeout time.Duration) time.Duration {
	if timeout <= 0 {
		return beatWithin
	}
	return min(timeout, beatWithin)
}
