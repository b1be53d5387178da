package chime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// checkTimeout is how long one look at the store may take.
const checkTimeout = 10 * time.Second

// waitFit returns nil as soon as the store can be trusted with jobs, an error that wraps ErrUnfit when waiting will not
// help, or ctx.Err(). While it waits it says so: at once, once a minute, and when it is over. Who names the role.
func waitFit(ctx context.Context, store protocol.Store, logger *slog.Logger, who string) error {
	t := trouble{log: logger.With("role", who)}
	for failures := 1; ; failures++ {
		err := checkOnce(ctx, store)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			t.end("check", time.Now())
			return nil
		}
		if errors.Is(err, ErrUnfit) {
			return fmt.Errorf("chime: %s: %w", who, err)
		}
		t.begin("check", "check", err, time.Now())
		if !sleep(ctx, troubleDelay(failures)) {
			return ctx.Err()
		}
	}
}

func checkOnce(ctx context.Context, store protocol.Store) error {
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
