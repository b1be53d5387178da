package dashboard

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// put stores a schedule of a cron text.
func put(t *testing.T, store chime.Store, name, cron string, options ...chime.PutOption) {
	t.Helper()
	must(chime.NewSchedules(store).Put(t.Context(), name, must(recurrence.Cron(cron)), append([]chime.PutOption{chime.JobName("report")}, options...)...))
}

// work runs a scheduler and a worker for a while. handler runs the jobs named report.
func work(t *testing.T, store chime.Store, d time.Duration, handler chime.Handler) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	quiet := slog.New(slog.DiscardHandler)
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: quiet})
	worker.Handle("report", handler)
	if err := chime.Run(ctx, worker, chime.NewScheduler(store, chime.SchedulerOptions{Logger: quiet})); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

// lacks fails the test if a response contains one of the texts.
func lacks(t *testing.T, what string, got *httptest.ResponseRecorder, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(got.Body.String(), text) {
			t.Errorf("%s: the answer has %q:\n%s", what, text, got.Body)
		}
	}
}

// operator is a viewer who may do everything.
var operator = Options{Write: true, Authorize: as(allRights)}

func TestTheListOfSchedulesShowsWhatEachDoes(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, operator)
		wants(t, "no schedule", send(d, "GET", "/schedules"), 200, "There are no schedules yet", "chime schedules put report", "New schedule")

		put(t, store, "fine", "*/15 * * * *", chime.Queue("mail"))
		put(t, store, "bad", "*/15 * * * *")
		put(t, store, "stopped", "0 2 * * *", chime.Group("acme"))
		if err := chime.NewSchedules(store).Pause(t.Context(), "stopped", chime.Note{Text: "migration", By: "anna"}); err != nil {
			t.Fatal(err)
		}
		work(t, store, 16*time.Minute, func(context.Context, *chime.Job) error { return chime.Discard(errors.New("refused")) })
		got := send(d, "GET", "/schedules")
		wants(t, "the list", got, 200, `>all <b class="count">3</b>`, `>paused <b class="count">1</b>`, `>failing <b class="count">1</b>`, `>late <b class="count">1</b>`,
			"Every 15 minutes", "paused by anna", "migration", `class="chart ticks"`, `<b class="ink-fail">2</b>`, `formaction="./schedules/bulk"`, `name="id" value="bad"`)
		wants(t, "failing", send(d, "GET", "/schedules?state=failing"), 200, `id="row-bad"`)
		wants(t, "the queues", send(d, "GET", "/schedules?queue=gone"), 200, `<option value="">all queues</option>`, "<option>mail</option>", "<option selected>gone</option>")
		lacks(t, "failing", send(d, "GET", "/schedules?state=failing"), `id="row-fine"`, `id="row-stopped"`)
		lacks(t, "a queue", send(d, "GET", "/schedules?queue=mail"), `id="row-bad"`, `id="row-stopped"`)
		lacks(t, "a prefix", send(d, "GET", "/schedules?prefix=st"), `id="row-bad"`, `id="row-fine"`)
		lacks(t, "a group", send(d, "GET", "/schedules?group=acme"), `id="row-bad"`, `id="row-fine"`)
		wants(t, "a group", send(d, "GET", "/schedules?group=acme"), 200, `id="row-stopped"`, `name="group" value="acme"`, `name="filter" value="group=acme"`)
		wants(t, "none fits", send(d, "GET", "/schedules?owner=nobody"), 200, "No schedule matches", "Show all")
		lacks(t, "a reader", send(newDashboard(t, store, Options{}), "GET", "/schedules"), "formaction", `name="id"`, "New schedule")
		for query, want := range map[string]string{
			"state=x": `state is &#34;x&#34;, want one of`, "sort=x": "sort is", "limit=201": "want a number from 1 to 200", "prefix=" + strings.Repeat("x", 201): "want at most 200 bytes",
		} {
			wants(t, query, send(d, "GET", "/schedules?"+query), 400, want)
		}
	})
}

func TestTheListOfSchedulesIsSortedAndPaged(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		for i := range 5 {
			put(t, store, fmt.Sprint("s", i), fmt.Sprintf("%d * * * *", 50-10*i))
		}
		d := newDashboard(t, store, Options{})
		for query, want := range map[string]string{
			"limit=2": "s0 s1", "limit=2&after=s1": "s2 s3", "limit=2&after=s11": "s2 s3", "sort=next": "s4 s3 s2 s1 s0", "sort=next&limit=2&after=s3": "s2 s1",
			"sort=last": "s0 s1 s2 s3 s4", "sort=late": "s0 s1 s2 s3 s4", "sort=failed": "s0 s1 s2 s3 s4", "sort=queue": "s0 s1 s2 s3 s4", "sort=state": "s0 s1 s2 s3 s4",
		} {
			if got := rowsOf(send(d, "GET", "/schedules?"+query).Body.String()); got != want {
				t.Errorf("%s: got %s, want %s", query, got, want)
			}
		}
		wants(t, "the middle", send(d, "GET", "/schedules?limit=2&after=s1"), 200, `href="./schedules?limit=2" rel="prev"`, `href="./schedules?after=s3&amp;limit=2" rel="next"`, "2 of 5")
		wants(t, "one that is gone", send(d, "GET", "/schedules?sort=next&after=gone"), 200, "this page begins at the front again", `id="row-s0"`)
	})
}

