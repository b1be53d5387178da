package crawl_test

import (
	"context"
	"fmt"
	"html"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/dashboard/internal/visit"
	"github.com/chimejobs/chime/internal/incident"
	"github.com/chimejobs/chime/redisstore"
)

// manyQueues is a store with 34 queues and 190 schedules.
var manyQueues = incident.Size{Jobs: 1200, Schedules: 190, Days: 1}

const (
	maxCommands = 400 // that a page sends
	// maxCommandsPerSecond is for all viewers together, whatever their number: the data of all pages is read once in two seconds, and each page's own too.
	maxCommandsPerSecond = 200
)

// sent counts the commands of a client. A call of a script is one command, whatever it runs.
type sent struct{ commands atomic.Int64 }

func (s *sent) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *sent) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.commands.Add(1)
		return next(ctx, cmd)
	}
}

func (s *sent) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		s.commands.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// counted returns a store of a world whose commands are counted, apart from those of the world's workers.
func counted(t *testing.T, world *incident.World) (*redisstore.Store, *sent) {
	t.Helper()
	options := *world.Server.Client().Options()
	client := redis.NewClient(&options)
	t.Cleanup(func() { _ = client.Close() })
	for _, script := range redisstore.Scripts() { // the server has the scripts, because somebody has looked before
		must(client.ScriptLoad(t.Context(), script).Result())
	}
	var s sent
	client.AddHook(&s)
	return redisstore.New(client, redisstore.Options{Logger: quiet}), &s
}

// linkTo returns the first link to an address that begins so, on one of some pages.
func linkTo(t *testing.T, d *dashboard.Dashboard, page, begins string) string {
	t.Helper()
	body := send(d, "GET", "/"+page).Body.String()
	found := regexp.MustCompile(`href="(?:\.\./|\./)*(` + regexp.QuoteMeta(begins) + `[^"]+)"`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("%q has no link to %s", page, begins)
	}
	return html.UnescapeString(found[1])
}

// pagesOf returns an address for each page, and the lists in their expensive forms, by their routes.
func pagesOf(t *testing.T, d *dashboard.Dashboard) map[string][]string {
	t.Helper()
	return map[string][]string{
		"":                      {"", "?window=15m", "?window=25h", "?window=92d"},
		"problems":              {"problems"},
		"schedules":             {"schedules", "schedules?limit=200", "schedules?sort=last", "schedules?sort=late&limit=200", "schedules?state=failing"},
		"schedules/new":         {"schedules/new"},
		"schedules/{name}":      {"schedules/" + incident.Failing},
		"schedules/{name}/edit": {"schedules/" + incident.Edited + "/edit"},
		"calendar":              {"calendar"},
		"queues":                {"queues", "queues?sort=dead"},
		"queues/{queue}":        {"queues/a", "queues/" + incident.Wide, "queues/" + incident.Tenants, "queues/a?window=92d"},
		"workers":               {"workers"},
		"workers/{worker}":      {linkTo(t, d, "workers", "workers/")},
		"jobs": {
			"jobs", "jobs?state=waiting", "jobs?state=delayed", "jobs?state=running", "jobs?state=retrying", "jobs?state=parked", "jobs?state=done", "jobs?state=dead&limit=200",
			"jobs?state=dead&sort=oldest", "jobs?q=job:imports", "jobs?q=nothing", "jobs?q=" + url.QueryEscape(`state:dead error:"disk full"`), "jobs?q=" + url.QueryEscape("queue:a state:dead"),
		},
		"jobs/{queue}/{id}": {linkTo(t, d, "jobs?state=dead", "jobs/")},
		"failures":          {"failures", "failures?q=job:imports"},
		"failures/{job}":    {linkTo(t, d, "failures", "failures/")},
		"kinds/{name}":      {"kinds/imports", "kinds/done"},
		"batches":           {"batches", "batches?state=in-progress", "batches?state=done", "batches?q=import"},
		"batches/{id}":      {"batches/import-1"},
		"find":              {"find", "find?header=customer&value=7", "find?is=7", "find?error=disk&state=dead", "find?id=nothing"},
		"search":            {"search?q=nothing", "search?q=timeout", "search?q=" + incident.Failing},
	}
}

