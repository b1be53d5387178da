package redisstore

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// shortestRead is how long a call that will be repeated waits for its answer, as long as the server answers sooner.
	shortestRead = time.Second
	// slowAfter is how many calls in a row say that the server is slow.
	slowAfter = 2
	// longestRead is how long such a call waits where the client has no limit of its own.
	longestRead = 30 * time.Second
	// connecting is how much longer such a call may take because it waits for a connection, or repeats itself on another one. A
	// server that refuses connections is not given up sooner than go-redis gives it up, because only go-redis knows the reason.
	connecting = 800 * time.Millisecond
)

// A patience is how long calls wait that their callers repeat until they are answered. When a server vanishes without a word, the
// calls under way wait on dead connections; go-redis's own limits would have them wait for 20 s, long after another server has taken
// over. So they wait for shortestRead only. A server that is slow is waited for: after slowAfter calls in a row that were not answered
// in time the limit doubles, up to the client's own ReadTimeout, and it goes back when the answers come sooner. Every one of these calls is safe to send
// twice, so a limit that was too short costs a round trip and nothing else.
//
// A Cluster's client cannot be given another limit: its calls end by its ReadTimeout. Where the client has ContextTimeoutEnabled the ctx
// ends a call in time. Where it has not, these calls go through a copy of the client with another ReadTimeout, which shares its
// connections; go-redis does not copy the hooks that were added to it.
type patience struct {
	clients []redis.UniversalClient // by level; one level: the application's client, as it is
	limits  []time.Duration         // of reading an answer
	level   atomic.Int32
	unread  atomic.Int32  // calls in a row whose answer did not come in time, although the server accepts connections
	broken  atomic.Uint32 // connections that the pool has given up, at the last of these
	silent  atomic.Bool   // the last call got no connection in time: the server is gone, and not slow
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
	p := new(patience)
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

// begin returns the client for a call, and a ctx that ends when the call is given up.
func (p *patience) begin(ctx context.Context) (limited context.Context, cancel context.CancelFunc, client redis.UniversalClient) {
	level := p.level.Load()
	limit := p.limits[level] + connecting
	if p.silent.Load() {
		limit = shortestRead
	}
	limited, cancel = context.WithTimeout(ctx, limit)
	return limited, cancel, p.clients[level]
}

// ended notes how a call has ended. It reports whether its connection has failed, and whether there is a doubt about the others: this
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

// connected reports whether the pool has given up a connection since the last call that was not answered: then the server accepts
// connections and is slow. Otherwise there was none, or the one that there was may have been dead for long.
func (p *patience) connected() bool {
	single, ok := p.clients[0].(*redis.Client)
	if !ok {
		return false
	}
	broken := single.PoolStats().StaleConns
	return broken != p.broken.Swap(broken)
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

// connectionFailed notes how a call of a patience's client has ended, and reports whether its connection has failed. Then the
// subscriptions of the store are checked too, because they may be as dead.
func (s *store) connectionFailed(err error, began time.Time) bool {
	failed, doubt := s.patience.ended(err, time.Since(began))
	if doubt {
		s.listeners.doubt()
	}
	return failed
}

// brief has plain commands sent by a patience's client, for a caller that repeats them.
func (s *store) brief(ctx context.Context, send func(ctx context.Context, client redis.UniversalClient) error) error {
	ctx, cancel, client := s.patience.begin(ctx)
	defer cancel()
	began := time.Now()
	err := send(ctx, client)
	s.connectionFailed(err, began)
	return err
}
