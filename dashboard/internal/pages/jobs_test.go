package pages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// hostile has names and texts that would do harm in a page that does not escape them.
const hostile = `"><script>alert(1)</script></title>`

// onShop runs a test under fake time on a store with jobs of each state: 12 dead and 1 retrying on media, 3 waiting on idle, 2 delayed and 1 running
// on mail, 1 parked on media.
func onShop(t *testing.T, test func(t *testing.T, server *embedded.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		store := server.Store()
		enqueue := func(name, queue, id string, options ...chime.EnqueueOption) {
			t.Helper()
			item := chime.Item{Name: name, Args: map[string]string{"password": "canary"}, Options: append(options, chime.Queue(queue), chime.ID(id))}
			if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).EnqueueMany(t.Context(), []chime.Item{item}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 12 {
			enqueue("resize", "media", fmt.Sprintf("r%02d", i), chime.MaxAttempts(1))
		}
		enqueue("mail", "media", "again", chime.MaxAttempts(25), chime.Header("tenant", hostile))
		enqueue("nobody", "media", "parked")
		enqueue("slow", "mail", "slow")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"media": 1, "mail": 1}, Concurrency: 5, Logger: slog.New(slog.DiscardHandler)})
		begun := time.Now()
		worker.Handle("resize", func(_ context.Context, job *chime.Job) error {
			i, _ := strconv.Atoi(strings.TrimPrefix(job.ID, "r"))
			time.Sleep(time.Until(begun.Add(time.Duration(i+1) * 100 * time.Millisecond))) // fake time: one after another, because jobs of one millisecond have no order
			return fmt.Errorf("dial tcp 10.0.0.%s:5432: connection refused by %s", strings.TrimPrefix(job.ID, "r"), hostile)
		})
		worker.Handle("mail", func(context.Context, *chime.Job) error { return errors.New("mailbox is full\n\tat smtp.go:12") },
			chime.Backoff(func(int) time.Duration { return time.Hour }))
		worker.Handle("slow", func(ctx context.Context, job *chime.Job) error {
			_ = job.Progress(0.62)
			<-ctx.Done()
			return ctx.Err()
		})
		ended := make(chan error, 1)
		go func() { ended <- chime.Run(ctx, worker) }()
		time.Sleep(5 * time.Second) // fake time: all first attempts have ended, and the progress was sent
		for i := range 3 {
			enqueue("wait", "idle", fmt.Sprintf("w%d", i))
		}
		for i := range 2 {
			enqueue("later", "idle", fmt.Sprintf("l%d", i), chime.In(time.Hour))
		}
		test(t, server)
		stop()
		<-ended
	})
}

// readPage reads a page with a query, for a viewer with all rights.
func readPage(t *testing.T, load func(context.Context, *Request) (View, error), query string, values ...string) (View, error) {
	t.Helper()
	parsed, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	request := &Request{Query: parsed, Zone: time.UTC, Can: Can{true, true, true, true}, Values: map[string]string{}}
	for ; len(values) > 0; values = values[2:] {
		request.Values[values[0]] = values[1]
	}
	return load(t.Context(), request)
}

// jobsPage returns the list of jobs of a query.
func jobsPage(t *testing.T, site *Site, query string) *Jobs {
	t.Helper()
	view, err := readPage(t, site.Jobs, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return view.Model.(*Jobs)
}

func (m *Jobs) ids() string {
	var ids []string
	for _, row := range m.Rows {
		ids = append(ids, row.ID)
	}
	return strings.Join(ids, " ")
}

func TestEachTabHasTheJobsOfItsStateAndWhatCanBeDoneToThem(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		site := NewSite(server.Store(), Hooks{})
		for _, c := range []struct{ query, tab, ids, verbs, filter string }{
			{"", "waiting", "w0 w1 w2", "cancel delete", "state:waiting"},
			{"state=delayed", "delayed", "l0 l1", "requeue cancel delete", "state:delayed"},
			{"state=running", "running", "slow", "cancel", ""},
			{"state=retrying", "retrying", "again", "requeue cancel delete", "state:retrying"},
			{"state=parked", "parked", "parked", "requeue cancel delete", "state:parked"},
			{"state=dead&limit=2", "dead", "r11 r10", "requeue delete", "state:dead"},
			{"state=dead&q=r03", "dead", "r03", "requeue delete", "r03 state:dead"},
			{"q=state:dead+r03", "dead", "r03", "requeue delete", "r03 state:dead"},
			{"q=r03", "all", "r03", "requeue cancel delete", ""},
			{"q=job:resize&queue=media&state=dead&limit=1", "dead", "r11", "requeue delete", "state:dead queue:media job:resize"},
			{"q=job:none*", "all", "", "", ""},
			{"queue=mail&state=running", "running", "slow", "cancel", ""},
		} {
			m := jobsPage(t, site, c.query)
			var verbs []string
			for _, verb := range m.Bulk.Verbs {
				verbs = append(verbs, verb.Name)
			}
			if m.State != c.tab || m.ids() != c.ids || strings.Join(verbs, " ") != c.verbs || m.Filter != c.filter {
				t.Errorf("%q: got tab %s with %q, to %v with %q; want %+v", c.query, m.State, m.ids(), verbs, m.Filter, c)
			}
			if len(m.Rows) == 0 && m.Empty.Text == "" {
				t.Errorf("%q: the page does not show that the list is empty", c.query)
			}
		}
		if m := jobsPage(t, site, "state=dead&limit=5"); m.Total != 12 || m.Next == "" {
			t.Errorf("dead: %d in total, next %q; want 12, and a next page", m.Total, m.Next)
		} else if next := jobsPage(t, site, "state=dead&limit=7&after="+url.QueryEscape(m.Next)); next.ids() != "r06 r05 r04 r03 r02 r01 r00" || next.Next != "" || !next.Later {
			t.Errorf("the page after it: %q, next %q", next.ids(), next.Next)
		}
	})
}

