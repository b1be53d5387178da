package jobfind_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// shop returns a store with dead, waiting and delayed jobs on three queues.
func shop(t *testing.T) chime.Store {
	t.Helper()
	server := embedded.StartInMemory()
	t.Cleanup(func() { _ = server.Close() })
	ctx := t.Context()
	store := server.Store()
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	var items []chime.Item
	for i := range 12 {
		items = append(items, chime.Item{Name: "resize", Options: []chime.EnqueueOption{chime.Queue("media"), chime.ID(fmt.Sprintf("r%02d", i)), chime.MaxAttempts(1)}})
	}
	for i := range 3 {
		items = append(items, chime.Item{Name: "report", Options: []chime.EnqueueOption{chime.Queue("mail"), chime.ID(fmt.Sprintf("m%02d", i)), chime.MaxAttempts(1)}})
	}
	if _, err := enqueuer.EnqueueMany(ctx, items); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"media": 1, "mail": 1}, Logger: slog.New(slog.DiscardHandler)})
	ended := make(chan struct{}, len(items))
	worker.Handle("resize", func(ctx context.Context, job *chime.Job) error {
		defer func() { ended <- struct{}{} }()
		return fmt.Errorf("dial 10.0.0.%d: connection refused", len(job.ID))
	})
	worker.Handle("report", func(ctx context.Context, job *chime.Job) error {
		defer func() { ended <- struct{}{} }()
		return errors.New(`no such customer "` + job.ID + `"`)
	})
	closed := make(chan error, 1)
	go func() { closed <- chime.Run(running, worker) }()
	for range items {
		<-ended
	}
	stop()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if _, err := enqueuer.EnqueueMany(ctx, []chime.Item{
		{Name: "report", Options: []chime.EnqueueOption{chime.ID("wait1")}},
		{Name: "reportlate", Options: []chime.EnqueueOption{chime.ID("late1"), chime.In(time.Hour)}},
		{Name: "wait1", Options: []chime.EnqueueOption{chime.ID("other"), chime.In(time.Hour)}},
	}); err != nil {
		t.Fatal(err)
	}
	return store
}

func TestASearchFindsTheJobsThatTheFilterMeans(t *testing.T) {
	store := shop(t)
	failed, err := chime.NewJobs(store).Get(t.Context(), "mail", "m00")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		filter string
		want   string
	}{
		{"", "m00 m01 m02 r00 r01 r02 r03 r04 r05 r06 r07 r08 r09 r10 r11 wait1 late1 other"},
		{"state:dead queue:mail", "m00 m01 m02"},
		{"report", "m00 m01 m02 wait1 late1"},
		{"job:report", "m00 m01 m02 wait1"},
		{"job:report* state:delayed", "late1"},
		{"wait1", "wait1 other"}, // an ID, and a prefix of a name
		{"r03", "r03"},
		{"report m01", "m01"},
		{`error:"no such"`, "m00 m01 m02"},
		{"worker:" + failed.Failures[0].Worker + " queue:mail", "m00 m01 m02"},
		{"worker:nobody*", ""},
		{"attempt:>1", ""},
		{"older:1h", ""},
		{"newer:1h queue:mail", "m00 m01 m02"},
		{`job:"no name"`, ""},
	} {
		filter, err := jobfind.Parse(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{1, 4, 100} {
			var got []string
			search := jobfind.Search{Filter: filter, Limit: limit}
			for {
				found, err := search.Find(t.Context(), store)
				if err != nil {
					t.Fatalf("%q: %v", c.filter, err)
				}
				for _, job := range found.Jobs {
					got = append(got, job.ID)
				}
				if search.After = found.Next; found.Next == "" {
					break
				}
			}
			want := strings.Fields(c.want)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%q by %d: got %v, want %v", c.filter, limit, got, want)
			}
		}
	}
}

func TestASearchStopsAfterSoManyJobs(t *testing.T) {
	store := shop(t)
	filter, _ := jobfind.Parse("state:dead job:none*")
	found, err := jobfind.Search{Filter: filter, Looked: 3, Limit: 2}.Find(t.Context(), store)
	if err != nil || len(found.Jobs) != 0 || found.Looked < 3 || found.Looked > 8 || found.Next == "" {
		t.Errorf("got %d of %d jobs, next %q, %v; want no jobs of about 3, and a place to continue", len(found.Jobs), found.Looked, found.Next, err)
	}
}

// Searches that may read one page at a time reach the end, and find the same jobs as a search without a limit.
func TestASearchReadsSoManyPages(t *testing.T) {
	store := shop(t)
	for name, search := range map[string]jobfind.Search{"one page": {Pages: 1}, "no time": {For: time.Nanosecond}} {
		found, searches := 0, 0
		for search.After, searches = "", 0; ; searches++ {
			some, err := search.Find(t.Context(), store)
			if err != nil || searches > 100 {
				t.Fatalf("%s: search %d: %v", name, searches, err)
			}
			found += len(some.Jobs)
			if search.After = some.Next; some.Next == "" {
				break
			}
		}
		if found != 18 || searches < 3 {
			t.Errorf("%s: found %d jobs in %d searches, want 18 in several", name, found, searches)
		}
	}
}

