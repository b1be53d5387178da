package dashboard

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// busy runs a worker and a scheduler until the test ends, for a schedule that runs well, one that fails and one that is paused.
func busy(t *testing.T, store chime.Store) *chime.Worker {
	schedules := chime.NewSchedules(store)
	for name, rule := range map[string]string{"report": "*/5 * * * *", "invoices": "*/20 * * * *", "cleanup": "0 2 * * *"} {
		must(schedules.Put(t.Context(), name, must(recurrence.Cron(rule)), chime.Queue("mail"), chime.MaxAttempts(1)))
	}
	if err := schedules.Pause(t.Context(), "cleanup"); err != nil {
		t.Fatal(err)
	}
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 3, "media": 1}, Concurrency: 4})
	worker.Handle("report", func(context.Context, *chime.Job) error { return nil })
	worker.Handle("invoices", func(context.Context, *chime.Job) error { return errors.New("connection refused by 10.0.0.7") })
	worker.Handle("resize", func(ctx context.Context, _ *chime.Job) error {
		<-ctx.Done()
		return ctx.Err()
	})
	return worker
}

// during runs roles while something is looked at.
func during(t *testing.T, do func(), roles ...chime.Role) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, roles...) }()
	do()
	stop()
	<-ended
}

func TestTheOverviewOfAnEmptyStoreSaysHowToBegin(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{})
		wants(t, "the overview", send(d, "GET", "/"), 200, "<h1>Overview</h1>", "Nothing is here yet.", "chime schedules put report", "no samples")
		wants(t, "the queues", send(d, "GET", "/queues"), 200, "There is no queue", "chime jobs enqueue resize")
		wants(t, "the workers", send(d, "GET", "/workers"), 200, "chime.NewWorker(store")
	})
}

func TestTheOverviewSaysTheWorstFirst(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := busy(t, store)
		d := newDashboard(t, store, Options{})
		during(t, func() {
			time.Sleep(31 * time.Minute) // fake time passes
			got := send(d, "GET", "/")
			wants(t, "the overview", got, 200,
				"1 of 3 schedules is failing: invoices.", "2 attempts failed in the last hour, most of them of invoices.",
				`href="./schedules?state=failing"`, `href="./schedules/report"`, "connection refused by #", "Every 5 minutes",
				`aria-current="true">1 h`, "Jobs a minute: in last", "/min", "Show as table")
			if page := got.Body.String(); strings.Index(page, "is failing") > strings.Index(page, "failed in the last hour") || got.Body.Len() > 100<<10 {
				t.Errorf("the worst does not come first, or the page has %d bytes, which is too much", got.Body.Len())
			}
			for _, window := range []string{"15m", "25h", "92d"} {
				wants(t, window, send(d, "GET", "/?window="+window), 200, "<h1>Overview</h1>")
			}
			wants(t, "a window that is none", send(d, "GET", "/?window=1y"), 400, "window is &#34;1y&#34;, want one of")
			if err := chime.NewSchedules(store).Delete(t.Context(), "invoices"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour + time.Minute) // fake time passes
			wants(t, "an hour later", send(d, "GET", "/"), 200, "All well: 1 schedule on time, 1 paused.", "No attempt has failed.")
		}, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
		time.Sleep(20 * time.Minute) // fake time passes
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "resize", nil, chime.Queue("media")))
		time.Sleep(time.Minute) // fake time passes
		wants(t, "when all have stopped", send(d, "GET", "/"), 200, "No scheduler leads: nobody plans what comes next.", "No worker lives, and 1 job waits.")
	})
}

