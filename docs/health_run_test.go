package docs_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/internal/protocol"
)

func TestThePageOnHealthShowsCodeThatRuns(t *testing.T) {
	shows(t, "health.md", "health_test.go", "health_run_test.go")
}

// An awayStore does not answer the requests of /readyz while it is away.
type awayStore struct {
	protocol.Store
	away bool
}

func (s *awayStore) Protocol() protocol.Store { return s }

func (s *awayStore) Lease(ctx context.Context) (string, error) {
	if s.away {
		<-ctx.Done()
		return "", ctx.Err()
	}
	return s.Store.Lease(ctx)
}

// The page's table has a row for each of these states, and /livez and /readyz answer as the row says.
func TestThePageOnHealthListsTheAnswers(t *testing.T) {
	type row struct{ live, ready string }
	rows := map[string]row{}
	for _, cells := range regexp.MustCompile(`(?m)^\| (.+?) \| (\d.*?) \| (\d.*?) \|$`).FindAllStringSubmatch(readText(t, "health.md"), -1) {
		if cells[3] == "503 the same" {
			cells[3] = cells[2]
		}
		rows[cells[1]] = row{strings.ReplaceAll(cells[2], "`", ""), strings.ReplaceAll(cells[3], "`", "")}
	}
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		log := slog.New(slog.DiscardHandler)
		store := &awayStore{Store: c.Store().Protocol()}
		c.Start(chime.NewScheduler(c.Store(), chime.SchedulerOptions{Logger: log})) // this one leads
		release := make(chan struct{})
		hangs := func(events []chime.JobEvent) {
			if events[0].Name == "unheard" {
				<-release
			}
		}
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: log, Concurrency: 1, Observers: []*chime.Observer{{Taken: hangs}}})
		worker.Handle("slow", func(context.Context, *chime.Job) error { time.Sleep(10 * time.Second); return nil })
		worker.Handle("unheard", func(context.Context, *chime.Job) error { return nil })
		scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Logger: log})
		pages, err := healthPages(store, worker, scheduler)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(path string) string {
			answer := httptest.NewRecorder()
			pages.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
			_, why, found := strings.Cut(strings.TrimSpace(answer.Body.String()), ": ")
			if !found {
				return "200"
			}
			return "503 " + why
		}
		check := func(when string) {
			t.Helper()
			want, ok := rows[when]
			delete(rows, when)
			if got := (row{ask("/livez"), ask("/readyz")}); !ok || got != want {
				t.Errorf("a process that %s answers %q, the page says %q", when, got, want)
			}
		}
		enqueue := func(name string) {
			if _, err := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{Logger: log}).Enqueue(t.Context(), name, nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		queues := chime.NewQueues(c.Store())

		check("has not called `Run` yet")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- chime.Run(ctx, worker, scheduler) }()
		c.Advance(time.Minute)
		check("works")
		check("works, another scheduler leads")
		if err := queues.Pause(t.Context(), "default", chime.Note{}); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Minute)
		check("works, a queue is paused")
		if err := queues.Resume(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		enqueue("slow")
		check("works, all slots are busy")
		c.Advance(time.Minute)
		store.away = true
		check("Redis does not answer")
		store.away = false
		c.Advance(time.Minute)
		enqueue("unheard")
		time.Sleep(31*time.Second + 500*time.Millisecond)
		check("has a loop that is stuck")
		close(release)
		c.Advance(time.Minute)
		enqueue("slow")
		stop()
		synctest.Wait()
		check("is ending, handlers finish")
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for when := range rows {
		t.Errorf("no test checks the page's row for a process that %s", when)
	}
}
