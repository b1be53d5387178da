package command_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// The command shows why a schedule did not run: what blocks its jobs, and what unblocks them.
func TestShowSaysWhyAScheduleDoesNotRun(t *testing.T) {
	s := emptyShop(t)
	schedules := chime.NewSchedules(s.store)
	if _, err := schedules.Put(t.Context(), "invoices", recurrence.Recurrence{Frequency: recurrence.Day}, chime.JobName("bill"), chime.Queue("mail")); err != nil {
		t.Fatal(err)
	}
	hindered := func() []string {
		t.Helper()
		var value struct{ Hindered []string }
		got := s.Run(t, "schedules", "show", "invoices", "--json")
		if err := json.Unmarshal([]byte(got.Out), &value); err != nil {
			t.Fatalf("%v: %+v", err, got)
		}
		return value.Hindered
	}
	want := func(when string, parts ...string) {
		t.Helper()
		all := hindered()
		for i, part := range parts {
			if len(all) != len(parts) || !strings.Contains(all[i], part) {
				t.Errorf("%s: %q, want %q", when, all, parts)
				return
			}
		}
	}
	listed := func(word string) {
		t.Helper()
		wants{out: []string{"invoices  ⚠ " + word + "  mail"}}.check(t, s.Run(t, "schedules", "list"), "list")
		got := s.Run(t, "schedules", "show", "invoices")
		wants{out: []string{"invoices  ⚠ " + word + " ", "Its occurrences are created as its rule says, but none runs now."}}.check(t, got, "show")
		if strings.Contains(got.Out, "It runs as its rule says") {
			t.Errorf("%s: shown\n%s", word, got.Out)
		}
	}
	want("no worker runs", "no live worker serves queue mail: start one")
	listed("no worker")

	worker := chime.NewWorker(s.store, chime.WorkerOptions{Queues: map[string]int{"mail": 1}, Logger: quiet})
	worker.Handle("other", func(context.Context, *chime.Job) error { return nil })
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- chime.Run(ctx, worker) }()
	for {
		if page, err := chime.NewJobs(s.store).Page(t.Context(), chime.JobFilter{Queue: "mail", State: chime.JobParked}); err != nil {
			t.Fatal(err)
		} else if len(page.Jobs) > 0 {
			break
		}
	}
	want("a worker without its handler", "no worker there can run bill: start a worker that has a handler for it")
	listed("parked")
	if got := s.Run(t, "schedules", "show", "invoices"); !strings.Contains(got.Out, "⚠ Waits    jobs are parked on queue mail") {
		t.Errorf("%+v", got)
	}
	stop()
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}

	if got := s.Run(t, "queues", "pause", "mail", "--note", "printer\x1b[2J down"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	want("a pause", `queue mail is paused, because of "printer\x1b[2J down": chime queues resume mail`, "no live worker", "no worker there can run bill")
	listed("queue paused")
	if err := schedules.Pause(t.Context(), "invoices"); err != nil {
		t.Fatal(err)
	}
	if all := hindered(); len(all) > 0 {
		t.Errorf("a paused schedule waits for %q, want nothing: its state says it", all)
	}
}
