//go:build real

package access_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
	"github.com/redis/go-redis/v9"
)

// A password is in no log line, no error and no formatted value, even when a connection fails.
func TestNoPasswordLeaks(t *testing.T) {
	const canary = "pa55-canary-word"
	server := redistest.Start(t, redistest.Options{Users: []string{"good on >" + canary + " ~* &* +@all", "poor on >" + canary + " ~* +@read +ping"}})
	down := redistest.Start(t, redistest.Options{})
	down.Kill()
	all := newLogLines()
	log := slog.New(slog.NewTextHandler(all, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, url := range []string{
		"redis://good:" + canary + "@" + server.Addr(), "redis://bad:" + canary + "@" + server.Addr(), "redis://poor:" + canary + "@" + server.Addr(),
		"redis://good:" + canary + "@" + down.Addr(), "rediss://good:" + canary + "@" + server.Addr(),
	} {
		options, err := redis.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		options.DialerRetries = 1
		if options.TLSConfig != nil {
			options.DialTimeout = 200 * time.Millisecond // the server waits for the end of a line
		}
		client := redis.NewClient(options)
		store := redisstore.New(client, redisstore.Options{Logger: log})
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: log})
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: log})
		_, listed := chime.NewSchedules(store).Get(t.Context(), "s")
		enqueued := all.untilTrouble(t.Context(), func(ctx context.Context) error { _, err := enqueuer.Enqueue(ctx, "j", nil); return err })
		ran := all.untilTrouble(t.Context(), func(ctx context.Context) error {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			worker.Handle("j", func(context.Context, *chime.Job) error { stop(); return nil })
			return chime.Run(ctx, worker, chime.NewScheduler(store, chime.SchedulerOptions{Logger: log}))
		})
		for _, value := range []any{enqueued, listed, ran, store, store.Protocol().Server(), worker, enqueuer, store.Protocol().Check(t.Context())} {
			fmt.Fprintf(all, "%v\n%+v\n%#v\n", value, value, value)
		}
		client.Close()
	}
	text := all.String()
	if strings.Contains(text, canary) {
		t.Errorf("the password is in what was logged or formatted:\n%s", text)
	}
	for _, want := range []string{"event=store.trouble", "WRONGPASS", "connection refused", "ACL SETUSER poor"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from it, so this test proves little:\n%s", want, text)
		}
	}
}
