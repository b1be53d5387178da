package docs_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func TestThePageOnGroupsShowsCodeThatRuns(t *testing.T) {
	shows(t, "groups.md", "groups_test.go", "groups_run_test.go", "groups_programs_test.go", "groups_programs_run_test.go")
}

// inBackground runs a role until stop is called.
func inBackground(role chime.Role) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- role.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// The jobs of a schedule belong to its group, and wait for its turn.
func TestAScheduleHasAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		schedules, queues := chime.NewSchedules(server.Store()), chime.NewQueues(server.Store())
		if err := putNightly(t.Context(), schedules, "tenant-42"); err != nil {
			t.Fatal(err)
		}
		if err := queues.PauseGroup(t.Context(), "exports", "tenant-42"); err != nil {
			t.Fatal(err)
		}
		w := chime.NewWorker(server.Store(), chime.WorkerOptions{Queues: map[string]int{"exports": 1}})
		started := make(chan *chime.Job, 10)
		w.Handle("export", func(_ context.Context, job *chime.Job) error {
			started <- job
			return nil
		})
		stop := inBackground(w)
		time.Sleep(24 * time.Hour)
		group, err := queues.Group(t.Context(), "exports", "tenant-42")
		if err != nil || group.Waiting != 1 || len(started) != 0 {
			t.Errorf("the group is %+v, %v, and %d runs have started; want one that waits", group, err, len(started))
		}
		if err := queues.ResumeGroup(t.Context(), "exports", "tenant-42"); err != nil {
			t.Fatal(err)
		}
		if job := <-started; job.Group != "tenant-42" || job.Schedule != "nightly-tenant-42" || job.Lateness() < time.Hour {
			t.Errorf("started %+v, want the occurrence that has waited", job)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// One tenant has enqueued many exports; those of the others do not wait for them, and each has at most as many at once as its rule allows.
func TestTenantsShareTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		enqueuer, queues := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{}), chime.NewQueues(server.Store())
		for range 50 {
			if err := enqueueExport(t.Context(), enqueuer, "tenant-1", "a.csv"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := groupedExport.Enqueue(t.Context(), enqueuer, exportArgs{"tenant-42", "b.csv"}); err != nil {
			t.Fatal(err)
		}
		if err := setRules(t.Context(), queues); err != nil {
			t.Fatal(err)
		}
		w := chime.NewWorker(server.Store(), chime.WorkerOptions{Queues: map[string]int{"exports": 1}, Concurrency: 10})
		running, most, second := 0, 0, false
		slots := make(chan func())
		w.Handle("export", func(context.Context, *chime.Job) error {
			slots <- func() { running++; most = max(most, running) }
			<-time.After(time.Second)
			slots <- func() { running-- }
			return nil
		})
		groupedExport.Handle(w, func(context.Context, *chime.Job, exportArgs) error {
			slots <- func() { second = true }
			return nil
		})
		go func() {
			for count := range slots {
				count()
			}
		}()
		stop := inBackground(w)
		time.Sleep(time.Second)
		if !second {
			t.Error("the second tenant's export has not started within a second")
		}
		time.Sleep(40 * time.Second)
		if most != 2 {
			t.Errorf("%d exports of a tenant ran at once, want 2", most)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		close(slots)
	})
}

// Of an endpoint's webhooks the second waits until the first has succeeded; a paused endpoint is shown.
func TestWebhooksAreDeliveredInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		queues, enqueuer := chime.NewQueues(server.Store()), chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Queue: "webhooks"})
		if err := orderByEndpoint(t.Context(), queues); err != nil {
			t.Fatal(err)
		}
		for _, endpoint := range []string{"example.com", "example.org"} {
			for range 2 {
				if _, err := enqueuer.Enqueue(t.Context(), "deliver", nil, chime.Group(endpoint)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := pauseEndpoint(t.Context(), queues, "example.org"); err != nil {
			t.Fatal(err)
		}
		w := chime.NewWorker(server.Store(), chime.WorkerOptions{Queues: map[string]int{"webhooks": 1}})
		var delivered []int
		w.Handle("deliver", func(_ context.Context, job *chime.Job) error {
			delivered = append(delivered, job.Attempt)
			if len(delivered) == 1 {
				return chime.RetryAfter(time.Minute, context.DeadlineExceeded)
			}
			return nil
		})
		stop := inBackground(w)
		time.Sleep(30 * time.Second)
		blocked, err := blockedGroups(t.Context(), queues)
		if got := strings.Join(blocked, "; "); err != nil || got != "example.com: ordered, 1 wait; example.org: paused, 2 wait" {
			t.Errorf("blocked: %q, %v", got, err)
		}
		time.Sleep(2 * time.Minute)
		if !slices.Equal(delivered, []int{1, 2, 1}) {
			t.Errorf("the attempts are %v, want the second webhook after the retry of the first", delivered)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
