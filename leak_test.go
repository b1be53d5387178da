package chime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

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
