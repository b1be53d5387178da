package dashboard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// busy runs a worker and a scheduler until the test ends. One schedule succeeds, one fails and one is paused.
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

// during runs roles while it calls a function.
func during(t *testing.T, do func(), roles ...chime.Role) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, roles...) }()
	do()
	stop()
	<-ended
}

func TestTheOverviewOfAnEmptyStoreShowsHowToBegin(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{})
		wants(t, "the overview", send(d, "GET", "/"), 200, "<h1>Overview</h1>", "There are no jobs and no schedules yet.", "chime schedules put report", "no samples")
		wants(t, "the queues", send(d, "GET", "/queues"), 200, "There are no queues", "chime jobs enqueue resize")
		wants(t, "the workers", send(d, "GET", "/workers"), 200, "chime.NewWorker(store")
	})
}

func TestTheOverviewShowsTheWorstFirst(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := busy(t, store)
		d := newDashboard(t, store, Options{})
		during(t, func() {
			time.Sleep(31 * time.Minute) // fake time passes
			got := send(d, "GET", "/")
			wants(t, "the overview", got, 200,
				"1 of 3 schedules is failing: invoices.", "2 attempts of job invoices failed in the last hour.",
				`href="./schedules?state=failing"`, `href="./schedules/report"`, "connection refused by #", "Every 5 minutes",
				`aria-current="true">1h`, "Jobs a minute: in last", "/min", "Show as table")
			if page := got.Body.String(); strings.Index(page, "is failing") > strings.Index(page, "failed in the last hour") || got.Body.Len() > 100<<10 {
				t.Errorf("the worst does not come first, or the page has %d bytes, which is too much", got.Body.Len())
			}
			for _, window := range []string{"15m", "25h", "92d"} {
				wants(t, window, send(d, "GET", "/?window="+window), 200, "<h1>Overview</h1>")
			}
			wants(t, "an invalid window", send(d, "GET", "/?window=1y"), 400, "window is &#34;1y&#34;, want one of")
			if err := chime.NewSchedules(store).Delete(t.Context(), "invoices"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour + time.Minute) // fake time passes
			wants(t, "an hour later", send(d, "GET", "/"), 200, "All well: 1 schedule on time, 1 paused.", "No attempt has failed.")
		}, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
		time.Sleep(20 * time.Minute) // fake time passes
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "resize", nil, chime.Queue("media")))
		time.Sleep(time.Minute) // fake time passes
		wants(t, "when all have stopped", send(d, "GET", "/"), 200, "No scheduler is the leader, so occurrences may start minutes late.", "There is no live worker, and 1 job waits.")
	})
}

func TestAQueueHasAPageThatShowsItsState(t *testing.T) {
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
			wants(t, "mail", send(d, "GET", "/queues/mail"), 200, "<h1>mail</h1>", "2 at once, 100 starts in 1m", "Jobs by name, last hour", ">invoices</a>", ">report</a>",
				`action="./queues/mail/pause"`, `href="./schedules?queue=mail">3</a>`)
			wants(t, "media", send(d, "GET", "/queues/media"), 200, "Its length does not change.", `<span class="ink-late"><time datetime="2000-01-01T00:00:00Z" data-show="rel" data-for="" title="2000-01-01 00:00:00 UTC">25m</time></span>, the oldest`,
				`href="./jobs?q=queue%3Amedia&amp;state=waiting">26</a>`, `<dt>Dead</dt><dd data-n="dead media">0</dd>`)
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
			wants(t, "an invalid sort", send(d, "GET", "/queues?sort=size"), 400, "sort is")
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
			wants(t, "the worker", send(d, "GET", "/workers/"+name), 200, "It runs jobs and has free slots.", "1 of 4 busy", "weight 3",
				`href="./jobs/media/photo%2F1"`, "Last heartbeat", name)
			wants(t, "the list", send(d, "GET", "/workers"), 200, `href="./workers/`+name+`"`, "1 / 4")
		}, worker)
		time.Sleep(3 * time.Second) // fake time passes
		wants(t, "gone", send(d, "GET", "/workers/"+name), 404, "The worker &#34;"+name+"&#34; is gone", "or it has vanished")
	})
}

