package command

import (
	"context"
	"log/slog"
	"os"
	"os/signal"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/cmd/chime/internal/process"
	"github.com/chimejobs/chime/redisstore"
)

// Main runs the command as a process of its own, and returns its exit code. The first Ctrl-C cancels the command, the second one ends the process
// at once.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	redis.SetLogger(redisstore.ClientLogger(slog.New(slog.DiscardHandler))) // the command reports each error once
	return Run(ctx, process.Current())
}
