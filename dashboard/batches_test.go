package dashboard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// sequence yields items.
func sequence(items ...chime.Item) func(yield func(chime.Item, error) bool) {
	return func(yield func(chime.Item, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// half creates the batch "import" of three members: one is done, one is dead, and one waits on a queue that no worker serves.
func half(t *testing.T, store chime.Store) {
	t.Helper()
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet})
	must(enqueuer.EnqueueBatch(t.Context(), chime.Batch{
		ID: "import", Note: "by anna, secret", Done: chime.Item{Name: "summary", Options: []chime.EnqueueOption{chime.In(time.Hour)}}, Ended: chime.Item{Name: "cleanup"},
		Items: sequence(chime.Item{Name: "report", Args: "good"}, chime.Item{Name: "report", Args: "bad", Options: []chime.EnqueueOption{chime.MaxAttempts(1), chime.ID("bad")}},
			chime.Item{Name: "report", Args: "good", Options: []chime.EnqueueOption{chime.Queue("slow"), chime.ID("left")}}),
	}))
	work(t, store, time.Minute, func(_ context.Context, job *chime.Job) error {
		var text string
		if err := job.Decode(&text); err != nil || text == "bad" {
			return errors.New("no such column")
		}
		return nil
	})
}

func TestThePageOfABatchShowsWhatIsLeftWhere(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		half(t, store)
		d := newDashboard(t, store, Options{Write: true, Authorize: crowd(allRights)})
		wants(t, "the page", send(d, "GET", "/batches/import"), 200, "running</span> 1 member has not ended.", "by anna, secret", `<progress max="3" value="2"`, "2 of 3 members have ended",
			`href="./jobs?q=batch%3Aimport&amp;state=dead" class="ink-fail" title="The dead members">1</a>`,
			`href="./jobs?q=queue%3Aslow&#43;batch%3Aimport&amp;state=all" title="Its members that are left, and the dead ones">1</a>`,
			`<dt>Left</dt><dd><p>1: list those that are <a href="./jobs?q=batch%3Aimport&amp;state=waiting">waiting</a>`, `<dt>Done</dt><dd>1</dd>`, `<dt>Dead</dt><dd><p>1: <a href="./jobs?q=batch%3Aimport&amp;state=dead">list`,
			`<dt>Cancelled</dt><dd>0</dd>`, "The numbers above at Left lead to the members that are left and the dead ones.", "done or cancelled are counted, and not listed", "no worker", "with 3 items", "not yet",
			`<a href="./kinds/summary">summary</a> when all members are done`, `<a href="./kinds/cleanup">cleanup</a> when all members have ended`, "1d after its end, and at least 7 days",
			`action="./batches/import/cancel" data-ask`, `action="./batches/import/recount"`)
		wants(t, "its dead members", send(d, "GET", "/jobs?q=batch:import&state=dead"), 200, `href="./jobs/default/bad"`)
		wants(t, "a member", send(d, "GET", "/jobs/slow/left"), 200, `<dt>Batch</dt><dd><a href="./batches/import">import</a>`)
		wants(t, "a search", send(d, "GET", "/search?q=import"), 200, `href="./batches/import"><b>import</b> <span class="note">batch, running`)
		wants(t, "no batch", send(d, "GET", "/batches/none"), 404, "There is no batch &#34;none&#34;", "All batches")
		wants(t, "a list", send(d, "GET", "/batches"), 200, `<tr id="row-import">`, "2 of 3", "by anna, secret")

		must(chime.NewJobs(store).Delete(t.Context(), chime.JobFilter{Queue: "slow", IDs: []string{"left"}}, nil))
		must(chime.NewBatches(store).Recount(t.Context(), "import"))
		time.Sleep(2 * time.Second) // fake time passes
		got := send(d, "GET", "/batches/import")
		lacks(t, "with none left", got, "list those that are", "The numbers above", "may be a second old")
		wants(t, "with a dead member", got, 200, "ended</span> All members have ended: 1 dead, 1 cancelled.", "when its dead members are requeued and are done", "cleanup</a> was added", `href="./search?q=import%23ended">find it`,
			`action="./batches/import/delete" data-ask`)
		lacks(t, "with a dead member", got, "/cancel", "/recount")
		wants(t, "the job after the batch", send(d, "GET", "/jobs/default/import%23ended"), 200, `<dt>Follows</dt><dd><p>batch <a href="./batches/import">import</a>`)
	})
}

