package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// maxVersions is how many versions are kept: those that were first seen last.
const maxVersions = 1000

// noteVersion records when a version was first seen, with two plain commands: NX keeps the first instant. Nothing depends on it but marks in charts,
// so a call that fails, or a user of an older ACL who may not write the key, changes nothing else: the next announcement tries again.
//
// Two workers that remove the oldest entries at the same time may remove a few more.
func (s *store) noteVersion(ctx context.Context, version string, began time.Time) {
	pipe := s.client.Pipeline()
	pipe.ZAddNX(ctx, s.keys.versions(), redis.Z{Score: float64(began.UnixMilli()), Member: version})
	size := pipe.ZCard(ctx, s.keys.versions())
	if _, err := pipe.Exec(ctx); err == nil && size.Val() > maxVersions {
		_ = s.client.ZPopMin(ctx, s.keys.versions(), size.Val()-maxVersions).Err()
	}
}

// Versions returns the versions of programs whose workers have announced themselves, the one that was first seen last first. It writes nothing.
func (s *store) Versions(ctx context.Context) ([]protocol.VersionSeen, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	found, err := s.client.ZRangeWithScores(ctx, s.keys.versions(), -maxVersions, -1).Result()
	if err != nil {
		return nil, failure("list versions in", s.keys.versions(), err)
	}
	versions := make([]protocol.VersionSeen, 0, len(found))
	for _, z := range slices.Backward(found) {
		version, _ := z.Member.(string)
		versions = append(versions, protocol.VersionSeen{Version: version, First: time.UnixMilli(int64(max(0, min(z.Score, 1e14)))).UTC()})
	}
	return versions, nil
}
