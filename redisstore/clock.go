package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// The server's clock decides what is due. Outside of these instants it is wrong, and scripts refuse to work by it (lib/clock.lua):
// what was placed in 2300 would be late for as long when the clock is set.
var (
	minClock = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	maxClock = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC) // exclusive
)

// checkClock returns an error if a server's clock is wrong for certain. What may not be read is not checked.
func checkClock(ctx context.Context, client redis.Cmdable) error {
	now, err := client.Time(ctx).Result()
	if denied(err) {
		return nil // CheckUse says so, with the rule that grants it
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
