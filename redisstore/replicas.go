package redisstore

import "context"

// warnOfReplicas logs, once, that the server has replicas, one of which may be promoted, and takes writes without any. A master that is
// cut off then goes on beside the promoted one: both run the same jobs, and what the one accepts is lost when it is healed.
func (s *store) warnOfReplicas(ctx context.Context, replication map[string]string) {
	_, guarded := replication["min_slaves_good_slaves"] // INFO has it where min-replicas-to-write is set
	if n := replication["connected_slaves"]; replication["role"] != "master" || n == "" || n == "0" || guarded {
		return
	}
	s.replicas.Do(func() {
		s.options.Logger.WarnContext(ctx, "redisstore: the server has replicas and takes writes without them: after a split brain what the losing side accepted is lost; set min-replicas-to-write to 1",
			"event", "store.trouble", "action", "check", "count", replication["connected_slaves"])
	})
}
