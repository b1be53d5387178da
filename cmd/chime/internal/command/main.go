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

// Main is the command as a process of its own, and returns what that exits with. A first Ctrl-C ends what the command does, a second one the process
// at once.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	redis.SetLogger(redisstore.ClientLogger(slog.New(slog.DiscardHandler))) // an error is told once, by the command
	return Run(ctx, process.Current())
}
