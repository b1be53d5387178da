package workers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

const canary = "canary-4711"

// leaks reports whether a text contains the canary, in any form in which fmt or JSON write bytes.
func leaks(text string) bool {
	for _, form := range []string{canary, "99 97 110", "0x63, 0x61", "63616e617279", "63616E617279", "Y2FuYXJ5"} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// A handler's failure is logged and stored without the payload, whether the handler panics with the job or cannot decode it.
func TestAHandlersFailureIsLoggedWithoutThePayload(t *testing.T) {
	for name, handler := range map[string]chime.Handler{
		"panics with the job":   func(_ context.Context, job *chime.Job) error { panic(*job) },
		"panics with a pointer": func(_ context.Context, job *chime.Job) error { panic(job) },
		"returns the job":       func(_ context.Context, job *chime.Job) error { return fmt.Errorf("bad job: %+v", *job) },
		"cannot decode it":      func(_ context.Context, job *chime.Job) error { var n int8; return job.Decode(&n) },
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			var log bytes.Buffer
			store := f.Hooked()
			w := chime.NewWorker(store, chime.WorkerOptions{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
			w.Handle("work", handler)
			f.Enqueue("default", wire.Envelope{Name: "work", MaxAttempts: 1, Payload: []byte(`"` + canary + `"`)}, "x")
			stop := fixture.Start(w)
			synctest.Wait()
			if err := stop(); err != nil {
				t.Error(err)
			}
			if !strings.Contains(log.String(), "job.dead") || leaks(log.String()) {
				t.Errorf("%s: %s", name, log.String())
			}
			for _, s := range store.Settled() {
				body, err := wire.DecodeEnvelope(s.Body)
				if err != nil || body.LastError == "" || leaks(body.LastError) {
					t.Errorf("%s: the job is kept with the error %q, %v", name, body.LastError, err)
				}
			}
		})
	}
}

// A handler's error may contain a server's answer, with any length and any characters.
func TestALoggedErrorIsShortAndPrintable(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var log bytes.Buffer
		store := f.Hooked()
		w := chime.NewWorker(store, chime.WorkerOptions{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
		w.Handle("work", func(context.Context, *chime.Job) error {
			return errors.New("\x1b[31mred\r\n\u202e" + strings.Repeat("é", 5<<20))
		})
		f.Enqueue("default", wire.Envelope{Name: "work", MaxAttempts: 1}, "x")
		stop := fixture.Start(w)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(log.String()) {
			var logged struct{ Event, Error string }
			if err := json.Unmarshal([]byte(line), &logged); err != nil {
				t.Fatal(err)
			}
			if logged.Event != "job.dead" {
				continue
			}
			if len(logged.Error) > 2<<10 || len(logged.Error) < 2000 || !strings.HasPrefix(logged.Error, `\x1b[31mred\r\n\u202eé`) || !strings.HasSuffix(logged.Error, "é…") {
				t.Errorf("%d bytes: %.40q … %q", len(logged.Error), logged.Error, logged.Error[max(0, len(logged.Error)-10):])
			}
			return
		}
		t.Errorf("the failure is not logged: %.1000s", log.String())
	})
}
