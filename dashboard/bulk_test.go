package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/change"
)

// deadJobs leaves n dead jobs on queue mail, named mail-0, mail-1, ….
func deadJobs(t *testing.T, store chime.Store, n int) {
	t.Helper()
	var items []chime.Item
	for i := range n {
		items = append(items, chime.Item{Name: "send", Options: []chime.EnqueueOption{chime.Queue("mail"), chime.MaxAttempts(1), chime.ID(fmt.Sprintf("mail-%d", i))}})
	}
	if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).EnqueueMany(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 1}, Concurrency: 50})
	worker.Handle("send", func(_ context.Context, job *chime.Job) error { return fmt.Errorf("mailbox %s is full", job.ID) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := chime.Run(ctx, worker); err != nil {
		t.Fatal(err)
	}
}

func mail(t *testing.T, store chime.Store) *chime.QueueInfo {
	t.Helper()
	q, err := chime.NewQueues(store).Get(t.Context(), "mail")
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// follow returns the page to which a response redirects, after all operations have ended.
func follow(t *testing.T, d *Dashboard, from string, header string) string {
	t.Helper()
	synctest.Wait()
	at, err := url.Parse("http://localhost" + from)
	if err == nil {
		at, err = at.Parse(header)
	}
	if err != nil {
		t.Fatal(err)
	}
	return send(d, "GET", at.RequestURI()).Body.String()
}

func TestTickedJobsAreChanged(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		var audit auditor
		d := newDashboard(t, store, Options{Write: true, Audit: audit.add})
		deadJobs(t, store, 8)
		ticked := []string{"verb", "requeue", "list", "state=dead&q=mail", "id", "mail/mail-0", "id", "mail/mail-1", "id", "mail/gone"}
		wants(t, "the question", post(d, "/jobs/bulk", ticked...), 200, "Requeue 3 jobs?", "mail-0 of queue mail", `name="id" value="mail/mail-1"`)
		if q := mail(t, store); q.Dead != 8 || len(audit.all()) > 0 {
			t.Fatalf("the confirmation already changed something: %+v, %v", q, audit.all())
		}
		got := post(d, "/jobs/bulk", append(ticked, "sure", "1")...)
		wants(t, "requeue", got, 303)
		if target := audit.last().Target; target != "mail/mail-0, mail/mail-1, mail/gone" {
			t.Errorf("the audit has %q, want what was ticked", target)
		}
		if page := follow(t, d, "/jobs/bulk", got.Header().Get("Location")); !strings.Contains(page, "2 requeued, 1 gone or changed") || !strings.Contains(page, "It is done.") ||
			!strings.Contains(page, `href="./jobs?q=mail&amp;state=dead">Back to the list`) {
			t.Errorf("the page of the operation:\n%s", page)
		}
		if q := mail(t, store); q.Dead != 6 || q.Waiting != 2 {
			t.Errorf("%d dead, %d waiting; want 6 and 2", q.Dead, q.Waiting)
		}

		ticked = []string{"verb", "delete", "id", "mail/mail-2", "id", "mail/mail-3", "sure", "1"}
		wants(t, "without the number", post(d, "/jobs/bulk", ticked...), 200, "Type the number 2", "is not the current number", "This cannot be undone")
		wants(t, "the wrong number", post(d, "/jobs/bulk", append(ticked, "number", "3")...), 200, "Type the number 2")
		wants(t, "delete", post(d, "/jobs/bulk", append(ticked, "number", "2")...), 303)
		synctest.Wait()
		wants(t, "cancel", post(d, "/jobs/bulk", "verb", "cancel", "id", "mail/mail-0", "id", "mail/mail-4", "sure", "1", "number", "2"), 303)
		synctest.Wait()
		if q := mail(t, store); q.Dead != 4 || q.Waiting != 1 {
			t.Errorf("%d dead, %d waiting; want 4 and 1: a dead job cannot be cancelled", q.Dead, q.Waiting)
		}
		var acts []string
		for _, a := range audit.all() {
			acts = append(acts, fmt.Sprint(a.Act, " ", a.Count))
		}
		if fmt.Sprint(acts) != "[requeue jobs 3 requeue jobs 2 delete jobs 2 delete jobs 2 cancel jobs 2 cancel jobs 1]" {
			t.Errorf("audited: %q", acts)
		}
	})
}

