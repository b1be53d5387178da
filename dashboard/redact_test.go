package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// withoutMailboxes hides the name of the mailbox that is full.
func withoutMailboxes(_ *chime.JobInfo, text string) string {
	first, _, _ := strings.Cut(text, " mail-")
	return first + " [hidden]"
}

// A change of all jobs that match a filter does not reveal which errors contain a hidden text.
func TestNoFormRevealsTheHiddenPartOfAnError(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		var lines strings.Builder
		var audit auditor
		d := newDashboard(t, store, Options{
			Write: true, Authorize: as(View | Operate | Delete), RedactError: withoutMailboxes, Logger: slog.New(slog.NewTextHandler(&lines, nil)),
			Audit: audit.add,
		})
		deadJobs(t, store, 12)
		for _, c := range []struct{ path, verb, filter, id string }{
			{"/jobs/bulk", "requeue", "error:full", ""}, {"/jobs/bulk", "requeue", "state:dead queue:mail error:full", ""}, {"/jobs/bulk", "delete", "mail-1 error:full", ""},
			{"/failures/bulk", "requeue", "error:full", "send\tmailbox [hidden]"}, {"/failures/bulk", "delete", "", "send\tmailbox mail-# is full"},
		} {
			got := post(d, c.path, "verb", c.verb, "all", "1", "filter", c.filter, "id", c.id)
			if got.Code != 303 {
				t.Errorf("%+v: got %d, want 303: a hidden text matched something:\n%s", c, got.Code, got.Body)
				continue
			}
			if page := follow(t, d, c.path, got.Header().Get("Location")); !strings.Contains(page, "Nothing was changed: no job is ticked, or no job matches any more.") || audit.last().Count != 0 {
				t.Errorf("%+v: a hidden text matched %d jobs:\n%s", c, audit.last().Count, page)
			}
		}
		shown := []string{"verb", "requeue", "all", "1", "filter", `state:dead error:"mailbox [hidden]"`}
		wants(t, "what is shown", post(d, "/jobs/bulk", shown...), 200, "Requeue 12 jobs?")
		wants(t, "a group", post(d, "/failures/bulk", "verb", "requeue", "id", "send\tmailbox [hidden]", "filter", "error:hidden"), 200, "Requeue 12 jobs?")
		lacks(t, "the question", post(d, "/jobs/bulk", shown...), "is full")
		wants(t, "what is shown, done", post(d, "/jobs/bulk", append(shown, "sure", "1")...), 303)
		if done := audit.last(); done.Count != 12 || strings.Contains(lines.String()+done.Target, "is full") {
			t.Errorf("the audit has %+v, the log\n%s", done, &lines)
		}
	})
}

// Jobs whose different errors are hidden form one row of the overview, so the number of different errors is hidden too.
func TestErrorsThatLookTheSameAreOneRow(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: quiet})
		worker.Handle("send", func(_ context.Context, job *chime.Job) error { return errors.New("mailbox is full: " + job.ID) })
		for _, id := range []string{"anna", "bert", "carl"} {
			must(chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet}).Enqueue(t.Context(), "send", nil, chime.ID(id), chime.MaxAttempts(1)))
		}
		d := newDashboard(t, store, Options{RedactError: func(*chime.JobInfo, string) string { return "a mailbox" }})
		during(t, func() {
			time.Sleep(time.Minute) // fake time passes
			got := send(d, "GET", "/")
			wants(t, "the overview", got, 200, `<td class="num" data-n="failed send a mailbox">3</td>`)
			if n := strings.Count(got.Body.String(), `<td class="error">a mailbox</td>`); n != 1 {
				t.Errorf("there are %d rows of it, want 1:\n%s", n, got.Body)
			}
		}, worker)
	})
}

