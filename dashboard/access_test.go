//go:build real

package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// usersOfTheDocs returns the users of docs/access.md by their purpose.
func usersOfTheDocs(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^user (chime-(\w+) on >SECRET .*)$`).FindAllStringSubmatch(string(text), -1) {
		users[line[2]] = line[1]
	}
	return users
}

// named has the values for the names in the path of a route.
var named = map[string]string{"{name}": "report", "{queue}": "default", "{id}": "dead-1", "{job}": "resize"}

// filled puts one of each thing into a store and runs a worker until the test ends. It returns the worker's name.
func filled(t *testing.T, store chime.Store) string {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	must(chime.NewSchedules(store).Put(t.Context(), "report", recurrence.Recurrence{Cron: "@hourly"}))
	must(chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: log}).Enqueue(t.Context(), "resize", nil, chime.ID("dead-1"), chime.MaxAttempts(1)))
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: log})
	must(chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: log}).EnqueueBatch(t.Context(), chime.Batch{ID: "dead-1"})) // a batch and a job may have the same ID
	ran, runs := make(chan string, 1), make(chan struct{})
	worker.Handle("resize", func(context.Context, *chime.Job) error { return errors.New("no such file") })
	worker.Handle("stay", func(ctx context.Context, job *chime.Job) error { ran <- job.Worker; <-runs; return nil })
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- chime.Run(ctx, worker, chime.NewScheduler(store, chime.SchedulerOptions{Logger: log}))
	}()
	t.Cleanup(func() {
		close(runs)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	must(chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: log}).Enqueue(t.Context(), "stay", nil))
	name := <-ran
	for must(chime.NewJobs(store).Get(t.Context(), "default", "dead-1")).State != chime.JobDead { // it may be settled a moment later
	}
	for len(must(chime.NewWorkers(store).List(t.Context()))) == 0 {
	}
	return name
}

// A Redis user with read permission is enough for every page, and can change nothing. An operator can do both.
func TestEveryPageNeedsAViewersUserOfRedisOnly(t *testing.T) {
	users := usersOfTheDocs(t)
	server := redistest.Start(t, redistest.Options{Users: []string{users["viewer"], users["operator"]}})
	worker := filled(t, redisstore.New(server.Client(nil), redisstore.Options{Logger: slog.New(slog.DiscardHandler)}))
	for _, c := range []struct {
		user   string
		status int // of a pause
		want   string
	}{{"viewer", 403, "The Redis user of this dashboard does not have the permission for this"}, {"operator", 303, ""}} {
		var logged strings.Builder
		client := server.Client(&redis.Options{Username: "chime-" + c.user, Password: "SECRET"})
		who := 0
		d := newDashboard(t, redisstore.New(client, redisstore.Options{Logger: slog.New(slog.DiscardHandler)}), Options{
			Write: true, Logger: slog.New(slog.NewTextHandler(&logged, nil)),
			Authorize: func(*http.Request) (Viewer, error) { // a new viewer for each request, so that no rate limit applies
				who++
				return Viewer{Name: strings.Repeat("a", who), Rights: allRights}, nil
			},
		})
		for path := range d.pages {
			if path == "operations/{id}" {
				continue // the process keeps it, not Redis
			}
			for placeholder, name := range named {
				path = strings.ReplaceAll(path, placeholder, name)
			}
			path = strings.ReplaceAll(path, "{worker}", worker)
			if strings.Contains(path, "{") {
				t.Fatalf("this test has no value for a name in %s", path)
			}
			if got := send(d, "GET", "/"+path); got.Code != http.StatusOK {
				t.Errorf("as %s: %q: got %d: %s", c.user, path, got.Code, got.Body)
			}
		}
		r := httptest.NewRequest("POST", "/schedules/report/pause", strings.NewReader(url.Values{"sure": {"1"}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		wants(t, "a pause as "+c.user, w, c.status, c.want)
		if strings.Contains(logged.String(), "dashboard.failed") {
			t.Errorf("as %s: logged\n%s", c.user, &logged)
		}
	}
}
