package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	leadScript   = scripts.Load("leader/lead")
	resignScript = scripts.Load("leader/resign")
)

// maxLease is longer than any lease: a lease that seems to last longer was edited by hand, or was written before the clock stepped back.
const maxLease = time.Hour

// Lead acquires or renews the leader's lease of the namespace. Only one candidate leads at a time. It also works when Redis is out of
// memory: then the script is called again with a flag for this.
func (s *store) Lead(ctx context.Context, candidate string, ttl time.Duration) (protocol.Leadership, error) {
	lead := func(outOfMemory bool) (reply, error) {
		return list("lead as", candidate, s.runBriefly(ctx, newCall(&leadScript, []string{s.keys.leader()}, []any{candidate, ttl.Milliseconds(), flag(outOfMemory)}))[0])
	}
	if s.bad != nil {
		return protocol.Leadership{}, s.bad
	}
	values, err := lead(false)
	if errors.Is(err, protocol.ErrStoreFull) {
		values, err = lead(true)
	}
	if err != nil {
		return protocol.Leadership{}, err
	}
	return protocol.Leadership{
		Leading: values.number(0) == 1, Leader: values.text(1), Term: values.number(2),
		Left: time.Duration(values.number(3)) * time.Millisecond, Epoch: values.text(4),
	}, nil
}

// Resign releases the lease, so that another candidate can lead at once, and notifies all listeners. A candidate that does not
// lead changes nothing.
func (s *store) Resign(ctx context.Context, candidate string) error {
	if s.bad != nil {
		return s.bad
	}
	cmd := s.run(ctx, s.client, newCall(&resignScript, []string{s.keys.leader()}, []any{candidate, s.keys.channel(elections)}))[0]
	if err := cmd.Err(); err != nil {
		return failure("resign as", candidate, err)
	}
	return nil
}

// Leader returns the current leader by the server's clock, and its term; "" and 0 if the stored value is not a number. It writes nothing.
func (s *store) Leader(ctx context.Context) (protocol.Leadership, error) {
	if s.bad != nil {
		return protocol.Leadership{}, s.bad
	}
	pipe := s.client.Pipeline()
	now, stored := pipe.Time(ctx), pipe.HMGet(ctx, s.keys.leader(), "id", "term", "until")
	if _, err := pipe.Exec(ctx); err != nil {
		return protocol.Leadership{}, failure("read the leader in", s.keys.leader(), err)
	}
	values := reply(stored.Val())
	leads := protocol.Leadership{Term: max(values.number(1), 0)}
	if left := time.UnixMilli(values.number(2)).Sub(now.Val()); left > 0 && left < maxLease {
		leads.Leader, leads.Left = values.text(0), left
	}
	return leads, nil
}

// Lease returns when the leader's lease lapses, as a text that changes whenever it is renewed; empty: there is no leader. It writes nothing.
func (s *store) Lease(ctx context.Context) (string, error) {
	if s.bad != nil {
		return "", s.bad
	}
	until, err := s.client.HGet(ctx, s.keys.leader(), "until").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", failure("read the leader in", s.keys.leader(), err)
	}
	return until, nil
}