// members yields n jobs, which are due tomorrow, on a queue that has done much in the last hour.
func members(n int) iter.Seq2[chime.Item, error] {
	return func(yield func(chime.Item, error) bool) {
		for range n {
			if !yield(chime.Item{Name: "done", Options: []chime.EnqueueOption{chime.In(24 * time.Hour)}}, nil) {
				return
			}
		}
	}
}

// Somebody opens one page, and nobody else is there, so that nothing of it was read before.
func TestAPageSendsAtMost400Commands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := incident.New(t, manyQueues)
		for i := range 3 {
			must(chime.NewEnqueuer(world.Store, chime.EnqueuerOptions{Logger: quiet}).EnqueueBatch(t.Context(), chime.Batch{ID: fmt.Sprint("import-", i), Items: members(i + 1), Done: chime.Item{Name: "done"}}))
		}
		store, sent := counted(t, world)
		options := dashboard.Options{Write: true, Authorize: crowd(allRights)}
		pages := pagesOf(t, newDashboard(t, store, options))
		for route := range visit.Routes(t, "../testdata/routes.txt") {
			path, is := strings.CutPrefix(route, "GET ")
			if is && len(pages[path]) == 0 && path != "events" && path != "operations/{id}" { // these two need an open stream or an operation
				t.Errorf("no page of %q is counted", path)
			}
		}
		for _, addresses := range pages {
			for _, address := range addresses {
				d := newDashboard(t, store, options)
				before := sent.commands.Load()
				wants(t, address, send(d, "GET", "/"+address), 200)
				synctest.Wait() // what it has begun in the background counts too
				n := sent.commands.Load() - before
				t.Logf("%4d commands: %s", n, address)
				if n > maxCommands || n == 0 {
					t.Errorf("the first visit of %q sends %d commands, want at most %d", address, n, maxCommands)
				}
				d.Close()
			}
		}
	})
}

// openStreams opens the streams of n pages, one after another, until the returned function is called.
func openStreams(t *testing.T, d *dashboard.Dashboard, pages []string, n int) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, n)
	for i := range n {
		r := httptest.NewRequestWithContext(ctx, "GET", "/events?page="+url.QueryEscape(pages[i%len(pages)]), nil)
		r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:7080"
		go func() {
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			ended <- w.Code
		}()
	}
	return func() {
		t.Helper()
		cancel()
		for range n {
			if code := <-ended; code != http.StatusOK {
				t.Errorf("a stream is answered with status %d", code)
			}
		}
	}
}

// Fifty viewers of ten pages cost what ten viewers of these cost, and when all have left, nothing.
func TestViewersShareOneReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := incident.New(t, manyQueues)
		store, sent := counted(t, world)
		d := newDashboard(t, store, dashboard.Options{Write: true, Authorize: crowd(allRights)})
		in := func(d time.Duration) int64 {
			before := sent.commands.Load()
			time.Sleep(d) // fake time passes
			synctest.Wait()
			return sent.commands.Load() - before
		}
		pages := []string{"", "problems", "schedules", "schedules/" + incident.Failing, "calendar", "queues", "queues/a", "workers", "jobs?state=dead", "failures"}
		each := map[int]int64{}
		for _, viewers := range []int{len(pages), 50} {
			leave := openStreams(t, d, pages, viewers)
			in(10 * time.Second) // the first visits
			each[viewers] = in(20 * time.Second)
			leave()
			in(13 * time.Second) // the poller continues for 10 s, and may then be in the middle of a turn
			if n := in(time.Minute); n != 0 {
				t.Errorf("a minute after %d viewers have left, %d commands were sent", viewers, n)
			}
		}
		few, many := each[len(pages)], each[50]
		t.Logf("commands in 20 s: %d for %d viewers, %d for 50", few, len(pages), many)
		if many > few+few/10 {
			t.Errorf("50 viewers cost %d commands in 20 s, and %d viewers of the same pages %d", many, len(pages), few)
		}
		if many > 20*maxCommandsPerSecond || few == 0 {
			t.Errorf("50 viewers cost %d commands in 20 s, want %d at most", many, 20*maxCommandsPerSecond)
		}
	})
}
