package redisstore

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	// shortestRead is how long a call that can be repeated waits for its answer while the server answers faster than that.
	shortestRead = time.Second
	// slowAfter is how many calls in a row must miss the limit before the server counts as slow.
	slowAfter = 2
	// longestRead is how long such a call waits if the client has no limit of its own.
	longestRead = 30 * time.Second
	// connecting is the additional time for waiting for a connection, or for a retry on another one. chime waits for a
	// server that refuses connections as long as go-redis does, because only go-redis knows the reason.
	connecting = 800 * time.Millisecond
)

// A patience limits how long calls wait that their callers repeat until they are answered. When a server vanishes without closing its
// connections, the calls in progress wait on dead connections; with go-redis's own limits they would wait for 20 s, long after another
// server has taken over. So they wait for shortestRead only. If a server is slow, the limit grows: after slowAfter calls in a row without
// an answer in time it doubles, up to the client's own ReadTimeout. It shrinks again when the answers come sooner. Every one of these
// calls is safe to send twice, so a limit that was too short costs one round trip and nothing else.
//
// The limit of a Cluster's client cannot be changed: its calls end by its ReadTimeout. If the client has ContextTimeoutEnabled, the ctx
// ends a call in time. If not, these calls use a copy of the client with another ReadTimeout, which shares its
// connections; go-redis does not copy the hooks that were added to it.
type patience struct {
	clients []redis.UniversalClient // by level; one level: the application's client, as it is
	limits  []time.Duration         // of reading an answer
	brief   redis.UniversalClient   // of calls that end after protocol.BriefCall; nil: the client cannot end them
	level   atomic.Int32
	unread  atomic.Int32 // consecutive calls without an answer in time, although the server accepts connections
	made    atomic.Int64 // connections that the pool had made, at the last call without an answer
	silent  atomic.Bool  // the last call got no connection in time: the server is gone, not slow
}

func newPatience(client redis.UniversalClient) *patience {
	single, ok := client.(*redis.Client)
	if !ok || single == nil {
		return &patience{clients: []redis.UniversalClient{client}, limits: []time.Duration{longestRead}}
	}
	longest := single.Options().ReadTimeout
	if longest <= 0 {
		longest = longestRead
	}
	p := &patience{brief: client}
	if !single.Options().ContextTimeoutEnabled {
		p.brief = single.WithTimeout(protocol.BriefCall)
	}
	for limit := shortestRead; limit < longest; limit *= 2 {
		brief := single
		if !single.Options().ContextTimeoutEnabled {
			brief = single.WithTimeout(limit)
		}
		p.clients, p.limits = append(p.clients, brief), append(p.limits, limit)
	}
	p.clients, p.limits = append(p.clients, client), append(p.limits, longest)
	return p
}

// begin returns the client for a call, and a ctx that ends at the limit of the call.
func (p *patience) begin(ctx context.Context) (limited context.Context, cancel context.CancelFunc, client redis.UniversalClient) {
	level := p.level.Load()
	limit := p.limits[level] + connecting
	if p.silent.Load() {
		limit = shortestRead
	}
	limited, cancel = context.WithTimeout(ctx, limit)
	return limited, cancel, p.clients[level]
}

// ended records the end of a call. It reports whether the call's connection has failed, and whether the other connections are in doubt: this
// one has failed, or go-redis seems to have repeated the call on another one.
func (p *patience) ended(err error, took time.Duration) (failed, doubt bool) {
	level := p.level.Load()
	var answer redis.Error
	if err == nil || errors.As(err, &answer) {
		p.silent.Store(false)
		if p.unread.Load() > 0 {
			p.unread.Store(0)
		}
		if level > 0 && 2*took < p.limits[level-1] {
			p.level.CompareAndSwap(level, level-1)
		}
		return false, took >= p.limits[level]
	}
	var network *net.OpError
	unread := errors.As(err, &network) && network.Op == "read" && network.Timeout()
	ended := errors.Is(err, context.DeadlineExceeded)
	connected := (unread || ended) && p.connected()
	p.silent.Store(ended && !connected)
	if connected && int(level) < len(p.limits)-1 && p.unread.Add(1) >= slowAfter {
		p.unread.Store(0)
		p.level.CompareAndSwap(level, level+1)
	}
	return true, true
}

// connected reports whether the pool has made a connection since the last call that was not answered: then the server accepts connections and
// is slow. The connections that a vanished server leaves in the pool are no sign of that, however many of them are tried and removed.
func (p *patience) connected() bool {
	single, ok := p.clients[0].(*redis.Client)
	if !ok {
		return false
	}
	// A connection that is removed between the two readings is missing in the sum: only a sum above the largest one is a new connection.
	removed := int64(single.PoolStats().StaleConns)
	made := removed + int64(single.PoolStats().TotalConns)
	for last := p.made.Load(); made > last; last = p.made.Load() {
		if p.made.CompareAndSwap(last, made) {
			return true
		}
	}
	return false
}

// runBriefly is run for calls that the caller repeats until they are answered.
func (s *store) runBriefly(ctx context.Context, calls ...call) []*redis.Cmd {
	ctx, cancel, client := s.patience.begin(ctx)
	defer cancel()
	began := time.Now()
	cmds := s.run(ctx, client, calls...)
	for _, cmd := range cmds {
		if s.connectionFailed(cmd.Err(), began) {
			break
		}
	}
	return cmds
}

// runWithin is run for a call whose ctx ends after protocol.BriefCall, and which is sent again with more time if it has no answer then.
func (s *store) runWithin(ctx context.Context, calls ...call) []*redis.Cmd {
	return s.run(ctx, s.patience.brief, calls...)
}

// connectionFailed records the end of a call of a patience's client, and reports whether its connection has failed. Then the
// subscriptions of the store are checked too, because they may also be dead.
func (s *store) connectionFailed(err error, began time.Time) bool {
	failed, doubt := s.patience.ended(err, time.Since(began))
	if doubt {
		s.listeners.doubt()
	}
	return failed
}

// brief sends plain commands through a patience's client, for a caller that repeats them.
func (s *store) brief(ctx context.Context, send func(ctx context.Context, client redis.UniversalClient) error) error {
	ctx, cancel, client := s.patience.begin(ctx)
	defer cancel()
	began := time.Now()
	err := send(ctx, client)
	s.connectionFailed(err, began)
	return err
}