func TestAFilterThatIsWrongIsSaidBesideIt(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		site := NewSite(server.Store(), Hooks{})
		for query, want := range map[string]string{
			"q=stat:dead":             "one of state, queue",
			"q=queue:mail&queue=idle": "no queue, or the chosen one: idle",
			"queue=nowhere":           `There is no queue "nowhere"`,
		} {
			if m := jobsPage(t, site, query); !strings.Contains(m.Wrong, want) || len(m.Rows) > 0 || m.Query != strings.TrimPrefix(strings.Split(query, "&")[0], "q=") && m.Query != "" {
				t.Errorf("%s: got %q with %d jobs, want %q", query, m.Wrong, len(m.Rows), want)
			}
		}
		for _, query := range []string{"limit=201", "limit=x", "state=gone", "after=x"} {
			var wrong *QueryError
			if _, err := readPage(t, site.Jobs, query); !errors.As(err, &wrong) && !errors.As(err, new(*chime.InvalidError)) {
				t.Errorf("%s: got %v, want an error of the query", query, err)
			}
		}
	})
}

func TestWhoMayNotChangeJobsHasNoTicks(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		site := NewSite(server.Store(), Hooks{})
		for _, c := range []struct {
			can  Can
			want int
		}{{Can{}, 0}, {Can{Delete: true}, 1}, {Can{Operate: true}, 2}} {
			view, err := site.Jobs(t.Context(), &Request{Can: c.can})
			if err != nil {
				t.Fatal(err)
			}
			if got := verbsFor(c.can, "delayed"); len(got) != c.want || len(view.Model.(*Jobs).Bulk.Verbs) > c.want {
				t.Errorf("%+v: %v", c.can, got)
			}
		}
	})
}

// A filter does not reveal the hidden part of an error.
func TestErrorsAreShownAndFoundAsTheApplicationWants(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		site := NewSite(server.Store(), Hooks{RedactError: func(job *chime.JobInfo, text string) string {
			return job.Name + ": " + strings.ReplaceAll(text, "refused", "…")
		}})
		m := jobsPage(t, site, "state=dead&q="+url.QueryEscape(`error:"dial tcp"`))
		if len(m.Rows) != 12 || !strings.HasPrefix(m.Rows[0].Error, "resize: dial tcp") || strings.Contains(m.Rows[0].Error, "refused") {
			t.Errorf("got %d, the first %+v", len(m.Rows), m.Rows)
		}
		for _, query := range []string{"state=dead&limit=5&q=", "state=all&limit=5&q=", "state=dead&limit=5&q=r03+"} {
			hidden, none := jobsPage(t, site, query+"error:refused"), jobsPage(t, site, query+"error:nonsense")
			if len(hidden.Rows) != 0 || hidden.Next != none.Next || hidden.Looked != none.Looked || hidden.Empty != none.Empty {
				t.Errorf("%s: a hidden text and an absent text have different results: %+v, want %+v", query, hidden, none)
			}
		}
		first := jobsPage(t, site, "state=dead&limit=5&q=error:resize")
		rest := jobsPage(t, site, "state=dead&limit=50&q=error:resize&after="+url.QueryEscape(first.Next))
		if ids := first.ids() + " " + rest.ids(); ids != "r11 r10 r09 r08 r07 r06 r05 r04 r03 r02 r01 r00" || rest.Next != "" {
			t.Errorf("the shown text finds only %q in two pages, and the next page is %q", ids, rest.Next)
		}
	})
}