func TestAllThatAFilterMeansAreChanged(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true})
		deadJobs(t, store, 1203)
		all := []string{"verb", "requeue", "all", "1", "filter", "state:dead queue:mail"}
		wants(t, "the question", post(d, "/jobs/bulk", all...), 200, "Requeue 1,203 jobs?", "and 1,198 more", "“state:dead queue:mail”")
		got := post(d, "/jobs/bulk", append(all, "sure", "1")...)
		wants(t, "all", got, 303)
		if page := follow(t, d, "/jobs/bulk", got.Header().Get("Location")); !strings.Contains(page, "1,203 requeued") {
			t.Errorf("the page of the operation:\n%s", page)
		}
		if q := mail(t, store); q.Dead != 0 || q.Waiting != 1203 {
			t.Errorf("%d dead, %d waiting; want 0 and 1203", q.Dead, q.Waiting)
		}
		wants(t, "none is left", post(d, "/jobs/bulk", append(all, "sure", "1")...), 303)
		wants(t, "an unknown key", post(d, "/jobs/bulk", "verb", "requeue", "all", "1", "filter", "stat:dead"), 400, "stat")
		wants(t, "no verb", post(d, "/jobs/bulk"), 400, "verb is")
		wants(t, "no ID", post(d, "/jobs/bulk", "verb", "requeue", "id", "mail-7"), 400, "a queue, a slash and the ID of a job")
		var many []string
		for i := range 201 {
			many = append(many, "id", fmt.Sprintf("mail/mail-%d", i))
		}
		wants(t, "too many", post(d, "/jobs/bulk", append(many, "verb", "requeue")...), 400, "201 rows", "at most 200")
	})
}

func TestGroupsOfFailuresAreChanged(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true})
		deadJobs(t, store, 12)
		group := []string{"verb", "requeue", "id", "send\tmailbox mail-# is full"}
		wants(t, "the question", post(d, "/failures/bulk", group...), 200, "Requeue 12 jobs?", "and 7 more")
		wants(t, "of another list", post(d, "/failures/bulk", append(group, "filter", "state:retrying")...), 303)
		wants(t, "another group", post(d, "/failures/bulk", "verb", "requeue", "id", "send\tno such mailbox"), 303)
		wants(t, "requeue", post(d, "/failures/bulk", append(group, "sure", "1")...), 303)
		synctest.Wait()
		if q := mail(t, store); q.Dead != 0 || q.Waiting != 12 {
			t.Errorf("%d dead, %d waiting; want 0 and 12", q.Dead, q.Waiting)
		}
	})
}

func TestTickedSchedulesAreChanged(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true, Authorize: as(allRights)})
		schedules := chime.NewSchedules(store)
		for _, name := range []string{"a/b", "new", "report"} {
			hourly(t, store, name)
		}
		ticked := []string{"id", "a/b", "id", "new", "id", "gone"}
		wants(t, "the question", post(d, "/schedules/bulk", append(ticked, "verb", "pause")...), 200, "Pause 3 schedules?", `name="note"`, "<li>a/b</li>")
		wants(t, "pause", post(d, "/schedules/bulk", append(ticked, "verb", "pause", "sure", "1", "note", "migration")...), 303)
		for name, want := range map[string]chime.ScheduleState{"a/b": chime.StatePaused, "new": chime.StatePaused, "report": chime.StateLive} {
			if s, err := schedules.Get(t.Context(), name); err != nil || s.State != want || (want == chime.StatePaused) != (s.Note.Text == "migration") {
				t.Errorf("%s: got %+v, %v; want %s", name, s, err, want)
			}
		}
		wants(t, "resume", post(d, "/schedules/bulk", append(ticked, "verb", "resume", "sure", "1")...), 303)
		wants(t, "trigger", post(d, "/schedules/bulk", append(ticked, "verb", "trigger", "sure", "1")...), 303)
		wants(t, "delete without the number", post(d, "/schedules/bulk", append(ticked, "verb", "delete", "sure", "1")...), 200, "Type the number 3")
		wants(t, "delete", post(d, "/schedules/bulk", append(ticked, "verb", "delete", "sure", "1", "number", "3")...), 303)
		for name, want := range map[string]error{"a/b": chime.ErrNotFound, "new": chime.ErrNotFound, "report": nil} {
			if _, err := schedules.Get(t.Context(), name); !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", name, err, want)
			}
		}
	})
}

