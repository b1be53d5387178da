package chime

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

const (
	checkTimeout = 10 * time.Second // of one look at the store
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
	tellAgain    = 30 * time.Second
)

// waitFit returns nil as soon as the store can be trusted with jobs, an error that wraps ErrUnfit when waiting will not
// help, or ctx.Err(). While it waits it says so: at once, then every 30 s, and when it is over. Who names the role.
func waitFit(ctx context.Context, store Store, logger *slog.Logger, who string) error {
	start, told := time.Now(), time.Time{}
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := checkOnce(ctx, store)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			if !told.IsZero() {
				logger.InfoContext(ctx, "chime: store is there", "role", who, "waited", time.Since(start))
			}
			return nil
		}
		if errors.Is(err, ErrUnfit) {
			return err
		}
		if told.IsZero() || time.Since(told) >= tellAgain {
			told = time.Now()
			logger.WarnContext(ctx, "chime: waiting for the store", "role", who, "waited", time.Since(start), "error", err)
		}
		if !sleep(ctx, jitter(pause)) {
			return ctx.Err()
		}
	}
}

func checkOnce(ctx context.Context, store Store) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return store.Check(ctx)
}

// sleep waits for d and returns false if ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter returns half of d to d, at random, so that many who failed together do not come back together.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
