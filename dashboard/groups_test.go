package dashboard

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// grouped enqueues jobs of two groups and one without a group on queue exports.
func grouped(t *testing.T, store chime.Store) {
	t.Helper()
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	for id, group := range map[string]string{"a-1": "tenant a", "a-2": "tenant a", "b-1": "<b>"} {
		must(enqueuer.Enqueue(t.Context(), "export", nil, chime.Queue("exports"), chime.ID(id), chime.Group(group)))
	}
	must(enqueuer.Enqueue(t.Context(), "export", nil, chime.Queue("exports"), chime.ID("alone")))
}

// The group of a job is on its page and in its row, and leads to the jobs of the group.
func TestTheGroupOfAJobIsShown(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		grouped(t, store)
		d := newDashboard(t, store, operator)
		wants(t, "its page", send(d, "GET", "/jobs/exports/a-1"), 200, "<dt>Group</dt><dd><a", ">tenant a</a>", `group%3A%22tenant&#43;a%22&amp;state=all"`)
		wants(t, "a hostile name", send(d, "GET", "/jobs/exports/b-1"), 200, ">&lt;b&gt;</a>")
		lacks(t, "a job without a group", send(d, "GET", "/jobs/exports/alone"), "<dt>Group</dt>")
		wants(t, "the list", send(d, "GET", "/jobs?state=waiting"), 200, ">tenant a</a>", ">&lt;b&gt;</a>", "a-1", "alone")
		some := send(d, "GET", "/jobs?state=waiting&q=group:%22tenant+a%22")
		wants(t, "a filter", some, 200, "a-1", "a-2")
		lacks(t, "a filter", some, "b-1", "alone")
		wants(t, "an invalid key", send(d, "GET", "/jobs?q=group:%01"), 200, "filter group")
		wants(t, "cancel the group", post(d, "/jobs/bulk", "verb", "cancel", "all", "1", "filter", `state:waiting group:"tenant a"`), 200, "Cancel 2 jobs?")
	})
}

// The page of a queue shows its groups only if there are any.
func TestAQueueShowsItsGroups(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		time.Sleep(700 * 24 * time.Hour) // fake time passes: places are instants after 2001
		grouped(t, store)
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "resize", nil, chime.Queue("media")))
		queues := chime.NewQueues(store)
		if err := queues.PauseGroup(t.Context(), "exports", "<b>", chime.Note{Text: "disk full", By: "anna"}); err != nil {
			t.Fatal(err)
		}
		if err := queues.SetGroups(t.Context(), "exports", chime.GroupRule{Running: 2}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // fake time passes
		d := newDashboard(t, store, Options{Write: true, Authorize: as(View | Operate)})
		page := send(d, "GET", "/queues/exports")
		wants(t, "the page", page, 200, "<h2>Groups</h2>", "3 jobs of groups wait", "1 group</dd>", "2 at once", ">tenant a</a>", ">&lt;b&gt;</a>", "it was paused by anna, because of &#34;disk full&#34;",
			`action="./queues/exports/groups/tenant%20a/pause"`, `action="./queues/exports/groups/%3Cb%3E/resume"`, ">1m</time>", "<dt>Blocked</dt><dd>1 group</dd>")
		lacks(t, "an operator's page", page, "groups/tenant%20a/limit", "groups/tenant%20a/purge", "exports/rule")
		lacks(t, "the page", page, "There are more")
		lacks(t, "a queue without groups", send(d, "GET", "/queues/media"), "Groups</h2>")
		bare := New(store, Options{})
		defer bare.Close()
		wants(t, "anybody's page", send(bare, "GET", "/queues/exports"), 200, ">tenant a</a>")
		lacks(t, "anybody's page", send(bare, "GET", "/queues/exports"), "disk full", "/pause")
	})
}

