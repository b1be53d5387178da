package redisstore

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/chimejobs/chime/internal/guardlog"
)

// A ClientLog is a logger for redis.SetLogger; see [ClientLogger].
type ClientLog struct{ log *slog.Logger }

// ClientLogger returns a logger for the lines of go-redis. Set it once in main:
//
//	redis.SetLogger(redisstore.ClientLogger(slog.Default()))
//
// It logs these lines at level Debug. Without it go-redis writes several lines to stderr for each call while a server is unavailable;
// chime's roles log the same fact once a minute. The logger of go-redis belongs to the whole process, so chime never sets it.
func ClientLogger(log *slog.Logger) ClientLog { return ClientLog{log: guardlog.New(log)} }

// Printf logs one line of go-redis.
func (c ClientLog) Printf(ctx context.Context, format string, v ...any) {
	if c.log.Enabled(ctx, slog.LevelDebug) {
		c.log.DebugContext(ctx, "redisstore: go-redis logs", "event", "client.logged", "note", fmt.Sprintf(format, v...))
	}
}
