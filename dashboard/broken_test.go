package dashboard

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
)

// A panic in a function of the application shows no secret, fails no page, and is logged once.
func TestAPanicInAFunctionOfTheOptionsFailsNoPage(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		quiet := slog.New(slog.DiscardHandler)
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet}).Enqueue(t.Context(), "report", map[string]string{"password": "secret"}, chime.ID("a"), chime.In(0)))
		w := chime.NewWorker(store, chime.WorkerOptions{Logger: quiet})
		ctx, stop := context.WithCancel(t.Context())
		w.Handle("report", func(context.Context, *chime.Job) error {
			stop()
			return chime.Discard(errors.New("a secret error"))
		})
		if err := w.Run(ctx); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		d := newDashboard(t, store, Options{
			Write: true, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Links:       func(*chime.JobInfo) []Link { panic("canary") },
			Redact:      func(*chime.JobInfo, any) any { panic("canary") },
			RedactError: func(*chime.JobInfo, string) string { panic("canary") },
			Audit:       func(context.Context, Action) { panic("canary") },
		})
		for range 2 {
			for _, c := range []struct{ method, path, text string }{
				{"GET", "/jobs/default/a", "Options.RedactError panicked"},
				{"GET", "/jobs?state=dead", "Options.RedactError panicked"},
				{"POST", "/jobs/default/a/reveal", "Options.Redact panicked"},
			} {
				got := send(d, c.method, c.path)
				wants(t, c.path, got, 200, c.text)
				lacks(t, c.path, got, "canary", "secret")
			}
		}
		for _, function := range []string{"Links", "Redact", "RedactError", "Audit"} {
			if n := strings.Count(log.String(), "action="+function+" error=canary"); n != 1 {
				t.Errorf("the panics of %s were logged %d times, want once:\n%s", function, n, log.String())
			}
		}
	})
}

// A request whose Authorize panics is denied.
func TestAPanicInAuthorizeAdmitsNobody(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Authorize: func(*http.Request) (Viewer, error) { panic("canary") }})
		got := send(d, "GET", "/jobs")
		wants(t, "the page", got, 403)
		lacks(t, "the page", got, "canary")
	})
}