// A group is paused, resumed and limited: with the rights, the audit and the check of a queue.
func TestAGroupIsPausedAndLimited(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		grouped(t, store)
		queues := chime.NewQueues(store)
		var audit auditor
		d := newDashboard(t, store, Options{Write: true, Authorize: as(allRights), Audit: audit.add})
		of := func() *chime.GroupInfo { return must(queues.Group(t.Context(), "exports", "a/b c")) }
		const path = "/queues/exports/groups/a%2Fb%20c/"
		wants(t, "the question", post(d, path+"pause"), 200, "Pause group a/b c?", `action="./queues/exports/groups/a%2Fb%20c/pause"`)
		wants(t, "a long note", post(d, path+"pause", "sure", "1", "note", strings.Repeat("x", 501)), 200, "Pause group a/b c?", "wrong")
		got := post(d, path+"pause", "sure", "1", "note", "disk full")
		wants(t, "pause", got, 303)
		if to := got.Header().Get("Location"); !strings.HasPrefix(to, "../../../.././queues/exports?said=") {
			t.Errorf("it redirects to %q", to)
		}
		if g := of(); !g.Paused || g.Note.Text != "disk full" || g.Note.By != "anna" {
			t.Errorf("paused: %+v", g)
		}
		if a := audit.last(); a.Act != "pause group" || a.Queue != "exports" || a.Target != "a/b c" || a.Note != "disk full" || a.Count != 1 {
			t.Errorf("audited: %+v", a)
		}
		wants(t, "a text", post(d, path+"limit", "sure", "1", "running", "many"), 200, "is not a positive number")
		wants(t, "a negative number", post(d, path+"limit", "sure", "1", "weight", "-1"), 200, "is not a positive number")
		wants(t, "a weight beyond the maximum", post(d, path+"limit", "sure", "1", "weight", "1,001"), 200, "GroupRule.Weight")
		wants(t, "a period alone", post(d, path+"limit", "sure", "1", "per", "soon"), 200, "is not a duration")
		wants(t, "an order", post(d, path+"limit", "sure", "1", "ordered", "maybe"), 200, "wrong")
		wants(t, "limit", post(d, path+"limit", "sure", "1", "weight", "5", "running", "none", "starts", "10", "per", "1m", "waiting", "1,000", "ordered", "off"), 303)
		want := chime.GroupRule{Weight: 5, Running: chime.NoLimit, Starts: 10, Per: time.Minute, Waiting: 1000, Ordered: chime.Off}
		if g := of(); g.Own != want || !g.Paused {
			t.Errorf("limited: %+v", g)
		}
		if a := audit.last(); a.Act != "limit group" || a.Detail != "weight 5, running -1, starts 10 per 1m0s, waiting 1000, ordered off; before: weight 0, running 0, starts 0 per 0s, waiting 0" {
			t.Errorf("audited: %+v", a)
		}
		wants(t, "the limit as it is", post(d, path+"limit"), 200, `value="5"`, `value="none"`, `value="1m"`, `<option value="off" selected>`)
		wants(t, "no limit", post(d, path+"limit", "sure", "1"), 303)
		wants(t, "resume", post(d, path+"resume"), 303)
		if g := of(); g.Paused || g.Own != (chime.GroupRule{}) {
			t.Errorf("resumed: %+v", g)
		}
		wants(t, "an unknown queue", post(d, "/queues/gone/groups/a/pause", "sure", "1"), 404)

		check := &checker{refused: []string{"mine"}}
		checked := newDashboard(t, store, Options{Write: true, Authorize: as(allRights), Check: check.check})
		for _, verb := range []string{"pause", "resume", "limit", "reset"} {
			wants(t, verb+" of a refused group", post(checked, "/queues/exports/groups/mine/"+verb, "sure", "1"), 409, "mine is not yours.")
			wants(t, verb+" of another", post(checked, "/queues/exports/groups/other/"+verb, "sure", "1"), 303)
		}
		if calls := strings.Join(check.asked(), "; "); !strings.Contains(calls, "pause group exports mine") {
			t.Errorf("Check was called with %q", calls)
		}
		viewer := newDashboard(t, store, Options{Write: true, Authorize: as(View | Operate)})
		wants(t, "a limit by an operator", post(viewer, path+"limit", "sure", "1", "running", "1"), 403)
	})
}

// A blocked group shows what it waits for: the job that has not ended, or when its next job may start.
func TestABlockedGroupShowsWhatItWaitsFor(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		queues, enqueuer := chime.NewQueues(store), chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		grouped(t, store)
		for group, rule := range map[string]chime.GroupRule{"order": {Ordered: chime.On}, "rate": {Starts: 1, Per: time.Hour}, "one": {Running: 1}} {
			if err := queues.SetGroup(t.Context(), "exports", group, rule); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"/1", "/2"} {
				must(enqueuer.Enqueue(t.Context(), "hold", nil, chime.Queue("exports"), chime.ID(group+id), chime.Group(group)))
			}
		}
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"exports": 1}, Logger: slog.New(slog.DiscardHandler)})
		release, stopped := make(chan struct{}), make(chan error, 1)
		worker.Handle("hold", func(context.Context, *chime.Job) error {
			<-release
			return nil
		})
		ctx, stop := context.WithCancel(t.Context())
		go func() { stopped <- chime.Run(ctx, worker) }()
		defer func() {
			close(release)
			stop()
			<-stopped
		}()
		time.Sleep(time.Second) // fake time: the worker takes one job of each group
		d := newDashboard(t, store, Options{Write: true, Authorize: as(View)})
		wants(t, "the page", send(d, "GET", "/queues/exports"), 200, "<dt>Blocked</dt><dd>3 groups</dd>", `for <a href="./jobs/exports/order%2F1">order/1</a>`, "next start <time", "at its limit")
	})
}

