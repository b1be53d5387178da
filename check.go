package chime

import (
	"context"
	"log/slog"
)

// waitFit returns nil as soon as the store can be trusted with jobs, an error that wraps ErrUnfit when waiting will not
// help, or ctx.Err(). While it waits, it says so.
func waitFit(ctx context.Context, store Store, logger *slog.Logger, who string) error {
	return store.Check(ctx)
}
