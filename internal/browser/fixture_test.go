package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// chromium is the browser of all tests.
var chromium *Browser

func TestMain(m *testing.M) {
	var err error
	if chromium, err = Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	chromium.Close()
	os.Exit(code)
}

// hostile is a text that could run a script in a careless page, end its title, reverse its text, or colour a terminal.
const hostile = "\"><script>alert(1)</script><img src=x onerror=alert(2)></title>'\u202e\u2066\x1b[31m"

// visible returns the part of a text that names allow.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf) {
			return -1
		}
		return r
	}, text)
}

// A world is a store with something for every page, and its dashboard.
type world struct {
	store     chime.Store
	schedules *chime.Schedules
	enqueuer  *chime.Enqueuer
	url       string       // of the dashboard, with a slash at its end
	streams   atomic.Int64 // that are open
	one       atomic.Bool  // all streams are of one viewer
	gone      atomic.Bool  // the server answers nothing, and ends its streams
}

// newWorld creates a world in which every text that users may choose contains extra.
func newWorld(t *testing.T, extra string) *world {
	t.Helper()
	server := embedded.StartInMemory()
	t.Cleanup(func() { _ = server.Close() })
	quiet := slog.New(slog.DiscardHandler)
	w := &world{store: server.Store()}
	w.schedules, w.enqueuer = chime.NewSchedules(w.store), chime.NewEnqueuer(w.store, chime.EnqueuerOptions{Logger: quiet})

	worker := chime.NewWorker(w.store, chime.WorkerOptions{
		Queues: map[string]int{"default": 1, "mail": 1}, Concurrency: 5, DrainTimeout: time.Millisecond, Logger: quiet,
	})
	running := make(chan struct{})
	worker.Handle("report", func(_ context.Context, job *chime.Job) error {
		job.Note("42 orders" + extra)
		return job.Return("sent" + extra)
	})
	worker.Handle("broken", func(context.Context, *chime.Job) error { return errors.New("dial tcp 10.0.0.7:631: refused" + extra) })
	worker.Handle("slow", func(ctx context.Context, job *chime.Job) error {
		err := job.Progress(map[string]any{"percent": 40, "step": "reading" + extra})
		close(running)
		<-ctx.Done()
		return errors.Join(err, ctx.Err())
	})
	scheduler := chime.NewScheduler(w.store, chime.SchedulerOptions{Logger: quiet})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, worker, scheduler) }()
	t.Cleanup(func() { stop(); <-ended })

	w.fill(t, extra)
	<-running
	w.waitForDead(t, 4) // two of mail, the first occurrence of invoices and its manual run
	w.serve(t)
	return w
}

// fill defines schedules and enqueues jobs in every state.
func (w *world) fill(t *testing.T, extra string) {
	t.Helper()
	ctx := t.Context()
	quarter := recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 15}
	nightly := recurrence.Recurrence{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"}
	put := func(name string, rule recurrence.Recurrence, options ...chime.PutOption) {
		t.Helper()
		_, err := w.schedules.Put(ctx, name, rule, options...)
		check(t, err)
	}
	put("report", quarter, chime.Args("card"+extra), chime.Header("tenant", "acme"+extra))
	put("invoices"+visible(extra), quarter, chime.JobName("broken"), chime.MaxAttempts(1))
	put("cleanup", nightly, chime.JobName("report"), chime.Paused(chime.Note{Text: "until the move is over" + extra, By: "anna" + extra}))
	for _, name := range []string{"report", "invoices" + visible(extra)} {
		_, err := w.schedules.Trigger(ctx, name)
		check(t, err)
	}
	enqueue := func(name string, args any, options ...chime.EnqueueOption) {
		t.Helper()
		_, err := w.enqueuer.Enqueue(ctx, name, args, options...)
		check(t, err)
	}
	enqueue("slow", nil, chime.ID("slow-1"))
	for i := range 2 {
		enqueue("broken", "card"+extra, chime.ID(fmt.Sprintf("dead-%d", i)), chime.MaxAttempts(1), chime.Queue("mail"))
	}
	enqueue("broken", nil, chime.ID("again"), chime.Retry(chime.Fixed(time.Hour)))
	enqueue("report", nil, chime.ID("tomorrow"), chime.In(24*time.Hour))
	_, err := w.enqueuer.EnqueueBatch(ctx, chime.Batch{ID: "import" + visible(extra), Note: "by anna" + extra, Done: chime.Item{Name: "report"}, Items: func(yield func(chime.Item, error) bool) {
		for _, queue := range []string{"default", "archive"} { // the second one comes first in lists of links
			options := []chime.EnqueueOption{chime.Queue(queue), chime.ID("a-member"), chime.OnDone(chime.Item{Name: "fax"}), chime.OnDeath(chime.Item{Name: "fax"})}
			if !yield(chime.Item{Name: "report", Options: options}, nil) {
				return
			}
		}
	}})
	check(t, err)
	enqueue("fax", nil, chime.ID("parked")) // there is no handler for it
	enqueue("report", nil, chime.ID("waits"), chime.Queue("archive"))
	check(t, chime.NewQueues(w.store).Pause(ctx, "archive", chime.Note{Text: "the printer is being repaired" + extra, By: "anna" + extra}))
}

