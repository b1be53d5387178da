package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// A holder is a session with what it holds.
type holder struct {
	session string
	worker  string            // empty: not known
	held    map[string]string // job ID → fence, see keys.go
}

const heldPerCommand = 1000 // about so many jobs of a session are read by a command

// readHolders reads sessions, in order. What a session holds during the whole call is in the answer.
func (s *store) readHolders(ctx context.Context, k partitionKeys, sessions []string) ([]holder, error) {
	holders, scans := make([]holder, len(sessions)), make([]*redis.ScanCmd, len(sessions))
	pipe := s.client.Pipeline()
	for i, session := range sessions {
		holders[i] = holder{session: session, held: map[string]string{}}
		scans[i] = pipe.HScan(ctx, k.inflight(session), 0, "", heldPerCommand)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	for i := range holders {
		pairs, cursor, err := scans[i].Result()
		for {
			if err != nil {
				return nil, err
			}
			for j := 0; j+1 < len(pairs); j += 2 {
				holders[i].held[pairs[j]] = pairs[j+1]
			}
			if cursor == 0 {
				break
			}
			pairs, cursor, err = s.client.HScan(ctx, k.inflight(sessions[i]), cursor, "", heldPerCommand).Result()
		}
		holders[i].worker = workerOf(holders[i].held[self])
		delete(holders[i].held, self)
	}
	return holders, nil
}