// If a page has more jobs than there is room for, the search ends after the last job that fits, even if it has no time left.
func TestASearchGoesOnFromTheMiddleOfAPage(t *testing.T) {
	store := shop(t)
	filter, _ := jobfind.Parse("job:res* state:dead")
	for name, search := range map[string]jobfind.Search{"one page": {Pages: 1}, "no time": {For: time.Nanosecond}, "as long as it takes": {}} {
		var got []string
		search.Filter, search.Limit = filter, 5
		for searches := 1; ; searches++ {
			found, err := search.Find(t.Context(), store)
			if err != nil || searches > 4 {
				t.Fatalf("%s: search %d found %q: %v", name, searches, got, err)
			}
			for _, job := range found.Jobs {
				got = append(got, job.ID)
			}
			if search.After = found.Next; found.Next == "" {
				break
			}
			if len(found.Jobs) > 5 {
				t.Errorf("%s: search %d found %d jobs, want at most 5", name, searches, len(found.Jobs))
			}
		}
		if slices.Sort(got); strings.Join(got, " ") != "r00 r01 r02 r03 r04 r05 r06 r07 r08 r09 r10 r11" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// A hidden part of an error matches nothing, so a search does not reveal how many jobs have it, or where they are.
func TestASearchFindsErrorsAsTheyAreShown(t *testing.T) {
	store := shop(t)
	shown := func(job *chime.JobInfo) string {
		return strings.ReplaceAll(job.LastError, "refused", "[cut of "+job.ID+"]")
	}
	for _, c := range []struct {
		filter string
		want   int
	}{
		{"error:refused", 0}, {"error:refused state:dead queue:media", 0}, {"r03 error:refused", 0}, {`error:"[cut of r0"`, 10}, {`error:"[cut of r03]"`, 1}, {`r03 error:"[cut"`, 1},
		{"error:connection", 12}, {`error:"no such"`, 3}, {"state:dead", 15},
	} {
		filter, err := jobfind.Parse(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		none, _ := jobfind.Parse(c.filter)
		if none.Error != "" {
			none.Error = "what no error has"
		}
		for _, search := range []jobfind.Search{{}, {Limit: 4}, {Limit: 4, Pages: 1}} {
			search.Filter, search.Shown = filter, shown
			n, looked := 0, 0
			for searches, end := 0, false; !end; searches++ {
				found, err := search.Find(t.Context(), store)
				if err != nil || searches > 50 {
					t.Fatalf("%q: search %d: %v", c.filter, searches, err)
				}
				n, looked = n+len(found.Jobs), looked+found.Looked
				search.After, end = found.Next, found.Next == ""
			}
			if n != c.want {
				t.Errorf("%q by %d: found %d jobs, want %d", c.filter, search.Limit, n, c.want)
			}
			search.Filter, search.After = none, ""
			if other, err := search.Find(t.Context(), store); err != nil || c.want == 0 && search.Pages == 0 && (other.Looked != looked || other.Next != "") {
				t.Errorf("%q by %d: looked at %d jobs, and at %d for a text that no error has: the difference reveals which jobs have it", c.filter, search.Limit, looked, other.Looked)
			}
		}
	}
}

func TestASearchRefusesAnotherSearchsPlace(t *testing.T) {
	store := shop(t)
	for _, after := range []string{"x", "!", "eyJzIjoiZGVhZCJ9"} {
		_, err := jobfind.Search{After: after}.Find(t.Context(), store)
		if !errors.Is(err, &chime.InvalidError{Field: "after"}) {
			t.Errorf("after %q: got %v, want an error about it", after, err)
		}
	}
	filter, _ := jobfind.Parse("queue:nobody")
	if _, err := (jobfind.Search{Filter: filter}).Find(t.Context(), store); !errors.Is(err, chime.ErrNotFound) {
		t.Errorf("a queue that does not exist: got %v, want ErrNotFound", err)
	}
}

func TestFailuresAreGroupedByJobAndError(t *testing.T) {
	store := shop(t)
	filter, _ := jobfind.Parse("state:dead")
	found, err := jobfind.Search{Filter: filter}.Find(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	groups := jobfind.Groups(found.Jobs)
	if len(groups) != 2 {
		t.Fatalf("got %+v, want two groups", groups)
	}
	if g := groups[0]; g.Count != 12 || g.Job != "resize" || g.Error != "dial #.#.#.#: connection refused" || !slices.Equal(g.Queues, []string{"media"}) || g.First.IsZero() || g.Last.Before(g.First) {
		t.Errorf("got %+v", g)
	}
	if g := groups[1]; g.Count != 3 || g.Job != "report" || g.Error != `no such customer #` {
		t.Errorf("got %+v", g)
	}
}

// Jobs that workers have taken ahead, and those of vanished workers, are found although none of their queue is counted as running.
func TestJobsInFlightAreFoundWhereNoneIsCountedAsRunning(t *testing.T) {
	server := embedded.StartInMemory()
	t.Cleanup(func() { _ = server.Close() })
	store := server.Store()
	if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "hangs", nil, chime.ID("h1")); err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	worker := chime.NewWorker(store, chime.WorkerOptions{DrainTimeout: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	worker.Handle("hangs", func(ctx context.Context, _ *chime.Job) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, worker) }()
	defer func() { stop(); <-ended }()
	<-begun
	for what, queue := range map[string]*chime.QueueInfo{"taken ahead": {Name: "default", Ahead: 1}, "vanished": {Name: "default", Vanished: 1}} {
		found, err := jobfind.Search{States: []chime.JobState{chime.JobRunning, chime.JobTaken}, Queues: []*chime.QueueInfo{queue}}.Find(t.Context(), store)
		if err != nil || len(found.Jobs) != 1 {
			t.Errorf("%s: found %d jobs, %v, want 1", what, len(found.Jobs), err)
		}
	}
}