func TestAllSchedulesThatMatchAreChanged(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		var audit auditor
		d := newDashboard(t, store, Options{Write: true, Authorize: as(allRights), Audit: audit.add})
		schedules := chime.NewSchedules(store)
		for i := range 503 { // more than the store returns in one page, and more than a list may have ticked
			put(t, store, fmt.Sprintf("mail-%04d", i), "0 * * * *", chime.Queue("mail"))
		}
		put(t, store, "mail-paused", "0 * * * *", chime.Queue("mail"), chime.Paused(chime.Note{Text: "of before"}))
		put(t, store, "report", "0 * * * *")
		wants(t, "the list", send(d, "GET", "/schedules?queue=mail&prefix=mail-&sort=next&limit=10"), 200, `name="filter" value="prefix=mail-&amp;queue=mail"`, `name="all" value="1"> all `)

		wants(t, "the list says where it is", send(d, "GET", "/schedules?queue=mail&prefix=mail-&sort=next&limit=10&after=x"), 200, `name="list" value="limit=10&amp;prefix=mail-&amp;queue=mail&amp;sort=next"`)

		all := []string{"all", "1", "filter", "prefix=mail-&queue=mail", "list", "prefix=mail-&queue=mail&sort=next", "verb"}
		wants(t, "the question", post(d, "/schedules/bulk", append(all, "pause")...), 200, "Pause 503 schedules?", "These are all schedules of queue mail, whose names begin with “mail-”.",
			"One other is not changed, because it cannot be paused.", "<li>mail-0004</li>", "and 498 more", `name="note"`, `name="all" value="1"`, `href="./schedules?prefix=mail-&amp;queue=mail&amp;sort=next" data-do="cancel" autofocus`,
			`name="list" value="prefix=mail-&amp;queue=mail&amp;sort=next"`)
		wants(t, "a note that is too long", post(d, "/schedules/bulk", append(all, "pause", "sure", "1", "note", strings.Repeat("x", 501))...), 200, "Pause 503 schedules?", `aria-invalid="true"`)
		if audited := audit.all(); len(audited) > 0 {
			t.Fatalf("the confirmation was audited: %v", audited)
		}
		got := post(d, "/schedules/bulk", append(all, "pause", "sure", "1", "note", "migration")...)
		wants(t, "pause", got, 303)
		if page := follow(t, d, "/schedules/bulk", got.Header().Get("Location")); !strings.Contains(page, "503 paused<") || !strings.Contains(page, "It is done.") ||
			!strings.Contains(page, `href="./schedules?prefix=mail-&amp;queue=mail&amp;sort=next">Back to the list`) {
			t.Errorf("the page of the operation:\n%s", page)
		}
		for name, want := range map[string]string{"mail-0000": "migration", "mail-0502": "migration", "mail-paused": "of before", "report": ""} {
			if s := must(schedules.Get(t.Context(), name)); s.Note.Text != want || (s.State == chime.StatePaused) != (want != "") {
				t.Errorf("%s is %s, with the note %q; want %q", name, s.State, s.Note.Text, want)
			}
		}
		wants(t, "nothing is left to pause", post(d, "/schedules/bulk", append(all, "pause")...), 303)
		wants(t, "run now", post(d, "/schedules/bulk", "all", "1", "filter", "state=live", "verb", "trigger"), 200, "Run now 1 schedule?", "These are all schedules that are live.")

		wants(t, "delete without the number", post(d, "/schedules/bulk", append(all, "delete", "sure", "1")...), 200, "Type the number 504", "is not the current number", "This cannot be undone")
		got = post(d, "/schedules/bulk", append(all, "delete", "sure", "1", "number", "504")...)
		if page := follow(t, d, "/schedules/bulk", got.Header().Get("Location")); !strings.Contains(page, "504 deleted<") {
			t.Errorf("the page of the operation:\n%s", page)
		}
		if left := names(t, schedules); left != "report" {
			t.Errorf("%s are left, want report", left)
		}
		wants(t, "an invalid filter", post(d, "/schedules/bulk", "all", "1", "filter", "state=broken", "verb", "delete"), 400, "state is")
		var acts []string
		for _, a := range audit.all() {
			acts = append(acts, fmt.Sprintf("%s %d %s", a.Act, a.Count, a.Target))
		}
		const these = "all of queue mail, whose names begin with “mail-”"
		if want := []string{
			"pause schedules 503 " + these, "pause schedules 503 " + these, "pause schedules 0 " + these, "delete schedules 504 " + these, "delete schedules 504 " + these,
			"delete schedules 0 all ",
		}; !slices.Equal(acts, want) {
			t.Errorf("audited: %q, want %q", acts, want)
		}
	})
}

// Schedules that were deleted during the change are counted, and the change continues.
func TestSchedulesThatHadGoneAreCounted(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		for _, name := range []string{"a", "b", "c", "d"} {
			hourly(t, store, name)
		}
		d := newDashboard(t, store, Options{Write: true, Authorize: as(allRights)})
		d.changer = change.New(store, d.site.Group, d.site.ShownError(), d.site.Arguments, func(ctx context.Context, filter url.Values, most int, concerns func(*chime.Schedule) bool) (change.Selected, error) {
			selected, err := d.selectSchedules(ctx, filter, most, concerns)
			return selected, errors.Join(err, chime.NewSchedules(store).Delete(ctx, "b"), chime.NewSchedules(store).Delete(ctx, "d"))
		})
		t.Cleanup(d.changer.Close)
		got := post(d, "/schedules/bulk", "all", "1", "verb", "pause", "sure", "1")
		wants(t, "pause", got, 303)
		if page := follow(t, d, "/schedules/bulk", got.Header().Get("Location")); !strings.Contains(page, "2 paused, 2 gone<") {
			t.Errorf("the page of the operation:\n%s", page)
		}
	})
}

