package chime

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

	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
)

const canary = "canary-4711"

// leaks reports whether a text has the canary, in any form in which fmt or JSON write bytes.
func leaks(text string) bool {
	for _, form := range []string{canary, "99 97 110", "0x63, 0x61", "63616e617279", "63616E617279", "Y2FuYXJ5"} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// However a job, a schedule or an item is printed, by value or by pointer, alone or in something else, nobody reads its arguments.
func TestNothingPrintedHasThePayload(t *testing.T) {
	job := Job{ID: "1", Name: "report", Queue: "default", Schedule: "nightly", Payload: []byte(canary)}
	schedule := Schedule{Name: "nightly", JobName: "report", Recurrence: recurrence.Recurrence{Cron: "@daily"}, Payload: []byte(canary)}
	item := Item{Name: "report", Args: canary, Options: []EnqueueOption{Queue("low")}}
	for name, v := range map[string]any{
		"a job": job, "a pointer to a job": &job, "jobs": []Job{job}, "jobs by name": map[string]Job{"a": job}, "pointers": []*Job{&job},
		"a job in a struct": struct{ Job Job }{job}, "an embedded job": struct{ *Job }{&job},
		"a schedule": schedule, "a pointer to a schedule": &schedule, "schedules": []Schedule{schedule}, "a schedule in a struct": struct{ S *Schedule }{&schedule},
		"an item": item, "a pointer to an item": &item, "items": []Item{item},
	} {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%10.3v"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v)
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(handler).Info("x", "v", v)
			slog.New(handler).Info("x", slog.Group("g", "v", v))
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		out.Write(text)
		if leaks(out.String()) {
			t.Errorf("%s: %s", name, out.String())
		}
		if !strings.Contains(out.String(), "report") {
			t.Errorf("%s: nothing says which it is: %s", name, out.String())
		}
	}
}

// What a handler gets wrong with its job is logged and stored without the payload, whether it panics with the job or cannot decode it.
func TestAHandlersFailureIsLoggedWithoutThePayload(t *testing.T) {
	for name, handler := range map[string]Handler{
		"panics with the job":   func(_ context.Context, job *Job) error { panic(*job) },
		"panics with a pointer": func(_ context.Context, job *Job) error { panic(job) },
		"returns the job":       func(_ context.Context, job *Job) error { return fmt.Errorf("bad job: %+v", *job) },
		"cannot decode it":      func(_ context.Context, job *Job) error { var n int8; return job.Decode(&n) },
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			store := newFakeJobStore(t)
			w := NewWorker(asStore(store), WorkerOptions{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
			w.Handle("work", handler)
			store.add("default", wire.Envelope{Name: "work", MaxAttempts: 1, Payload: []byte(`"` + canary + `"`)}, "x")
			stop := startWorker(t, w)
			synctest.Wait()
			if err := stop(); err != nil {
				t.Error(err)
			}
			if !strings.Contains(log.String(), "job.dead") || leaks(log.String()) {
				t.Errorf("%s: %s", name, log.String())
			}
			for _, s := range store.settled {
				body, err := wire.DecodeEnvelope(s.Body)
				if err != nil || body.LastError == "" || leaks(body.LastError) {
					t.Errorf("%s: the job is kept with the error %q, %v", name, body.LastError, err)
				}
			}
		})
	}
}

// A server's answer may be in a handler's error, as long and as strange as the server likes.
func TestALoggedErrorIsShortAndPrintable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		store := newFakeJobStore(t)
		w := NewWorker(asStore(store), WorkerOptions{Logger: slog.New(slog.NewJSONHandler(&log, nil))})
		w.Handle("work", func(context.Context, *Job) error {
			return errors.New("\x1b[31mred\r\n\u202e" + strings.Repeat("é", 5<<20))
		})
		store.add("default", wire.Envelope{Name: "work", MaxAttempts: 1}, "x")
		stop := startWorker(t, w)
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