// The jobs of a call of HandleMany share a slot, so a worker with many running jobs may have free slots.
func TestJobsOfOneCallShareASlot(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: quiet, Concurrency: 10, DrainTimeout: time.Millisecond})
		worker.HandleMany("index", chime.Many{Size: 100, Wait: time.Second}, func(ctx context.Context, _ []*chime.Job) error { <-ctx.Done(); return ctx.Err() })
		d := newDashboard(t, store, Options{})
		during(t, func() {
			must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).EnqueueMany(t.Context(), slices.Repeat([]chime.Item{{Name: "index"}}, 100)))
			time.Sleep(time.Minute) // fake time passes
			name := must(d.site.Read(t.Context())).Workers[0].Name
			got := send(d, "GET", "/workers/"+name)
			wants(t, "the worker", got, 200, "100 jobs run in at most 10 of 10 slots", "A handler that gets several jobs at once uses one slot for all of them.")
			lacks(t, "the worker", got, "10 of 10 busy", "All its slots are busy")
			wants(t, "the list", send(d, "GET", "/workers"), 200, "at most 10 of 10 slots busy", `title="Several jobs may share a slot">≤10 / 10`)
			wants(t, "the queue", send(d, "GET", "/queues/default"), 200, "≤10 / 10")
		}, worker)
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

func TestAQueueShowsWhenItWillBeEmpty(t *testing.T) {
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
			wants(t, "it is worked off", send(d, "GET", "/queues/default"), 200, "Empty in about 6m, at the current rate.")
			for range 30 {
				for range 2 {
					must(enqueuer.Enqueue(t.Context(), "slow", nil))
				}
				must(source{d}.Beat(t.Context()))
				time.Sleep(2 * time.Second) // fake time passes
			}
			wants(t, "more comes than goes", send(d, "GET", "/queues/default"), 200, "Grows by about 4")
			time.Sleep(20 * time.Minute) // fake time passes
			wants(t, "it is done", send(d, "GET", "/queues/default"), 200, "<dt>Waits</dt><dd>nothing</dd>")
		}, worker)
	})
}

func TestTheListOfQueuesLeadsToTheirJobsAndPausesThem(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		for range 3 {
			must(enqueuer.Enqueue(t.Context(), "resize", nil, chime.Queue("media")))
		}
		time.Sleep(6 * time.Minute) // fake time passes
		d := newDashboard(t, store, Options{Write: true, Authorize: as(View | Operate)})
		wants(t, "the list", send(d, "GET", "/queues?sort=oldest"), 200, `<a href="./jobs?q=queue%3Amedia&amp;state=waiting">3</a>`, `class="num ink-late"><time`, `>6m</time>`,
			`action="./queues/media/pause" data-ask><input type="hidden" name="list" value="sort=oldest">`, `data-key="p"`, `aria-label="Pause media"`, `<td data-label="Dead" class="num none low" data-n="dead media">0</td>`)
		wants(t, "its question", post(d, "/queues/media/pause", "list", "sort=oldest"), 200, "Pause queue media?", `name="list" value="sort=oldest"`, `href="./queues?sort=oldest" data-do="cancel"`)
		got := post(d, "/queues/media/pause", "list", "sort=oldest", "sure", "1")
		wants(t, "the pause", got, 303)
		if to := got.Header().Get("Location"); !strings.HasPrefix(to, "../.././queues?said=") || !strings.HasSuffix(to, "&sort=oldest") {
			t.Errorf("it redirects to %s, want the list", to)
		}
		wants(t, "a paused one", send(d, "GET", "/queues"), 200, `action="./queues/media/resume"><input`, `aria-label="Resume media"`)
		if to := post(d, "/queues/media/resume", "list", "").Header().Get("Location"); !strings.HasPrefix(to, "../.././queues?said=") {
			t.Errorf("resuming redirects to %s, want the list", to)
		}
		if to := post(d, "/queues/media/resume").Header().Get("Location"); !strings.HasPrefix(to, "../.././queues/media?said=") {
			t.Errorf("resuming from its own page redirects to %s, want that page", to)
		}
		seen := newDashboard(t, store, Options{Write: true, Authorize: as(View)})
		for _, path := range []string{"/queues", "/queues/media"} {
			if page := send(seen, "GET", path).Body.String(); strings.Contains(page, `method="post"`) || strings.Contains(page, "menu-more") {
				t.Errorf("%s has forms for a viewer without rights to change", path)
			}
		}
		all := newDashboard(t, store, Options{Write: true, Authorize: as(allRights)})
		wants(t, "all rights", send(all, "GET", "/queues/media"), 200, `<details class="menu-more" id="more">`, `action="./queues/media/purge" data-ask`, `action="./queues/media/delete" data-ask`,
			`none · <form method="post" action="./queues/media/limit" data-ask><button class="text">Change…</button></form>`, `<button data-key="p">`)
	})
}