// names returns the names of all schedules.
func names(t *testing.T, schedules *chime.Schedules) string {
	t.Helper()
	var all []string
	for s, err := range schedules.List(t.Context(), chime.ScheduleFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s.Name)
	}
	return strings.Join(all, " ")
}

func TestAQueueIsSteered(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true, Authorize: as(allRights)})
		deadJobs(t, store, 3)
		wants(t, "the question", post(d, "/queues/mail/pause"), 200, "Pause queue mail?")
		wants(t, "pause", post(d, "/queues/mail/pause", "sure", "1", "note", "mailboxes are full"), 303)
		if q := mail(t, store); !q.Paused || q.Note.Text != "mailboxes are full" || q.Note.By != "anna" {
			t.Errorf("got %+v", q)
		}
		wants(t, "resume", post(d, "/queues/mail/resume"), 303)
		wants(t, "an invalid limit", post(d, "/queues/mail/limit", "sure", "1", "running", "many"), 200, "is not a number")
		wants(t, "an invalid time", post(d, "/queues/mail/limit", "sure", "1", "starts", "5", "per", "soon"), 200, "is not a duration")
		wants(t, "starts without a time", post(d, "/queues/mail/limit", "sure", "1", "starts", "5"), 200, "wrong")
		wants(t, "limit", post(d, "/queues/mail/limit", "sure", "1", "running", "1,000", "starts", "5", "per", "10s"), 303)
		if q := mail(t, store); q.Paused || q.Limit != (chime.Limit{Running: 1000, Starts: 5, Per: 10 * time.Second}) {
			t.Errorf("got %+v", q)
		}
		wants(t, "the limit as it is", post(d, "/queues/mail/limit"), 200, `value="1000"`, `value="10s"`)
		wants(t, "purge without its name", post(d, "/queues/mail/purge", "sure", "1", "name", "male"), 200, "&#34;male&#34; is not its name", "About 3 jobs")
		wants(t, "delete a queue in use", post(d, "/queues/mail/delete", "sure", "1", "name", "mail"), 409)
		wants(t, "purge", post(d, "/queues/mail/purge", "sure", "1", "name", "mail"), 303)
		if q := mail(t, store); q.Dead != 0 {
			t.Errorf("%d dead jobs are left", q.Dead)
		}
		wants(t, "no such queue", post(d, "/queues/gone/pause", "sure", "1"), 404)
	})
}

func TestAJobIsSteered(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true})
		deadJobs(t, store, 3)
		wants(t, "requeue", post(d, "/jobs/mail/mail-0/requeue"), 303)
		wants(t, "cancel asks", post(d, "/jobs/mail/mail-0/cancel"), 200, "Cancel this job?")
		wants(t, "cancel", post(d, "/jobs/mail/mail-0/cancel", "sure", "1"), 303)
		wants(t, "delete asks", post(d, "/jobs/mail/mail-1/delete"), 200, "the job is removed with all its data")
		wants(t, "delete", post(d, "/jobs/mail/mail-1/delete", "sure", "1"), 303)
		if q := mail(t, store); q.Dead != 1 || q.Waiting != 0 {
			t.Errorf("%d dead, %d waiting; want 1 and 0", q.Dead, q.Waiting)
		}
		wants(t, "what is gone", post(d, "/jobs/mail/mail-1/cancel", "sure", "1"), 404)
	})
}

func TestAPurgeCountsWhatItDeletes(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true})
		schedules := chime.NewSchedules(store)
		put(t, store, "live", "0 * * * *", chime.Queue("mail"), chime.NoImmediateRun())
		for _, name := range []string{"paused", "also paused"} {
			put(t, store, name, "0 * * * *", chime.Queue("mail"))
			if err := schedules.Pause(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		put(t, store, "new", "0 * * * *", chime.Queue("mail"), chime.Paused(chime.Note{}))
		wants(t, "none", post(d, "/queues/mail/purge"), 200, "About 0 jobs are deleted: all waiting,")
		enqueue := func() {
			must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "send", nil, chime.Queue("mail")))
		}
		enqueue()
		wants(t, "one", post(d, "/queues/mail/purge"), 200, "About 1 job is deleted: all waiting,")
		enqueue()
		wants(t, "two", post(d, "/queues/mail/purge"), 200, "About 2 jobs are deleted: all waiting,")
		wants(t, "purge", post(d, "/queues/mail/purge", "sure", "1", "name", "mail"), 303)
	})
}
