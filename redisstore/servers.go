package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// checkServers checks the server, or every master of a cluster at the same time. Some masters may be silent, because the queues of
// the others can be served without them: that is logged, and they are checked when Check is repeated.
func (s *store) checkServers(ctx context.Context) error {
	cluster, ok := s.client.(*redis.ClusterClient)
	if !ok {
		var problem error
		_ = s.brief(ctx, func(ctx context.Context, client redis.UniversalClient) error {
			problem = s.checkServer(ctx, client, "")
			return errors.Unwrap(problem)
		})
		return problem
	}
	var mu sync.Mutex
	var unfit, silent []error
	fit := false
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		err := s.checkServer(ctx, master, " of "+master.Options().Addr)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			fit = true
		case errors.Is(err, protocol.ErrUnfit):
			unfit = append(unfit, err)
		default:
			silent = append(silent, err)
			s.options.Logger.WarnContext(ctx, "redisstore: a master of the cluster does not answer, so its settings are not checked yet",
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

// checkServer checks the version, the eviction policy and the clock of one server. which tells it from others.
func (s *store) checkServer(ctx context.Context, client redis.UniversalClient, which string) error {
	info := client.InfoMap(ctx)
	sections, err := info.Result()
	if denied(err) {
		s.infoDenied.Do(func() {
			s.options.Logger.WarnContext(ctx, "redisstore: INFO is denied, so version and eviction policy are not checked: use Redis 7.0 or later with maxmemory-policy noeviction",
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
	if policy, ok := sections["Memory"]["maxmemory_policy"]; ok && policy != "noeviction" {
		bad = append(bad, fmt.Errorf("redisstore: %w: maxmemory-policy %s%s may evict jobs: set it to noeviction", protocol.ErrUnfit, policy, which))
	}
	s.warnOfReplicas(ctx, sections["Replication"])
	return errors.Join(append(bad, checkClock(ctx, client))...)
}
