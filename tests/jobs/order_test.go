package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Dead jobs of several queues are listed from the last one that died to the first, and back.
func TestJobsAreListedInTheOrderOfTheirInstants(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Server.Store()
		jobs, e := chime.NewJobs(store), quietEnqueuer(store, chime.EnqueuerOptions{})
		var queues []string
		var want []string
		worker := f.Worker(chime.WorkerOptions{Queues: map[string]int{"a": 1, "b": 1, "c": 1}})
		worker.Handle("work", func(context.Context, *chime.Job) error { return chime.Discard(errors.New("no")) })
		stop := f.Start(worker)
		for i := range 9 {
			queue := string(rune('a' + i*2%3))
			if i < 3 {
				queues = append(queues, queue)
			}
			id := fmt.Sprintf("%s%d", queue, i)
			want = append([]string{id}, want...)
			if _, err := e.Enqueue(t.Context(), "work", nil, chime.ID(id), chime.Queue(queue)); err != nil {
				t.Fatal(err)
			}
			fixture.Pass(time.Minute)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		var got []string
		var pages []chime.JobPage
		for filter := (chime.JobFilter{Queues: queues, State: chime.JobDead, Order: chime.NewestFirst, Limit: 4}); ; {
			page, err := jobs.Page(t.Context(), filter)
			if err != nil {
				t.Fatal(err)
			}
			for _, job := range page.Jobs {
				got = append(got, job.ID)
				if !strings.HasPrefix(job.ID, job.Queue) {
					t.Errorf("job %s is shown on queue %s", job.ID, job.Queue)
				}
			}
			pages = append(pages, page)
			if filter.After = page.Next; page.Next == "" {
				break
			}
		}
		if len(pages) != 3 || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%d pages: %v; want 3 with %v", len(pages), got, want)
		}
		if pages[0].Previous != "" {
			t.Errorf("the first page has one before it: %q", pages[0].Previous)
		}
		before, err := jobs.Page(t.Context(), chime.JobFilter{Queues: queues, State: chime.JobDead, Order: chime.OldestFirst, Limit: 4, After: pages[1].Previous})
		if err != nil || len(before.Jobs) != 4 || before.Jobs[0].ID != want[3] || before.Jobs[3].ID != want[0] || before.Next != "" {
			t.Errorf("before the second page: %v, %v; want those of the first in reverse", before.Jobs, err)
		}
	})
}

func TestAnOrderIsRefusedWhereThereIsNone(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		jobs := chime.NewJobs(f.Server.Store())
		for want, filter := range map[string]chime.JobFilter{
			"JobFilter.Order":        {Queue: "default", State: chime.JobWaiting, Order: chime.NewestFirst},
			"JobFilter.IDs":          {Queue: "default", State: chime.JobDead, Order: chime.NewestFirst, IDs: []string{"\x01"}},
			"oldest or newest":       {Queue: "default", State: chime.JobDead, Order: "down"},
			"no Queue, and an Order": {Queue: "default", Queues: []string{"mail"}, State: chime.JobDead, Order: chime.NewestFirst},
			"JobFilter.Queues":       {Queues: []string{"mail"}, State: chime.JobDead},
			"1000 at most":           {Queues: make([]string, 1001), State: chime.JobDead, Order: chime.NewestFirst},
			"queue":                  {Queues: []string{"mail", "no queue"}, State: chime.JobDead, Order: chime.NewestFirst},
		} {
			var invalid *chime.InvalidError
			if _, err := jobs.Page(t.Context(), filter); !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: got %v, want an InvalidError with %q", filter, err, want)
			}
		}
		if _, err := jobs.Requeue(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead, Order: chime.NewestFirst}, nil); err == nil || !strings.Contains(err.Error(), "a change is of one queue") {
			t.Errorf("a change with an order: got %v, want an error", err)
		}
	})
}