// waitForDead waits until n jobs are dead.
func (w *world) waitForDead(t *testing.T, want int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d dead jobs", want), func() bool {
		queues, err := chime.NewQueues(w.store).List(t.Context())
		check(t, err)
		var dead int64
		for _, queue := range queues {
			dead += queue.Dead
		}
		return dead == want
	})
}

// serve mounts the dashboard, and counts its streams.
func (w *world) serve(t *testing.T) {
	t.Helper()
	d := dashboard.New(w.store, dashboard.Options{
		Prefix: "/chime", Write: true, Logger: slog.New(slog.DiscardHandler),
		Authorize: func(r *http.Request) (dashboard.Viewer, error) {
			name := "bob"
			if r.Method == http.MethodGet {
				name = r.RemoteAddr // a new viewer for each request, so that no rate limit applies
			}
			if w.one.Load() && strings.HasSuffix(r.URL.Path, "/events") {
				name = "carla"
			}
			return dashboard.Viewer{Name: name, Rights: dashboard.View | dashboard.Operate | dashboard.Edit | dashboard.Delete | dashboard.Reveal}, nil
		},
	})
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		if w.gone.Load() {
			panic(http.ErrAbortHandler)
		}
		if strings.HasSuffix(r.URL.Path, "/events") {
			w.streams.Add(1)
			defer w.streams.Add(-1)
			ctx, end := context.WithCancel(r.Context())
			defer end()
			go func() {
				look := time.NewTicker(interval)
				defer look.Stop()
				for ; ctx.Err() == nil && !w.gone.Load(); <-look.C {
				}
				end()
			}()
			r = r.WithContext(ctx)
		}
		d.ServeHTTP(answer, r)
	}))
	t.Cleanup(func() { d.Close(); server.Close() })
	w.url = server.URL + "/chime/"
}

// get returns a page as the server sends it.
func (w *world) get(t *testing.T, path string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // a new viewer for each request
	answer, err := client.Get(w.url + path)
	check(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	check(t, err)
	return string(text)
}

// open opens a page of the dashboard.
func (w *world) open(t *testing.T, look Look, path string) *Page {
	t.Helper()
	p, err := chromium.Open(look)
	check(t, err)
	t.Cleanup(p.Close)
	check(t, p.Go(w.url+path))
	return p
}

// desk has the settings of most tests.
var desk = Look{Width: 1440, Height: 900, Zone: "Europe/Berlin"}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(interval) { // the condition depends on another goroutine or the browser, which cannot call this one
		if time.Now().After(end) {
			t.Fatalf("not after %v: %s", patience, what)
		}
	}
}

// wait waits until an expression is true on a page.
func wait(t *testing.T, p *Page, expression string) {
	t.Helper()
	check(t, p.Wait(expression))
}

// eval returns the value of an expression on a page.
func eval[T any](t *testing.T, p *Page, expression string) T {
	t.Helper()
	value, err := Eval[T](p, expression)
	check(t, err)
	return value
}

// unspoilt fails the test if a page has recorded trouble.
func unspoilt(t *testing.T, what string, p *Page) {
	t.Helper()
	for _, text := range p.Trouble() {
		t.Errorf("%s: %s", what, text)
	}
}
