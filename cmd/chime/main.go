// Command chime shows and repairs what chime keeps in Redis: schedules, jobs, queues and workers. chime next and chime explain say what a rule or
// a cron line means; they need no Redis.
//
//	chime next '30 2 * * *' --rule-zone Europe/Berlin
//	REDIS_URL=redis://127.0.0.1:6379 chime schedules list
//
// chime -h lists all commands, and chime COMMAND -h what each takes.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	_ "time/tzdata" // the command runs where there is no zone database

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/cmd/chime/internal/command"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
	"github.com/chimejobs/chime/redisstore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)                                            // a second Ctrl-C ends the process at once
	redis.SetLogger(redisstore.ClientLogger(slog.New(slog.DiscardHandler))) // an error is told once, by the command
	code := command.Run(ctx, process.Current())
	stop()
	os.Exit(code)
}