func TestAQueueShowsItsJobsByNameInTheWindowOfItsCharts(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 1}, Concurrency: 2})
		worker.Handle("send", func(context.Context, *chime.Job) error { return nil })
		worker.Handle("report", func(context.Context, *chime.Job) error {
			time.Sleep(4 * time.Second) // fake time passes
			return errors.New("no")
		})
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		enqueue := func(name string, n int) {
			for range n {
				must(enqueuer.Enqueue(t.Context(), name, nil, chime.Queue("mail"), chime.MaxAttempts(1)))
			}
		}
		d := newDashboard(t, store, Options{})
		during(t, func() {
			enqueue("send", 1)
			time.Sleep(5 * time.Second) // fake time passes
			wants(t, "at first", send(d, "GET", "/queues/mail"), 200, "The first figures appear within a minute.")
			time.Sleep(5 * time.Minute) // fake time passes
			enqueue("send", 20)
			time.Sleep(90 * time.Minute) // fake time passes
			wants(t, "an hour later", send(d, "GET", "/queues/mail"), 200, "The samples of the last hour have no ended job of this queue.")
			enqueue("report", 3)
			enqueue("send", 5)
			time.Sleep(3 * time.Minute) // fake time passes
			first := func(path, first, second string, wanted ...string) {
				t.Helper()
				got := send(d, "GET", path)
				wants(t, path, got, 200, wanted...)
				if page := got.Body.String(); strings.Index(page, first) > strings.Index(page, second) {
					t.Errorf("%s has %s after %s", path, first, second)
				}
			}
			first("/queues/mail", ">report</a>", ">send</a>", "Jobs by name, last hour", `aria-sort="descending"><a href="./queues/mail?by=time">In all, about`, "Failed attempts of report: ",
				"Durations of attempts of report, in 16 steps from 1ms to above 5m: half took at most", "the longest at most 5s.", `<td class="num">11s</td>`)
			first("/queues/mail?by=runs&window=15m", ">send</a>", ">report</a>", "Jobs by name, last 15 minutes", `<td class="num" data-n="done mail send">5</td>`)
			first("/queues/mail?by=failed&window=25h", ">report</a>", ">send</a>", "Jobs by name, last 25 hours", `data-n="done mail send">26</td>`)
			wants(t, "a season", send(d, "GET", "/queues/mail?window=92d"), 200, "Jobs by name, last 92 days", `data-n="done mail send">26</td>`)
			wants(t, "an invalid order", send(d, "GET", "/queues/mail?by=size"), 400, "by is")
		}, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
	})
}

func TestTheListOfWorkersShowsTheLeaderAndTheLongestJobs(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := busy(t, store)
		d := newDashboard(t, store, Options{})
		during(t, func() {
			must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "resize", nil, chime.Queue("media"), chime.ID("photo/1")))
			time.Sleep(3 * time.Minute) // fake time passes
			got := send(d, "GET", "/workers")
			wants(t, "the list", got, 200, `<a href="./jobs?state=running">1 of 4 slots busy (25 %)</a>`, ">leads</span>", "Longest running jobs", `<a href="./jobs/media/photo%2F1">resize</a>`, ">3m</time>")
			if page := got.Body.String(); strings.Contains(page, ">Version<") || strings.Contains(page, ">Seen<") || strings.Contains(page, "seen ") {
				t.Error("it shows a version although all workers have the same, or the last heartbeat of a healthy worker")
			}
			wants(t, "the worker", send(d, "GET", "/workers/"+must(d.site.Read(t.Context())).Workers[0].Name), 200, "The scheduler of its process leads.", "Version")
		}, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
	})
}

// A queue that no worker serves is named before its first job is due.
func TestAnUnservedQueueIsNamed(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		put(t, store, "monthly", "0 18 31 * *", chime.Queue("nobody"))
		d := newDashboard(t, store, Options{})
		during(t, func() {
			time.Sleep(time.Minute) // fake time passes
			for _, path := range []string{"/", "/jobs"} {
				wants(t, path, send(d, "GET", path), 200, "Delayed jobs or schedules are on queue nobody, but no live worker serves it.")
			}
			wants(t, "its page", send(d, "GET", "/queues/nobody"), 200, "no worker")
		}, chime.NewWorker(store, chime.WorkerOptions{Logger: quiet}))
	})
}