func TestABatchIsCancelledAndDeletedAfterAQuestion(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		half(t, store)
		var audit auditor
		batches := chime.NewBatches(store)
		d := newDashboard(t, store, Options{Write: true, Authorize: crowd(allRights), Audit: audit.add})
		wants(t, "the question", post(d, "/batches/import/cancel"), 200, "Cancel this batch?", "1 member of batch import has not ended.", "Then the job cleanup is added.", "Type its ID", `data-exactly="import"`, `autofocus>Back</a>`)
		wants(t, "another ID", post(d, "/batches/import/cancel", "sure", "1", "name", "imports"), 200, "is not its name")
		wants(t, "too early to delete", post(d, "/batches/import/delete", "sure", "1"), 409)
		if b := must(batches.Get(t.Context(), "import")); b.State != chime.BatchRunning {
			t.Fatalf("after questions the batch is %s", b.State)
		}
		got := post(d, "/batches/import/cancel", "sure", "1", "name", "import")
		wants(t, "the cancellation", got, 303)
		if page := follow(t, d, "/batches/import/cancel", got.Header().Get("Location")); !strings.Contains(page, "The batch is cancelled.") || !strings.Contains(page, "never: the batch was cancelled") {
			t.Errorf("the page after it is\n%s", page)
		}
		if a := audit.last(); a.Act != "cancel batch" || a.Target != "import" || a.Queue != "" || a.Count != 1 || a.Detail != "1 member had not ended" || a.Err != nil {
			t.Errorf("the audit has %+v", a)
		}
		if b := must(batches.Get(t.Context(), "import")); b.State != chime.BatchCancelled || b.Left != 0 || b.Dead != 1 {
			t.Errorf("the batch is %+v", b)
		}
		wants(t, "the question", post(d, "/batches/import/delete"), 200, "Delete this batch?", "Its dead members remain", `autofocus>Cancel</a>`)
		wants(t, "the deletion", post(d, "/batches/import/delete", "sure", "1"), 303)
		if _, err := batches.Get(t.Context(), "import"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("after it the batch is there: %v", err)
		}
		if a := audit.last(); a.Act != "delete batch" || a.Target != "import" || a.Err != nil {
			t.Errorf("the audit has %+v", a)
		}
	})
}

// A slowStore answers no call that asks the partitions of a batch for their counts.
type slowStore struct{ protocol.Store }

func (s slowStore) Protocol() protocol.Store { return s }

func (s slowStore) CountBatch(ctx context.Context, calls []protocol.CountCall) []protocol.CountAnswer {
	<-ctx.Done()
	answers := make([]protocol.CountAnswer, len(calls))
	for i := range answers {
		answers[i].Err = ctx.Err()
	}
	return answers
}

// Cancelling many members may take long. The form does not wait for all of them, because workers and schedulers remove the others.
func TestTheCancellationOfABatchDoesNotWaitForAllMembers(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		half(t, store)
		var audit auditor
		d := newDashboard(t, slowStore{store.Protocol()}, Options{Write: true, Authorize: crowd(allRights), Audit: audit.add})
		began := time.Now()
		got := post(d, "/batches/import/cancel", "sure", "1", "name", "import")
		wants(t, "the cancellation", got, 303)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
		if page := follow(t, d, "/batches/import/cancel", got.Header().Get("Location")); !strings.Contains(page, "The batch is cancelled. It ends when 1 member that is left has ended.") {
			t.Errorf("the page after it is\n%s", page)
		}
		if a := audit.last(); a.Act != "cancel batch" || a.Err != nil {
			t.Errorf("the audit has %+v", a)
		}
	})
}

// A page of the list reads a limited number of batches, however many there are.
func TestTheListOfBatchesSendsFewCommands(t *testing.T) {
	onServer(t, func(t *testing.T, server *embedded.Server) {
		enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Logger: quiet})
		for i := range 1000 {
			must(enqueuer.EnqueueBatch(t.Context(), chime.Batch{ID: fmt.Sprint(i), Items: sequence(chime.Item{Name: "report"})}))
		}
		d := newDashboard(t, server.Store(), Options{Authorize: crowd(View)})
		var c counter
		server.Client().AddHook(&c)
		sends := func(pages map[string]int64) {
			t.Helper()
			wants(t, "the queues", send(d, "GET", "/queues"), 200) // this reads what all pages share
			for page, most := range pages {
				before := c.commands.Load()
				wants(t, page, send(d, "GET", page), 200)
				if n := c.commands.Load() - before; n > most || n == 0 {
					t.Errorf("%s sends %d commands, want %d at most", page, n, most)
				}
			}
		}
		sends(map[string]int64{"/batches?state=in-progress": 200, "/batches?state=in-progress&limit=200": 400})
		work(t, server.Store(), 5*time.Minute, nothing) // so that somebody looks after those that have ended
		sends(map[string]int64{"/batches": 200, "/batches?limit=200": 400, "/batches?state=ended": 400, "/batches?state=in-progress": 100, "/batches/7": 50})
		wants(t, "how far it looked", send(d, "GET", "/batches?state=ended"), 200, "0 found among 200", ">Continue</a>")
	})
}

