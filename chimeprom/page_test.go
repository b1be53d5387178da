package chimeprom_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeprom"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/recurrence"
)

func monitored(store chime.Store, handlers func(*chime.Worker), schedules func(*chime.Scheduler) error) (http.Handler, []chime.Role, error) {
	metrics := chimeprom.New(chimeprom.Options{Jobs: []string{"newsletter"}}) // a job that this program only enqueues
	worker := chime.NewWorker(store, chime.WorkerOptions{Observers: []*chime.Observer{metrics.Observer()}})
	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Observers: []*chime.Observer{metrics.Observer()}})
	handlers(worker)
	if err := schedules(scheduler); err != nil {
		return nil, nil, err
	}
	metrics.Know(worker, scheduler)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics, metrics.Store(store))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), []chime.Role{scheduler, worker}, nil
}

// docs/monitoring.md shows the code above, and it works.
func TestThePageShowsCodeThatWorks(t *testing.T) {
	page, err := os.ReadFile("../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "\n```go\n")[1:]
	for _, block := range blocks {
		if code, _, _ := strings.Cut(block, "```"); !strings.Contains(string(source), "\n"+code) {
			t.Errorf("docs/monitoring.md shows code that is not in page_test.go:\n%s", code)
		}
	}
	if len(blocks) != 1 {
		t.Errorf("%d pieces of code, want 1", len(blocks))
	}
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		handler, roles, err := monitored(c.Store(), func(w *chime.Worker) {
			w.Handle("report", func(context.Context, *chime.Job) error { return nil })
		}, func(s *chime.Scheduler) error {
			return s.Schedule("report", recurrence.Recurrence{StartTime: time.Now().Add(time.Minute), Frequency: recurrence.Minute, Interval: 1})
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Start(roles...)
		c.Advance(3 * time.Minute)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		text, err := io.ReadAll(answer.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`chime_jobs_ended_total{job="report",outcome="done",queue="default"} 3`, `chime_schedules{state="live"} 1`, "chime_leader 1", `chime_schedule_period_seconds{schedule="report"} 60`,
		} {
			if !strings.Contains(string(text), want+"\n") {
				t.Errorf("missing: %s in\n%s", want, text)
			}
		}
	})
}
