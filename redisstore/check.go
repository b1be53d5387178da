package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// Check returns nil if the servers can be trusted with jobs: each one answers, is Redis 7.0 or later, evicts no job, and has a plausible
// clock.
func (s *store) Check(ctx context.Context) error {
	if s.bad != nil {
		return s.bad
	}
	return s.check.run(ctx, s.brief)
}

// A serverCheck finds out whether servers can be trusted with jobs. It logs each of its warnings once.
type serverCheck struct {
	client     redis.UniversalClient
	log        *slog.Logger
	infoDenied sync.Once
	replicas   sync.Once
	volatile   sync.Once
}

// briefly sends plain commands through a client whose calls do not wait for long, see patience.
type briefly func(ctx context.Context, send func(ctx context.Context, client redis.UniversalClient) error) error

// run checks the server, or every master of a cluster at the same time. Some masters may be silent, because the queues of
// the others can be served without them: that is logged, and they are checked when Check is repeated.
func (c *serverCheck) run(ctx context.Context, brief briefly) error {
	cluster, ok := c.client.(*redis.ClusterClient)
	if !ok {
		var problem error
		_ = brief(ctx, func(ctx context.Context, client redis.UniversalClient) error {
			problem = c.server(ctx, client, "")
			return errors.Unwrap(problem)
		})
		return problem
	}
	var mu sync.Mutex
	var unfit, silent []error
	fit := false
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		err := c.server(ctx, master, " of "+master.Options().Addr)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			fit = true
		case errors.Is(err, protocol.ErrUnfit):
			unfit = append(unfit, err)
		default:
			silent = append(silent, err)
			c.log.WarnContext(ctx, "redisstore: a master of the cluster does not answer, so its settings are not checked yet",
				"event", "store.trouble", "action", "check", "host", master.Options().Addr, "error", err)
		}
		return nil
	})
	switch {
	case err != nil:
		return atStart(failure("check the cluster", "", err))
	case len(unfit) > 0:
		return errors.Join(unfit...)
	case !fit && len(silent) > 0:
		return silent[0]
	}
	return nil
}

// server checks the version, the eviction policy and the clock of one server. which distinguishes it from other servers in errors.
func (c *serverCheck) server(ctx context.Context, client redis.UniversalClient, which string) error {
	info := client.InfoMap(ctx)
	sections, err := info.Result()
	if denied(err) {
		c.infoDenied.Do(func() {
			c.log.WarnContext(ctx, "redisstore: INFO is denied, so version and eviction policy are not checked: use Redis 7.0 or later with maxmemory-policy noeviction",
				"event", "store.trouble", "action", "check", "error", err)
		})
		sections, err = nil, client.Ping(ctx).Err()
	}
	if err != nil {
		return atStart(failure("check the server"+which, "", err))
	}
	var bad []error
	if mode := sections["Server"]["redis_mode"]; mode == "sentinel" {
		bad = append(bad, fmt.Errorf("redisstore: %w: the server%s is a Sentinel: use redis.NewFailoverClient", protocol.ErrUnfit, which))
	}
	if version, ok := sections["Server"]["redis_version"]; ok && olderThan(version, 7) {
		bad = append(bad, fmt.Errorf("redisstore: %w: Redis %s%s: want 7.0 or later", protocol.ErrUnfit, version, which))
	}
	if err := c.evicts(ctx, sections["Memory"]["maxmemory_policy"], which); err != nil {
		bad = append(bad, err)
	}
	c.warnOfReplicas(ctx, sections["Replication"])
	return errors.Join(append(bad, checkClock(ctx, client))...)
}

// evicts returns an error for a maxmemory-policy that may evict jobs. The policies volatile-* evict only keys with an expiry. chime sets an expiry
// on keys that a deleted queue leaves behind, and on no key of a queue that is in use. So these policies lose no job. They are logged once, because
// a full server with such a policy refuses writes only after it has evicted the expiring keys of other programs.
func (c *serverCheck) evicts(ctx context.Context, policy, which string) error {
	switch {
	case policy == "" || policy == "noeviction": // empty: INFO does not contain it
		return nil
	case strings.HasPrefix(policy, "volatile-"):
		c.volatile.Do(func() {
			c.log.WarnContext(ctx, "redisstore: the server's maxmemory-policy evicts keys with an expiry: no job has one, but noeviction is safer",
				"event", "store.trouble", "action", "check", "reason", "maxmemory-policy "+policy+which)
		})
		return nil
	}
	return fmt.Errorf("redisstore: %w: maxmemory-policy %s%s may evict jobs: set it to noeviction", protocol.ErrUnfit, policy, which)
}

// The server's clock decides what is due. A clock outside of these instants is wrong, and scripts refuse to use it (lib/clock.lua): what was
// placed in 2300 would be centuries late after the clock is set.
var (
	minClock = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	maxClock = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC) // exclusive
)

// checkClock returns an error if a server's clock is certainly wrong. A clock that may not be read is not checked.
func checkClock(ctx context.Context, client redis.Cmdable) error {
	now, err := client.Time(ctx).Result()
	if denied(err) {
		return nil // CheckUse reports it, with the rule that grants it
	}
	if err != nil {
		return atStart(failure("read the clock of the server", "", err))
	}
	if now.Before(minClock) || !now.Before(maxClock) {
		return fmt.Errorf("redisstore: %w: the server's clock shows %s, want a time from %d to %d: set it",
			protocol.ErrUnfit, now.UTC().Format(time.RFC3339), minClock.Year(), maxClock.Year()-1)
	}
	return nil
}

// warnOfReplicas logs once that the server has replicas, one of which may be promoted, and accepts writes without any of them. A master that
// is cut off then continues while the promoted one runs too: both run the same jobs, and what the losing side accepts is lost after the repair.
func (c *serverCheck) warnOfReplicas(ctx context.Context, replication map[string]string) {
	_, guarded := replication["min_slaves_good_slaves"] // INFO reports it if min-replicas-to-write is set
	if n := replication["connected_slaves"]; replication["role"] != "master" || n == "" || n == "0" || guarded {
		return
	}
	c.replicas.Do(func() {
		c.log.WarnContext(ctx, "redisstore: the server has replicas and takes writes without them: after a split brain what the losing side accepted is lost; set min-replicas-to-write to 1",
			"event", "store.trouble", "action", "check", "count", replication["connected_slaves"])
	})
}

// olderThan compares the first number of a version.
func olderThan(version string, major int) bool {
	var got int
	_, err := fmt.Sscanf(version, "%d.", &got)
	return err == nil && got < major
}
