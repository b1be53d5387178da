package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// nothing is a store without any call.
type nothing struct{ protocol.Store }

func (n nothing) Protocol() protocol.Store { return n }

// locked runs a handler one at a time.
func locked(handler chime.Handler) chime.Handler {
	var mu sync.Mutex
	return func(ctx context.Context, job *chime.Job) error {
		mu.Lock()
		defer mu.Unlock()
		return handler(ctx, job)
	}
}

// Requeued dead jobs run at once and start again at attempt 1. A step has at most 500 jobs, and each step is reported.
func TestRequeuedDeadJobsRunFromTheirFirstAttempt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		fails := true
		attempts := map[string][]int{}
		w := f.Worker(chime.WorkerOptions{Concurrency: 100})
		handle := func(ctx context.Context, job *chime.Job) error {
			attempts[job.ID] = append(attempts[job.ID], job.Attempt)
			if fails {
				return fmt.Errorf("no %s today", strings.Split(job.ID, "-")[0])
			}
			return nil
		}
		w.Handle("work", locked(handle), chime.Backoff(func(int) time.Duration { return time.Minute }))
		stop := f.Start(w)
		f.Add("work", 0, fixture.Names("bread", 1200)...)
		f.Add("work", 0, fixture.Names("wine", 3)...)
		fixture.Pass(time.Hour)
		if s := f.Stats(); s.Dead != 1203 {
			t.Fatalf("%d dead, want 1203", s.Dead)
		}
		fails = false
		jobs := chime.NewJobs(f.Server.Store())
		var steps []chime.BulkResult
		result, err := jobs.Requeue(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead, Error: "no bread"}, func(r chime.BulkResult) { steps = append(steps, r) })
		if err != nil || result != (chime.BulkResult{Changed: 1200, Looked: 1203}) {
			t.Errorf("requeued %+v, %v; want 1200 of 1203", result, err)
		}
		if len(steps) != 3 || steps[0].Looked != 500 || steps[2] != result {
			t.Errorf("reported %+v, want three steps, the last with the result", steps)
		}
		fixture.Pass(time.Minute)
		if s := f.Stats(); s.Dead != 3 || s.Done != 1200 {
			t.Errorf("stats %+v, want 3 dead, 1200 done", s)
		}
		if got := fmt.Sprint(attempts["bread-0007"], attempts["wine-0002"]); got != "[1 2 3 1] [1 2 3]" {
			t.Errorf("attempts %s, want [1 2 3 1] [1 2 3]", got)
		}
		again, err := jobs.Requeue(t.Context(), chime.JobFilter{Queue: "default", IDs: []string{"wine-0000", "bread-0000", "nobody"}}, nil)
		if err != nil || again != (chime.BulkResult{Changed: 1, Gone: 2, Looked: 3}) {
			t.Errorf("requeued by ID %+v, %v; want one changed, two gone", again, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// An ID that is given twice counts once: its job is listed, requeued, run and deleted once.
func TestAnIDThatIsGivenTwiceCountsOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Add("work", time.Hour, "a", "b", "c")
		jobs := chime.NewJobs(f.Server.Store())
		filter := chime.JobFilter{Queue: "default", IDs: []string{"a", "a", "b", "a", "c", "b"}, Limit: 2}
		if got := listed(t, jobs, filter); got != "a b c" {
			t.Errorf("listed %s, want a b c", got)
		}
		page, err := jobs.Page(t.Context(), filter)
		if err != nil || len(page.Jobs) != 2 || page.Looked != 2 || page.Next == "" {
			t.Errorf("page %+v, %v; want two jobs after reading two, and a next page", page, err)
		}
		filter.Limit, filter.After = 0, page.Next
		if page, err = jobs.Page(t.Context(), filter); err != nil || len(page.Jobs) != 1 || page.Jobs[0].ID != "c" || page.Next != "" {
			t.Errorf("page %+v, %v; want c, and no next page", page, err)
		}
		twice := func(ids ...string) chime.JobFilter {
			return chime.JobFilter{Queue: "default", IDs: append(ids, ids...)}
		}
		if result, err := jobs.Requeue(t.Context(), twice("a", "b"), nil); err != nil || result != (chime.BulkResult{Changed: 2, Looked: 2}) {
			t.Errorf("requeued %+v, %v; want 2 of 2", result, err)
		}
		if result, err := jobs.Delete(t.Context(), twice("b", "c"), nil); err != nil || result != (chime.BulkResult{Changed: 2, Looked: 2}) {
			t.Errorf("deleted %+v, %v; want 2 of 2", result, err)
		}
		var r fixture.Runs
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("work", func(_ context.Context, job *chime.Job) error { r.Add(job.ID); return nil })
		stop := f.Start(w)
		fixture.Pass(2 * time.Hour)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if r.N["a"] != 1 || len(r.N) != 1 {
			t.Errorf("ran %v, want a once", r.N)
		}
	})
}