// The hook decides about notes and headers too, on every page that shows them.
func TestNotesAndHeadersAreRedacted(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		put(t, store, "report", "*/15 * * * *", chime.Header("mailbox", "canary"), chime.Keep(time.Hour))
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet}).Enqueue(t.Context(), "report", nil, chime.ID("kept"), chime.Header("mailbox", "canary"), chime.Keep(time.Hour)))
		work(t, store, 16*time.Minute, func(_ context.Context, job *chime.Job) error { job.Note("sent to canary"); return nil })
		d := newDashboard(t, store, Options{RedactError: func(_ *chime.JobInfo, text string) string { return strings.ReplaceAll(text, "canary", "[hidden]") }})
		pages := []string{"/schedules/report", "/schedules/report?day=2000-01-01", "/jobs/default/kept", "/jobs?state=all"}
		for run, err := range chime.NewSchedules(store).Runs(t.Context(), "report") {
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, "/"+render.Path("jobs", run.Queue, run.ID))
		}
		for _, page := range pages {
			got := send(d, "GET", page)
			wants(t, page, got, 200)
			lacks(t, page, got, "canary")
			if page != "/jobs?state=all" {
				wants(t, page, got, 200, "sent to [hidden]", "[hidden]<")
			}
		}
		if len(pages) < 5 {
			t.Errorf("only %q have notes", pages)
		}
	})
}

// slipOfCanary panics.
func slipOfCanary() { panic("a slip") }

// A stack contains names of functions and of files: it is redacted as errors are. Pages that anybody may see do not show it.
func TestAStackGoesThroughRedactError(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet}).Enqueue(t.Context(), "report", nil, chime.ID("slip"), chime.MaxAttempts(1)))
		work(t, store, time.Minute, func(context.Context, *chime.Job) error { slipOfCanary(); return nil })
		wants(t, "the job", send(newDashboard(t, store, Options{}), "GET", "/jobs/default/slip"), 200, "<summary>Stack</summary>", "slipOfCanary(", "panic: a slip")
		d := newDashboard(t, store, Options{RedactError: func(_ *chime.JobInfo, text string) string { return strings.ReplaceAll(text, "Canary", "[hidden]") }})
		got := send(d, "GET", "/jobs/default/slip")
		wants(t, "the job", got, 200, "slipOf[hidden](")
		lacks(t, "the job", got, "slipOfCanary")
		bare := New(store, Options{Logger: quiet})
		defer bare.Close()
		got = send(bare, "GET", "/jobs/default/slip")
		wants(t, "the bare job", got, 200, "not shown without Options.Authorize")
		lacks(t, "the bare job", got, "slipOf", "<summary>Stack")
	})
}

// The page of a queue shows what healed attempts had in common. A shape is not the text that RedactError knows, so it is not shown with RedactError, and
// not on pages that anybody may see.
func TestAShapeIsHiddenByRedactError(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet}).Enqueue(t.Context(), "report", nil, chime.ID("healed"), chime.Retry(chime.Fixed(time.Second))))
		work(t, store, time.Minute, func(_ context.Context, job *chime.Job) error {
			if job.Attempt < 3 {
				return errors.New("mailbox 42 of canary is full\n\tat smtp.go:12")
			}
			return nil
		})
		wants(t, "the queue", send(newDashboard(t, store, Options{}), "GET", "/queues/default"), 200, "<h2>Errors</h2>", `<td class="num" data-label="Failed">2</td>`, `title="mailbox # of canary is full">mailbox # of canary is full</span></td>`)
		bare := New(store, Options{Logger: quiet, RedactError: func(_ *chime.JobInfo, text string) string { return text }})
		defer bare.Close()
		for what, d := range map[string]*Dashboard{
			"with RedactError": newDashboard(t, store, Options{RedactError: func(*chime.JobInfo, string) string { return "hidden" }}), "for anybody": bare,
		} {
			got := send(d, "GET", "/queues/default")
			wants(t, what, got, 200, "<h2>Errors</h2>", `<td class="num" data-label="Failed">2</td>`, `title="not shown">not shown</span></td>`)
			lacks(t, what, got, "canary")
		}
	})
}