// The rule of all groups is changed, the rule of one group is removed, and one group is purged: with the rights of each, a question and the audit.
func TestGroupsAreRuledResetAndPurged(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		grouped(t, store)
		queues := chime.NewQueues(store)
		if err := queues.SetGroup(t.Context(), "exports", "tenant a", chime.GroupRule{Weight: 5}); err != nil {
			t.Fatal(err)
		}
		var audit auditor
		d := newDashboard(t, store, Options{Write: true, Authorize: as(allRights), Audit: audit.add})
		const path = "/queues/exports/groups/tenant%20a/"
		wants(t, "the page", send(d, "GET", "/queues/exports"), 200, `action="./queues/exports/rule"`, "groups/tenant%20a/reset", "groups/tenant%20a/purge")
		lacks(t, "a group without a rule", send(d, "GET", "/queues/exports"), "groups/%3Cb%3E/reset")

		wants(t, "the question about all groups", post(d, "/queues/exports/rule"), 200, "Limit all groups of queue exports", `<option value="" selected>not set`)
		wants(t, "a text", post(d, "/queues/exports/rule", "sure", "1", "running", "many"), 200, "is not a positive number")
		wants(t, "the rule", post(d, "/queues/exports/rule", "sure", "1", "running", "2", "ordered", "off"), 303)
		if info := must(queues.Get(t.Context(), "exports")); info.Groups.Rule != (chime.GroupRule{Running: 2, Ordered: chime.Off}) {
			t.Errorf("the rule is %+v", info.Groups.Rule)
		}
		if a := audit.last(); a.Act != "limit groups" || a.Queue != "exports" || a.Target != "exports" || !strings.HasPrefix(a.Detail, "weight 0, running 2,") {
			t.Errorf("audited: %+v", a)
		}
		wants(t, "an unknown queue", post(d, "/queues/gone/rule", "sure", "1", "running", "2"), 404)

		wants(t, "the question before a reset", post(d, path+"reset"), 200, "Remove the own rule of group tenant a?")
		wants(t, "reset", post(d, path+"reset", "sure", "1"), 303)
		if g := must(queues.Group(t.Context(), "exports", "tenant a")); g.Own != (chime.GroupRule{}) {
			t.Errorf("reset: %+v", g)
		}
		if a := audit.last(); a.Act != "reset group" || a.Target != "tenant a" || !strings.HasPrefix(a.Detail, "before: weight 5") {
			t.Errorf("audited: %+v", a)
		}

		wants(t, "the question before a purge", post(d, path+"purge", "list", "prefix=ten"), 200, "Purge group tenant a?", "2 waiting jobs are deleted.", `data-exactly="tenant a"`, `name="list" value="prefix=ten"`)
		wants(t, "another name", post(d, path+"purge", "sure", "1", "name", "tenant b"), 200, "is not its name.")
		got := post(d, path+"purge", "sure", "1", "name", "tenant a", "list", "prefix=ten")
		wants(t, "purge", got, 303)
		if to := got.Header().Get("Location"); !strings.Contains(to, "prefix=ten") {
			t.Errorf("after the purge it redirects to %q, which is not the search", to)
		}
		if a := audit.last(); a.Act != "purge group" || a.Count != 2 {
			t.Errorf("audited: %+v", a)
		}
		if info := must(queues.Get(t.Context(), "exports")); info.Waiting != 2 {
			t.Errorf("%d jobs are left, want the one of the other group and the one without a group", info.Waiting)
		}
		editor := newDashboard(t, store, Options{Write: true, Authorize: as(View | Operate | Edit)})
		wants(t, "a purge by an editor", post(editor, path+"purge", "sure", "1", "name", "tenant a"), 403)
		operator := newDashboard(t, store, Options{Write: true, Authorize: as(View | Operate)})
		for _, refused := range []string{path + "reset", "/queues/exports/rule"} {
			wants(t, refused+" by an operator", post(operator, refused, "sure", "1"), 403)
		}
	})
}

// A group among many is found by the beginning of its name. One of which nothing is known can be limited in advance.
func TestAGroupIsFoundByItsName(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		grouped(t, store)
		if err := chime.NewQueues(store).PauseGroup(t.Context(), "exports", "tenant idle"); err != nil {
			t.Fatal(err)
		}
		d := newDashboard(t, store, Options{Write: true, Authorize: as(allRights)})
		page := send(d, "GET", "/queues/exports?prefix=tenant")
		wants(t, "the beginning of two", page, 200, ">tenant a</a>", ">tenant idle</a>", `value="tenant"`, `name="list" value="prefix=tenant"`, "Show all")
		lacks(t, "the beginning of two", page, "&lt;b&gt;", "<dt>Blocked</dt>")
		wants(t, "nothing", send(d, "GET", "/queues/exports?prefix=nobody"), 200, "No group whose name begins so", `action="./queues/exports/groups/nobody/limit"`)
		wants(t, "what cannot be a name", send(d, "GET", "/queues/exports?prefix=%01"), 400, "prefix")
	})
}
