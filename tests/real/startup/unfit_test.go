//go:build real

package startup_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// An error that waiting does not fix ends Run of every role with the reason. Enqueue returns the same error at once.
func TestAPermanentErrorEndsRunAtItsStart(t *testing.T) {
	locked := redistest.Start(t, redistest.Options{Config: []string{"requirepass secret"}})
	open := redistest.Start(t, redistest.Options{Users: []string{"blind on >secret ~* &* +@all -time"}})
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	for name, test := range map[string]struct {
		client redis.UniversalClient
		want   string
	}{
		"no password":               {redis.NewClient(&redis.Options{Addr: locked.Addr()}), "the server wants a password"},
		"a wrong password":          {redis.NewClient(&redis.Options{Addr: locked.Addr(), Password: "guess"}), "refuses the client's user name or password"},
		"an unknown user":           {redis.NewClient(&redis.Options{Addr: locked.Addr(), Username: "nobody", Password: "secret"}), "refuses the client's user name or password"},
		"a user without TIME":       {redis.NewClient(&redis.Options{Addr: open.Addr(), Username: "blind", Password: "secret"}), "ACL SETUSER blind +time"},
		"no such database":          {redis.NewClient(&redis.Options{Addr: open.Addr(), DB: 99}), "no database of that number"},
		"no cluster":                {redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{open.Addr()}}), "the server is not a cluster"},
		"a web server":              {redis.NewClient(&redis.Options{Addr: web.Listener.Addr().String()}), "the server is not Redis"},
		"a server that has no TLS":  {redis.NewClient(&redis.Options{Addr: web.Listener.Addr().String(), TLSConfig: &tls.Config{ServerName: "redis.example"}}), "does not speak TLS"},
		"a certificate of somebody": {redis.NewClient(&redis.Options{Addr: httpsServer(t), TLSConfig: &tls.Config{ServerName: "redis.example"}}), "certificate is not trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { test.client.Close() })
			store := redisstore.New(test.client, redisstore.Options{})
			quiet := slog.New(slog.DiscardHandler)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			worker := chime.NewWorker(store, chime.WorkerOptions{Logger: quiet})
			worker.Handle("report", func(context.Context, *chime.Job) error { return nil })
			check := func(what string, err error) {
				if !errors.Is(err, chime.ErrUnfit) || !strings.Contains(err.Error(), test.want) || ctx.Err() != nil {
					t.Errorf("%s: %v, want ErrUnfit before the ctx ends, and %q", what, err, test.want)
				}
			}
			check("a worker", chime.Run(ctx, worker))
			_, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet}).Enqueue(ctx, "report", nil)
			check("an enqueuer", err)
			scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Logger: quiet})
			if err := scheduler.Schedule("report", recurrence.Recurrence{Cron: "0 9 * * *"}); err != nil {
				t.Fatal(err)
			}
			check("a scheduler", chime.Run(ctx, scheduler))
		})
	}
}

func httpsServer(t *testing.T) (addr string) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}