func TestAQueueHasAPageThatSaysHowItGoes(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		enqueuer, queues := chime.NewEnqueuer(store, chime.EnqueuerOptions{}), chime.NewQueues(store)
		worker := busy(t, store)
		d := newDashboard(t, store, Options{Write: true, Authorize: as(View | Operate)})
		during(t, func() {
			for range 30 {
				must(enqueuer.Enqueue(t.Context(), "resize", nil, chime.Queue("media")))
			}
			if err := queues.Limit(t.Context(), "mail", chime.Limit{Running: 2, Starts: 100, Per: time.Minute}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(25 * time.Minute) // fake time passes
			wants(t, "mail", send(d, "GET", "/queues/mail"), 200, "<h1>mail</h1>", "2 at once, 100 starts in 1m0s", "Run p95", ">invoices</a>", ">report</a>",
				`action="./queues/mail/pause"`, `href="./schedules?queue=mail">3</a>`)
			wants(t, "media", send(d, "GET", "/queues/media"), 200, "Neither grows nor shrinks.", "waits since")
			if text := send(d, "GET", "/queues/mail").Body.String(); strings.Contains(text, "purge") || strings.Contains(text, "/limit") {
				t.Error("an operator has buttons for what they may not do")
			}
			if err := queues.Pause(t.Context(), "media", chime.Note{By: "anna", Text: "migration"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second) // fake time passes
			wants(t, "paused", send(d, "GET", "/queues/media"), 200, "it was paused by anna, because of &#34;migration&#34;.", `action="./queues/media/resume"`)
			wants(t, "the list", send(d, "GET", "/queues?sort=waiting&limit=1"), 200, `href="./queues/media"`, "1 to 1 of 2", `aria-sort="descending"`)
			wants(t, "the rest of it", send(d, "GET", "/queues?sort=waiting&limit=1&from=1"), 200, `href="./queues/mail"`, "2 to 2 of 2")
			wants(t, "some", send(d, "GET", "/queues?q=zzz"), 200, "No queue has zzz in its name.")
			wants(t, "none", send(d, "GET", "/queues/nothing"), 404, "There is no queue &#34;nothing&#34;")
			wants(t, "a sort that is none", send(d, "GET", "/queues?sort=size"), 400, "sort is")
		}, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
	})
}

func TestAWorkerHasAPageUntilItHasGone(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := busy(t, store)
		d := newDashboard(t, store, Options{})
		var name string
		during(t, func() {
			must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "resize", nil, chime.Queue("media"), chime.ID("photo/1")))
			time.Sleep(5 * time.Minute) // fake time passes
			name = must(d.site.Read(t.Context())).Workers[0].Name
			wants(t, "the worker", send(d, "GET", "/workers/"+name), 200, "It runs jobs, and has slots free.", "1 of 4 busy", "weight 3",
				`href="./jobs/media/photo%2F1"`, "Last sign of life", name)
			wants(t, "the list", send(d, "GET", "/workers"), 200, `href="./workers/`+name+`"`, "1 / 4")
		}, worker)
		time.Sleep(3 * time.Second) // fake time passes
		wants(t, "gone", send(d, "GET", "/workers/"+name), 404, "The worker &#34;"+name+"&#34; has gone", "heard of it for 12 minutes")
	})
}

func TestErrorsAreShownAsTheApplicationWantsIt(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := busy(t, store)
		d := newDashboard(t, store, Options{RedactError: func(_ *chime.JobInfo, text string) string { return strings.ReplaceAll(text, "refused by", "…") }})
		during(t, func() {
			time.Sleep(21 * time.Minute) // fake time passes
			got := send(d, "GET", "/")
			wants(t, "the overview", got, 200, "connection … #")
			if strings.Contains(got.Body.String(), "refused by") {
				t.Error("it shows what the application hides")
			}
		}, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
	})
}

func TestAPageShowsWhatAnActionHasDoneAtOnce(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "resize", nil, chime.Queue("media")))
		d := newDashboard(t, store, Options{Write: true, Authorize: as(allRights)})
		wants(t, "before", send(d, "GET", "/queues/media"), 200, "media/pause", "media/limit", "media/purge", "media/delete")
		wants(t, "the action", post(d, "/queues/media/pause", "sure", "1", "note", "migration"), 303)
		wants(t, "after", send(d, "GET", "/queues/media"), 200, "it was paused by anna, because of &#34;migration&#34;.", "media/resume")
	})
}

func TestAQueueSaysWhenItWillBeEmpty(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := chime.NewWorker(store, chime.WorkerOptions{Concurrency: 1})
		worker.Handle("slow", func(context.Context, *chime.Job) error {
			time.Sleep(6 * time.Second) // fake time passes: ten a minute
			return nil
		})
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		for range 73 {
			must(enqueuer.Enqueue(t.Context(), "slow", nil))
		}
		d := newDashboard(t, store, Options{})
		during(t, func() {
			time.Sleep(10 * time.Second) // fake time passes
			for range 30 {
				must(source{d}.Beat(t.Context()))
				time.Sleep(2 * time.Second) // fake time passes
			}
			wants(t, "it is worked off", send(d, "GET", "/queues/default"), 200, "Empty in about 6 min, if it goes on so.")
			for range 30 {
				for range 2 {
					must(enqueuer.Enqueue(t.Context(), "slow", nil))
				}
				must(source{d}.Beat(t.Context()))
				time.Sleep(2 * time.Second) // fake time passes
			}
			wants(t, "more comes than goes", send(d, "GET", "/queues/default"), 200, "Grows by about 4")
			time.Sleep(20 * time.Minute) // fake time passes
			wants(t, "it is done", send(d, "GET", "/queues/default"), 200, "none waits")
		}, worker)
	})
}
