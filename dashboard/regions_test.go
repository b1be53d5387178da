package dashboard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A live region has the same text in the page and in the event that updates it. Otherwise a page would change as soon as it is opened.
func TestARegionIsAsItStandsInThePage(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := busy(t, store)
		d := newDashboard(t, store, Options{Write: true})
		during(t, func() {
			must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "resize", nil, chime.Queue("media")))
			time.Sleep(11 * time.Minute) // fake time passes
			name := must(d.site.Read(t.Context())).Workers[0].Name
			for _, path := range []string{"", "queues", "queues/mail", "workers", "workers/" + name} {
				page := send(d, "GET", "/"+path).Body.String()
				regions := must(source{d}.Regions(t.Context(), topic{path: path, zone: "UTC", rights: allRights}))
				if len(regions) == 0 {
					t.Errorf("%q has no live regions", path)
				}
				for _, region := range regions {
					if !strings.Contains(page, string(region.HTML)) || !regexp.MustCompile(`id="`+region.ID+`"[^>]* data-live`).MatchString(page) {
						t.Errorf("%q: region %s is not as in the page: %.300s", path, region.ID, region.HTML)
					}
				}
			}
		}, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
	})
}

// Regions of an open page are sent only if they have changed. This matters most for the charts.
func TestRegionsStayAsTheyAreWhileNothingHappens(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := busy(t, store)
		d := newDashboard(t, store, Options{})
		during(t, func() {
			time.Sleep(11*time.Minute + 10*time.Second) // fake time passes
			name := must(d.site.Read(t.Context())).Workers[0].Name
			for _, path := range []string{"", "queues", "queues/mail", "workers", "workers/" + name} {
				before := map[string]uint64{}
				changed := map[string]int{}
				for range 10 {
					for _, region := range must(source{d}.Regions(t.Context(), topic{path: path, zone: "UTC", rights: allRights})) {
						if hash, seen := before[region.ID]; seen && hash != region.Hash {
							changed[region.ID]++
						}
						before[region.ID] = region.Hash
					}
					time.Sleep(2 * time.Second) // fake time: to the next poll
					must(source{d}.Beat(t.Context()))
				}
				for id, n := range changed {
					if n > 1 && id != "figures" && id != "list" { // these have rates, which die away within a minute
						t.Errorf("%q: in 20 s region %s has changed %d times", path, id, n)
					}
				}
			}
		}, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
	})
}

func TestNamesThatOthersHaveChosenAreTexts(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		schedules := chime.NewSchedules(store)
		names := []string{`"><script>alert(1)</script>`, "</title>", "a/b", "~new", "новый", "{{.}}"}
		for _, name := range names {
			must(schedules.Put(t.Context(), name, everyHour, chime.Queue("x"), chime.JobName("run")))
		}
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		for _, queue := range []string{"new", "bulk", "..", "."} {
			must(enqueuer.Enqueue(t.Context(), "fails", nil, chime.Queue(queue), chime.ID(`<img src=x onerror=alert(1)>`), chime.MaxAttempts(1)))
		}
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"x": 1, "new": 1}})
		worker.Handle("run", nothing)
		worker.Handle("fails", func(context.Context, *chime.Job) error { return errors.New(`<img src=x onerror=alert(1)></title>`) })
		during(t, func() { time.Sleep(50 * time.Minute) }, worker, chime.NewScheduler(store, chime.SchedulerOptions{})) // fake time passes
		if err := chime.NewQueues(store).Pause(t.Context(), "new", chime.Note{By: "<img>", Text: "<script>alert(1)</script>"}); err != nil {
			t.Fatal(err)
		}
		d := newDashboard(t, store, Options{Write: true})
		for _, path := range []string{"/", "/queues", "/queues/new", "/workers", "/queues?q=" + url.QueryEscape(names[0])} {
			page := send(d, "GET", path).Body.String()
			if path == "/" && (!strings.Contains(page, "&lt;img src=x") || !strings.Contains(page, "&lt;script&gt;alert")) {
				t.Errorf("%s does not show them at all", path)
			}
			for _, evil := range []string{"<script>alert", "<img", "</title></", "{{"} {
				if strings.Contains(strings.ReplaceAll(page, "{{.}}", ""), evil) {
					t.Errorf("%s has %s as it is", path, evil)
				}
			}
		}
		standing := must(d.site.Read(t.Context()))
		for _, q := range standing.Queues {
			list := send(d, "GET", "/queues").Body.String()
			link := regexp.MustCompile(`href="\.(/queues/[^"]*)"[^>]*>` + regexp.QuoteMeta(q.Name) + `<`).FindStringSubmatch(list)
			if link == nil {
				t.Fatalf("the list has no link to queue %q", q.Name)
			}
			wants(t, "queue "+q.Name, send(d, "GET", link[1]), 200, "<h1>"+q.Name+"</h1>")
			time.Sleep(time.Second) // fake time passes: 20 requests are allowed in each
		}
	})
}

// The number of commands for a page does not grow with the jobs and schedules. The first page reads the data that all pages share.
func TestWhatAPageCostsIsBounded(t *testing.T) {
	cost := func(jobs, schedules int) (most int64) {
		onServer(t, func(t *testing.T, server *embedded.Server) {
			store := server.Store()
			enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
			for i := range jobs {
				must(enqueuer.Enqueue(t.Context(), "waits", nil, chime.Queue(fmt.Sprintf("q%02d", i%10))))
			}
			for i := range schedules {
				must(chime.NewSchedules(store).Put(t.Context(), fmt.Sprintf("s%04d", i), everyHour, chime.Queue("q00"), chime.JobName("run")))
			}
			worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"q00": 1}})
			worker.Handle("waits", nothing)
			worker.Handle("run", nothing)
			during(t, func() { time.Sleep(10 * time.Minute) }, worker, chime.NewScheduler(store, chime.SchedulerOptions{})) // fake time passes
			d := newDashboard(t, store, Options{})
			wants(t, "the first", send(d, "GET", "/"), 200)
			var c counter
			server.Client().AddHook(&c)
			for _, path := range []string{"", "?window=25h", "?window=92d", "queues", "queues/q00?window=92d", "workers"} {
				least := int64(math.MaxInt64) // of two pages: all schedules may be read before one of them, which is done every few seconds for all pages
				for range 2 {
					time.Sleep(2500 * time.Millisecond) // fake time passes
					before := c.commands.Load()
					wants(t, path, send(d, "GET", "/"+path), 200)
					least = min(least, c.commands.Load()-before)
				}
				most = max(most, least)
			}
		})
		return most
	}
	few, many := cost(20, 10), cost(600, 300)
	t.Logf("a page sends at most %d commands to a small store, and %d to a larger one", few, many)
	if many > 400 || many > few+40 {
		t.Errorf("a page sends %d and %d commands, want at most 400, and at most 40 more for thirty times as much data", few, many)
	}
}

var everyHour = must(recurrence.Cron("0 * * * *"))

func nothing(context.Context, *chime.Job) error { return nil }

// onServer is onEmbedded for a test that counts the commands that the server receives.
func onServer(t *testing.T, test func(t *testing.T, server *embedded.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		test(t, server)
	})
}

// A counter counts the commands of a client.
type counter struct{ commands atomic.Int64 }

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.commands.Add(1)
		return next(ctx, cmd)
	}
}

func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.commands.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}