// Requeue of retrying jobs ends: it does not requeue a job again that fails again.
func TestRequeueOfRetryingJobsEnds(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		ran := 0
		w := f.Worker(chime.WorkerOptions{Concurrency: 100})
		w.Handle("work", locked(func(ctx context.Context, job *chime.Job) error {
			ran++
			return errors.New("no")
		}), chime.Backoff(func(int) time.Duration { return time.Hour }))
		stop := f.Start(w)
		f.Add("work", 0, fixture.Names("job", 700)...)
		f.Add("work", 10*time.Hour, fixture.Names("later", 5)...)
		fixture.Pass(time.Minute)
		result, err := chime.NewJobs(f.Server.Store()).Requeue(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobRetrying},
			func(chime.BulkResult) { fixture.Pass(time.Minute) })
		if err != nil || result.Changed != 700 {
			t.Errorf("requeued %+v, %v; want 700", result, err)
		}
		fixture.Pass(time.Minute)
		if ran != 1400 {
			t.Errorf("the handler ran %d times, want twice for each of 700", ran)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Delete removes the waiting jobs of its filter in every state. It does not remove running jobs, jobs added later, or a schedule's next occurrence.
func TestDeleteRemovesOnlyTheFiltersJobs(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Declare("tick", `{"cron":"0 12 * * *"}`, "run_once", chime.OverlapSkip)
		jobs := chime.NewJobs(f.Server.Store())
		f.Add("work", 0, fixture.Names("waits", 1300)...)
		f.Add("other", 0, "other")
		f.Add("work", time.Hour, fixture.Names("delayed", 3)...)
		added := false
		result, err := jobs.Delete(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobWaiting, Name: "work"}, func(chime.BulkResult) {
			if !added {
				added = true
				f.Add("work", 0, "came-later")
			}
		})
		if err != nil || result != (chime.BulkResult{Changed: 1300, Looked: 1302}) {
			t.Errorf("deleted %+v, %v; want 1300 of 1302", result, err)
		}
		if s := f.Stats(); s.Waiting != 2 || s.Delayed != 4 {
			t.Errorf("stats %+v, want 2 waiting, 4 delayed", s)
		}
		if result, err = jobs.Delete(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDelayed}, nil); err != nil || result != (chime.BulkResult{Changed: 3, Looked: 4}) {
			t.Errorf("deleted %+v, %v; want 3 of 4, because one is the next occurrence", result, err)
		}
		var r fixture.Runs
		w := f.Worker(chime.WorkerOptions{})
		for _, name := range []string{"work", "other", "tick"} {
			w.Handle(name, func(ctx context.Context, job *chime.Job) error {
				r.Add(job.ID)
				return nil
			})
		}
		stop := f.Start(w)
		fixture.Pass(13 * time.Hour)
		if got, want := fmt.Sprint(r.N), "map[came-later:1 other:1 tick@2000-01-01T12:00:00Z:1]"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A bulk change stops when its ctx ends, and reports what it has done.
func TestABulkChangeStopsWithItsCtx(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Add("work", 0, fixture.Names("job", 1200)...)
		ctx, stop := context.WithCancel(t.Context())
		result, err := chime.NewJobs(f.Server.Store()).Delete(ctx, chime.JobFilter{Queue: "default", State: chime.JobWaiting}, func(chime.BulkResult) { stop() })
		if !errors.Is(err, context.Canceled) || result != (chime.BulkResult{Changed: 500, Looked: 500}) {
			t.Errorf("deleted %+v, %v; want 500 and context.Canceled", result, err)
		}
		if s := f.Stats(); s.Waiting != 700 {
			t.Errorf("%d wait, want 700", s.Waiting)
		}
	})
}

// A filter that matches the whole store, or jobs that cannot be changed, is refused before any call is sent.
func TestBulkChangesRefuseFiltersThatMakeNoSense(t *testing.T) {
	jobs := chime.NewJobs(nothing{}) // a store without calls: each would panic
	for _, c := range []struct {
		filter chime.JobFilter
		field  string
		both   bool // Delete refuses it too
	}{
		{chime.JobFilter{}, "queue", true},
		{chime.JobFilter{Queue: "q"}, "JobFilter.State", true},
		{chime.JobFilter{Queue: "q", State: chime.JobRunning}, "JobFilter.State", true},
		{chime.JobFilter{Queue: "q", State: chime.JobTaken}, "JobFilter.State", true},
		{chime.JobFilter{Queue: "q", State: chime.JobDone}, "JobFilter.State", true},
		{chime.JobFilter{Queue: "q", State: chime.JobWaiting}, "JobFilter.State", false},
		{chime.JobFilter{Queue: "q", State: chime.JobWaiting, Before: time.Now()}, "JobFilter.Before", true},
		{chime.JobFilter{Queue: "q", State: chime.JobDead, Limit: 5}, "JobFilter.Limit", true},
		{chime.JobFilter{Queue: "q", State: chime.JobDead, After: "x"}, "JobFilter.After", true},
	} {
		_, err := jobs.Requeue(t.Context(), c.filter, nil)
		if !errors.Is(err, &chime.InvalidError{Field: c.field}) {
			t.Errorf("requeue %+v: %v, want %s refused", c.filter, err, c.field)
		}
		if !c.both {
			continue
		}
		if _, err = jobs.Delete(t.Context(), c.filter, nil); !errors.Is(err, &chime.InvalidError{Field: c.field}) {
			t.Errorf("delete %+v: %v, want %s refused", c.filter, err, c.field)
		}
	}
	for _, bad := range [][2]string{{"", "a"}, {"q", ""}, {"q", "a\nb"}} {
		if _, err := jobs.Cancel(t.Context(), bad[0], bad[1]); !errors.Is(err, &chime.InvalidError{}) {
			t.Errorf("cancel %q of %q: %v, want an InvalidError", bad[1], bad[0], err)
		}
	}
}
