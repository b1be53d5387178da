package redisstore

import (
	"context"
	"fmt"
	"log/slog"
)

// A ClientLog is what redis.SetLogger takes; see [ClientLogger].
type ClientLog struct{ log *slog.Logger }

// ClientLogger returns a logger for go-redis's own lines, to be set once in main:
//
//	redis.SetLogger(redisstore.ClientLogger(slog.Default()))
//
// It passes the lines on at level Debug. Without it go-redis writes to stderr, several lines for each call while a server is away,
// which say what chime's roles log once a minute. The logger of go-redis belongs to the whole process, so chime never sets it.
func ClientLogger(log *slog.Logger) ClientLog { return ClientLog{log: log} }

// Printf logs one line of go-redis.
func (c ClientLog) Printf(ctx context.Context, format string, v ...any) {
	if c.log.Enabled(ctx, slog.LevelDebug) {
		c.log.DebugContext(ctx, "redisstore: go-redis logs", "event", "client.logged", "note", fmt.Sprintf(format, v...))
	}
}
