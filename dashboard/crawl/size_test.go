package crawl_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// The compressed response of every page has fewer than 100 KB, even for the longest lists. Decompressed, it equals the uncompressed page.
func TestCrawlPagesAreSmallAsTheyAreSent(t *testing.T) {
	const most = 100_000
	onServer(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		for i := range 210 {
			name := fmt.Sprintf("a-schedule-with-a-name-of-the-usual-length-%03d", i)
			must(chime.NewSchedules(store).Put(t.Context(), name, must(recurrence.Cron("* * * * *")), chime.Queue("mail"), chime.JobName("run"), chime.MaxAttempts(1)))
		}
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		for i := range 210 {
			must(enqueuer.Enqueue(t.Context(), "waits", nil, chime.Queue("media"), chime.ID(fmt.Sprintf("an-id-of-the-usual-length-%03d", i))))
			must(enqueuer.Enqueue(t.Context(), "run", nil, chime.Queue("mail"), chime.MaxAttempts(1)))
		}
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 1}})
		worker.Handle("run", func(_ context.Context, job *chime.Job) error {
			return fmt.Errorf("%s: %s", job.ID, strings.Repeat("connection refused by the other side ", 10))
		})
		during(t, func() { time.Sleep(time.Duration(long.Seeds(5, 21)) * time.Minute) }, worker, chime.NewScheduler(store, chime.SchedulerOptions{})) // fake time passes
		d := newDashboard(t, store, dashboard.Options{Write: true})
		for _, page := range []string{
			"", "?window=92d", "schedules", "schedules?sort=late&limit=200", "schedules?limit=200", "schedules/a-schedule-with-a-name-of-the-usual-length-007", "schedules/new",
			"calendar", "queues", "queues/mail", "workers", "jobs", "jobs?state=dead", "jobs?state=waiting&limit=200", "jobs?state=dead&limit=200", "failures", "search?q=a-",
		} {
			time.Sleep(time.Second) // fake time passes, to keep below the rate limit
			plain, sent := send(d, "GET", "/"+page), send(d, "GET", "/"+page, "Accept-Encoding: gzip")
			wants(t, page, plain, 200)
			text := sent.Body.Bytes()
			if sent.Header().Get("Content-Encoding") == "gzip" {
				text = must(io.ReadAll(must(gzip.NewReader(bytes.NewReader(text)))))
			}
			if !bytes.Equal(text, plain.Body.Bytes()) || plain.Header().Get("Content-Encoding") != "" {
				t.Errorf("%q differs when it is compressed", page)
			}
			t.Logf("%q has %d bytes, of which %d are sent", page, plain.Body.Len(), sent.Body.Len())
			if sent.Body.Len() >= most {
				t.Errorf("%q has %d bytes, of which %d are sent to a browser, want fewer than %d", page, plain.Body.Len(), sent.Body.Len(), most)
			}
		}
	})
}
