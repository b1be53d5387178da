//go:build real

package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/visit"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// A viewer opens every page and keeps some open, and no key of Redis changes. No page or log contains the Redis password, even during an outage.
func TestAViewerLeavesNoTrace(t *testing.T) {
	const password = "canary.password"
	user := strings.Replace(usersOfTheDocs(t)["operator"], ">SECRET", ">"+password, 1)
	server := redistest.Start(t, redistest.Options{Users: []string{user}})
	admin := server.Client(nil)
	options := must(redis.ParseURL("redis://chime-operator:" + password + "@" + server.Addr() + "/0"))
	filler := redisstore.New(admin, redisstore.Options{Logger: quiet})
	put(t, filler, "report", "0 * * * *")
	jobs, enqueuer := chime.NewJobs(filler), chime.NewEnqueuer(filler, chime.EnqueuerOptions{Logger: quiet})
	worker := chime.NewWorker(filler, chime.WorkerOptions{Logger: quiet})
	worker.Handle("send", func(context.Context, *chime.Job) error { return errors.New("no such mailbox") })
	must(enqueuer.Enqueue(t.Context(), "send", nil, chime.ID("dead-1"), chime.MaxAttempts(1)))
	must(enqueuer.Enqueue(t.Context(), "send", nil, chime.ID("later"), chime.In(time.Hour)))
	during(t, func() {
		for must(jobs.Get(t.Context(), "default", "dead-1")).State != chime.JobDead { // its worker settles it soon
		}
	}, worker)

	var lines strings.Builder
	log := slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d := newDashboard(t, redisstore.New(server.Client(options), redisstore.Options{Logger: log}), Options{Write: true, Authorize: crowd(View), Logger: log})
	before := visit.Dump(t, admin)
	seen := map[string]string{}
	for path := range d.pages {
		for placeholder, name := range named {
			path = strings.ReplaceAll(path, placeholder, name)
		}
		if got := send(d, "GET", "/"+path); got.Code == http.StatusOK { // except pages that need another right or a live worker
			seen[path] = got.Body.String()
		}
	}
	if len(seen) < 10 || !strings.Contains(seen["jobs/default/dead-1"], "no such mailbox") {
		t.Errorf("the viewer has seen only %d pages", len(seen))
	}
	for _, page := range []string{"", "schedules/report", "jobs?state=dead"} {
		next := watch(t, d, "/events?page="+page)
		next("event: beat")
		next("event: beat")
	}
	if changes := visit.Differences(before, visit.Dump(t, admin)); len(changes) > 0 || len(before) < 5 {
		t.Errorf("the viewer has changed these of %d keys: %q", len(before), changes)
	}
	server.Stop()
	away := send(d, "GET", "/jobs/default/later")
	wants(t, "without Redis", away, 503, "No answer from Redis")
	seen["without Redis"] = away.Body.String()
	for address, page := range seen {
		if strings.Contains(page, password) {
			t.Errorf("%s has the Redis password", address)
		}
	}
	d.Close()
	if text := lines.String(); strings.Contains(text, password) || !strings.Contains(text, "the store did not answer") {
		t.Errorf("the log has the Redis password, or does not report the outage:\n%s", text)
	}
}
