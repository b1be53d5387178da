package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Jobs are found and changed by their headers in every state. This includes occurrences, whose header is that of their schedule.
func TestJobsAreFoundByTheirHeader(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Server.Store()
		jobs, e := chime.NewJobs(store), quietEnqueuer(store, chime.EnqueuerOptions{})
		enqueue := func(id, tenant string, options ...chime.EnqueueOption) {
			t.Helper()
			options = append(options, chime.ID(id), chime.Header("tenant", tenant), chime.Header("by", "test"))
			if _, err := e.Enqueue(t.Context(), "work", nil, options...); err != nil {
				t.Fatal(err)
			}
		}
		worker := f.Worker(chime.WorkerOptions{})
		worker.Handle("work", func(context.Context, *chime.Job) error { return chime.Discard(errors.New("no")) })
		for i := range 6 {
			enqueue(fmt.Sprint("dead", i), []string{"acme", "acme inc"}[i%2])
		}
		f.Add("work", 0, "plain")
		stop := f.Start(worker)
		fixture.Pass(time.Second)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		enqueue("w1", "acme")
		enqueue("w2", "")
		enqueue("later", "acme", chime.In(time.Hour))
		_, err := chime.NewSchedules(store).Put(t.Context(), "s", recurrence.Recurrence{StartTime: time.Date(2000, 1, 1, 0, 30, 0, 0, time.UTC)}, chime.JobName("work"), chime.Header("tenant", "acme"))
		if err != nil {
			t.Fatal(err)
		}
		acme := map[string]string{"tenant": "acme"}
		for _, c := range []struct {
			want   string
			filter chime.JobFilter
		}{
			{"dead0 dead2 dead4", chime.JobFilter{State: chime.JobDead, Header: acme, Limit: 2}},
			{"dead1 dead3 dead5", chime.JobFilter{State: chime.JobDead, Header: map[string]string{"tenant": "acme inc", "by": "test"}}},
			{"", chime.JobFilter{State: chime.JobDead, Header: map[string]string{"tenant": "acme", "by": "Test"}}},
			{"", chime.JobFilter{State: chime.JobDead, Header: map[string]string{"tenant": "acm"}}},
			{"s@2000-01-01T00:30:00Z later", chime.JobFilter{State: chime.JobDelayed, Header: acme}},
			{"w1", chime.JobFilter{State: chime.JobWaiting, Header: acme}},
			{"w2", chime.JobFilter{State: chime.JobWaiting, Header: map[string]string{"tenant": ""}}},
			{"dead0 w1", chime.JobFilter{IDs: []string{"dead0", "dead1", "plain", "w1", "w2"}, Header: acme, Limit: 1}},
		} {
			c.filter.Queue = "default"
			if got := listed(t, jobs, c.filter); got != c.want {
				t.Errorf("%+v: %q, want %q", c.filter, got, c.want)
			}
		}
		result, err := jobs.Requeue(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead, Header: acme}, nil)
		if err != nil || result.Changed != 3 {
			t.Errorf("requeued %+v, %v; want the three of acme", result, err)
		}
		if left := listed(t, jobs, chime.JobFilter{Queue: "default", State: chime.JobDead}); left != "plain dead1 dead3 dead5" && left != "dead1 dead3 dead5 plain" {
			t.Errorf("%q are dead still, want the others", left)
		}
		for _, header := range []map[string]string{{"": "a"}, {"a\n": "a"}, {"a": "\xff"}} {
			if _, err := jobs.Page(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead, Header: header}); !errors.Is(err, &chime.InvalidError{Field: "JobFilter.Header"}) {
				t.Errorf("%q: %v, want an InvalidError", header, err)
			}
		}
	})
}

// A call reads at most 500 jobs to find those with a header, even if such jobs are rare.
func TestAPageOfAHeaderReadsABoundedNumberOfJobs(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Add("work", time.Hour, fixture.Names("job-", 1200)...)
		e := quietEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		if _, err := e.Enqueue(t.Context(), "work", nil, chime.ID("rare"), chime.In(2*time.Hour), chime.Header("tenant", "acme")); err != nil {
			t.Fatal(err)
		}
		filter := chime.JobFilter{Queue: "default", State: chime.JobDelayed, Header: map[string]string{"tenant": "acme"}, Limit: 1}
		for calls := 1; ; calls++ {
			page, err := chime.NewJobs(f.Server.Store()).Page(t.Context(), filter)
			if err != nil || page.Looked > 500 || calls > 3 {
				t.Fatalf("call %d read %d jobs, %v; want at most 500 in each of three calls", calls, page.Looked, err)
			}
			if len(page.Jobs) == 1 {
				if page.Jobs[0].ID != "rare" || calls != 3 {
					t.Errorf("call %d found %s, want rare by the third", calls, page.Jobs[0].ID)
				}
				return
			}
			filter.After = page.Next
		}
	})
}