// The order is the order of all schedules, not of one page. Values from their histories are read in batches.
func TestAllSchedulesAreSortedByTheirRuns(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		for i := range 60 {
			put(t, store, fmt.Sprintf("s%02d", i), "0 * * * *", chime.MaxAttempts(1))
		}
		work(t, store, time.Hour+time.Minute, func(_ context.Context, job *chime.Job) error {
			if job.Schedule == "s57" {
				return errors.New("refused")
			}
			return nil
		})
		put(t, store, "s60", "0 * * * *", chime.Queue("archive"))
		d := newDashboard(t, store, Options{})
		wants(t, "the list", send(d, "GET", "/schedules?limit=10&sort=failed"), 200, "The runs of 16 of 61 schedules were read so far", `aria-sort="descending"`)
		synctest.Wait()
		time.Sleep(5 * time.Second) // fake time passes: the others are read in two batches
		got := send(d, "GET", "/schedules?limit=10&sort=failed")
		lacks(t, "the list", got, "are read so far")
		if rows := rowsOf(got.Body.String()); !strings.HasPrefix(rows, "s57 s00 s01") {
			t.Errorf("by failures: %s", rows)
		}
		time.Sleep(time.Second) // fake time passes
		if rows := rowsOf(send(d, "GET", "/schedules?limit=10&sort=queue").Body.String()); !strings.HasPrefix(rows, "s60 s00 s01") {
			t.Errorf("by queue: %s", rows)
		}
	})
}

// rowsOf returns the names of a page's rows, in order.
func rowsOf(page string) string {
	var names []string
	for _, part := range strings.Split(page, `<tr id="row-`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func TestHostileNamesOfSchedulesAreShownAsTheyAre(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		for _, name := range hostileNames {
			put(t, store, name, "0 * * * *", chime.JobName("report"))
		}
		d := newDashboard(t, store, operator)
		list := send(d, "GET", "/schedules")
		lacks(t, "the list", list, "<script>alert", "</title>&", `value=""><`)
		for _, name := range hostileNames {
			link := fmt.Sprintf(`href="./%s"`, template.HTMLEscapeString(render.Path("schedules", name)))
			wants(t, name, list, 200, link, template.HTMLEscapeString(name))
		}
	})
}

// The first view of a page costs no more than this, and unchanged data is not read again.
func TestTheListOfSchedulesCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		for i := range 100 {
			put(t, server.Store(), fmt.Sprintf("s%03d", i), "0 * * * *")
		}
		d := newDashboard(t, server.Store(), Options{})
		wants(t, "the first page", send(d, "GET", "/schedules"), 200) // so that the directory is read
		var c counter
		server.Client().AddHook(&c)
		cost := func(target string) int64 {
			time.Sleep(3 * time.Second) // fake time: to the next poll
			c.commands.Store(0)
			wants(t, target, send(d, "GET", target), 200)
			return c.commands.Load()
		}
		first, next := cost("/schedules?after=s029"), max(cost("/schedules?after=s029"), cost("/schedules?after=s029"))
		again := cost("/schedules?after=s029")
		if one := cost("/schedules/s030"); one > 300 {
			t.Errorf("the page of a schedule costs %d commands, want at most 300", one)
		}
		t.Logf("a page costs %d commands, %d when it is read again, and %d from then on", first, next, again)
		if first > 400 || next > 400 || again > 200 {
			t.Errorf("a page costs %d commands, %d when it is read again, and %d from then on; want at most 400, and 200", first, next, again)
		}
	})
}

// The list, the overview and the page of a schedule show what blocks its queue, as the command does.
func TestAScheduleThatIsBlockedIsNotShownAsLive(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		put(t, store, "report", "30 * * * *")
		d := newDashboard(t, store, operator)
		for _, path := range []string{"/schedules", "/schedules/report", "/"} {
			wants(t, path, send(d, "GET", path), 200, `title="Its occurrences are created as its rule says, but none runs now."`, "no worker</span>")
		}
		if err := chime.NewQueues(store).Pause(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // fake time passes, and the readings are too old
		for _, path := range []string{"/schedules", "/schedules/report", "/"} {
			wants(t, path, send(d, "GET", path), 200, "queue paused</span>")
		}
	})
}