// A batch whose creator is gone remains open until somebody completes it.
func TestAnOpenBatchIsCompleted(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		items := func(yield func(chime.Item, error) bool) {
			_ = yield(chime.Item{Name: "report"}, nil) && yield(chime.Item{}, errors.New("the file is broken"))
		}
		if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet}).EnqueueBatch(t.Context(), chime.Batch{ID: "half", Items: items}); err == nil {
			t.Fatal("a broken sequence was accepted")
		}
		d := newDashboard(t, store, Options{Write: true, Authorize: crowd(allRights)})
		wants(t, "the page", send(d, "GET", "/batches/half"), 200, "open</span>", "not yet, 1 item so far", `action="./batches/half/seal" data-ask`, "No job follows it.")
		wants(t, "the question", post(d, "/batches/half/seal"), 200, "Complete this batch?", "Batch half has 1 item so far.", "cannot be undone")
		wants(t, "the act", post(d, "/batches/half/seal", "sure", "1"), 303)
		wants(t, "the count", post(d, "/batches/half/recount"), 303)
		if b := must(chime.NewBatches(store).Get(t.Context(), "half")); b.State != chime.BatchRunning || b.Left != 1 {
			t.Errorf("the batch is %+v", b)
		}
	})
}

func TestWhoMayOnlySeeABatchCannotChangeIt(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		half(t, store)
		for _, rights := range []Rights{View, View | Edit | Delete | Reveal} {
			d := newDashboard(t, store, Options{Write: true, Authorize: crowd(rights)})
			lacks(t, rights.String(), send(d, "GET", "/batches/import"), "data-ask", "/recount")
			for _, verb := range []string{"cancel", "seal", "recount"} {
				wants(t, verb, post(d, "/batches/import/"+verb, "sure", "1", "name", "import"), 403, "This needs the right to operate")
			}
		}
		d := newDashboard(t, store, Options{Write: true, Authorize: crowd(View | Operate)})
		wants(t, "delete", post(d, "/batches/import/delete", "sure", "1"), 403, "This needs the right to delete")
		if b := must(chime.NewBatches(store).Get(t.Context(), "import")); b.State != chime.BatchRunning {
			t.Errorf("the batch is %s", b.State)
		}
	})
}

// The note of a batch may reveal what it contains: RedactError may hide it, and pages that anybody may see do not show it.
func TestTheNoteOfABatchIsRedacted(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		half(t, store)
		bare := New(store, Options{Logger: quiet})
		defer bare.Close()
		hides := newDashboard(t, store, Options{Authorize: crowd(View), RedactError: func(job *chime.JobInfo, text string) string {
			return strings.ReplaceAll(text, "secret", "hidden in "+job.Batch)
		}})
		for _, page := range []string{"/batches", "/batches/import"} {
			wants(t, page, send(hides, "GET", page), 200, "by anna, hidden in import")
			lacks(t, page, send(hides, "GET", page), "secret")
			wants(t, page, send(bare, "GET", page), 200, "import")
			lacks(t, page, send(bare, "GET", page), "secret", "by anna")
		}
	})
}

func TestBatchesAreListedInPartsAndByState(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet})
		d := newDashboard(t, store, Options{Authorize: crowd(View)})
		wants(t, "no batch", send(d, "GET", "/batches"), 200, "There are no batches. This line creates one:")
		for i := range 250 {
			var items []chime.Item
			if i%100 == 7 {
				items = []chime.Item{{Name: "report"}}
			}
			must(enqueuer.EnqueueBatch(t.Context(), chime.Batch{ID: fmt.Sprintf("import-%03d", i), Items: sequence(items...)}))
			time.Sleep(time.Second) // fake time passes
		}
		next, ids := "/batches?limit=100", []string{}
		for next != "" {
			page := send(d, "GET", next).Body.String()
			for _, row := range strings.Split(page, `<tr id="row-`)[1:] {
				id, _, _ := strings.Cut(row, `"`)
				ids = append(ids, id)
			}
			before, _, more := strings.Cut(page, `" rel="next">`)
			if next = ""; more {
				next = strings.ReplaceAll(before[strings.LastIndex(before, `"./`)+2:], "&amp;", "&")
			}
		}
		if len(ids) != 250 || ids[0] != "import-249" || ids[249] != "import-000" {
			t.Errorf("%d batches are listed, from %q on", len(ids), ids)
		}
		got := send(d, "GET", "/batches?state=in-progress")
		wants(t, "in progress", got, 200, `id="row-import-007"`, `id="row-import-107"`, `id="row-import-207"`, "3 found among 3")
		lacks(t, "in progress", got, "import-001", `rel="next"`)
		wants(t, "with a prefix", send(d, "GET", "/batches?state=done&prefix=import-01"), 200, "No batch read so far matches.", ">Continue</a>", "0 found among 200")
		wants(t, "none", send(d, "GET", "/batches?state=ended"), 200, "No batch")
		wants(t, "a state that there is not", send(d, "GET", "/batches?state=sealed"), 400)
		wants(t, "a cursor that there is not", send(d, "GET", "/batches?after=x"), 400, "BatchFilter.After")
	})
}
