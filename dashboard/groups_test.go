package dashboard

import (
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
			`action="./queues/exports/groups/tenant%20a/pause"`, `action="./queues/exports/groups/%3Cb%3E/resume"`, ">1m</time>")
		lacks(t, "an operator's page", page, "groups/tenant%20a/limit")
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
		for _, verb := range []string{"pause", "resume", "limit"} {
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
