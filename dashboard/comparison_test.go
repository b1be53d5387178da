package dashboard

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// Arguments are compared, and jobs are found by them, only for a viewer with the right to see them. What Options.Redact removes is not found, and a
// comparison is audited and leaves out jobs that Options.Check does not allow.
func TestArgumentsAreComparedAndFoundOnlyWithTheRight(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		for i := range 4 {
			args := map[string]any{"region": "eu-west", "customer": 4711 + i, "token": "canary"}
			_ = must(enqueuer.Enqueue(t.Context(), "send", args, chime.Queue("mail"), chime.MaxAttempts(1), chime.ID(fmt.Sprint("j", i))))
		}
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 1}})
		worker.Handle("send", func(_ context.Context, job *chime.Job) error { return fmt.Errorf("mailbox %s is full", job.ID) })
		during(t, func() { time.Sleep(time.Second) }, worker) // fake time passes
		var seen []Action
		options := Options{
			Authorize: as(View | Reveal), Audit: func(_ context.Context, a Action) { seen = append(seen, a) }, Write: true,
			Redact: func(_ *chime.JobInfo, payload any) any {
				delete(payload.(map[string]any), "token")
				return payload
			},
			Check: func(_ context.Context, _ Viewer, _ Action, names []string) error {
				if len(names) == 1 && names[0] == "j3" {
					return &Refusal{Text: "not this one"}
				}
				return nil
			},
		}
		d := newDashboard(t, store, options)
		common := []string{"error", "mailbox j# is full"}
		got := post(d, "/failures/send/reveal", common...)
		wants(t, "a comparison", got, 200, "region", "&#34;eu-west&#34;", "Different", "customer", "The newest 3 jobs", "without 1 that you may not see")
		lacks(t, "a comparison", got, "canary", "4711")
		if len(seen) != 1 || seen[0].Act != "reveal payload" || seen[0].Count != 3 {
			t.Errorf("the audit has %+v, want one comparison of 3 jobs", seen)
		}
		find := func(filter string) string {
			return "/jobs?state=dead&q=" + url.QueryEscape(filter)
		}
		wants(t, "by an argument", send(d, "GET", find("arg:customer=4712")), 200, ">j1<")
		lacks(t, "by a removed one", send(d, "GET", find("arg:canary")), ">j1<")
		options.Authorize = as(View | Operate | Edit | Delete)
		other := newDashboard(t, store, options)
		wants(t, "a comparison without the right", post(other, "/failures/send/reveal", common...), 403, "This needs the right to reveal")
		without := send(other, "GET", find("arg:customer=4712"))
		wants(t, "by an argument without the right", without, 200, "you may not see them")
		lacks(t, "by an argument without the right", without, ">j1<")
		wants(t, "a change without the right", post(other, "/jobs/bulk", "verb", "requeue", "all", "1", "filter", "state:dead arg:customer=4712"), 400, "you may not see them")
	})
}
