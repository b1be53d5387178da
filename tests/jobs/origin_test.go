package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A handler can find out what created its job, in each attempt: after a backfill, the planned instant does not show how late the job is.
func TestAJobHasItsOrigin(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		begin := time.Now()
		var seen []string
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("alert", func(_ context.Context, job *chime.Job) error {
			id, _, _ := strings.Cut(job.ID, "#dead-")
			seen = append(seen, fmt.Sprint(id, " ", job.Attempt, " ", job.Origin))
			return nil
		})
		w.Handle("report", func(_ context.Context, job *chime.Job) error {
			seen = append(seen, fmt.Sprint(strings.TrimPrefix(job.ID, "s@2000-01-01T"), " ", job.Attempt, " ", job.Origin))
			switch {
			case job.Attempt == 1:
				return errors.New("no")
			case job.Origin == "manual":
				return chime.Discard(errors.New("no"))
			}
			return nil
		}, chime.Retry(chime.Fixed(time.Second)))
		schedules := chime.NewSchedules(f.Server.Store())
		if _, err := schedules.Put(t.Context(), "s", recurrence.Recurrence{StartTime: begin.Add(time.Hour), Frequency: recurrence.Hour, Interval: 1, Count: 1}, chime.JobName("report"), chime.OnDeath(chime.Item{Name: "alert"})); err != nil {
			t.Fatal(err)
		}
		stop := f.Start(w)
		fixture.Pass(90 * time.Minute)
		if _, err := schedules.Backfill(t.Context(), "s", begin, begin.Add(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		if _, err := schedules.Trigger(t.Context(), "s", chime.ID("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{}).Enqueue(t.Context(), "alert", nil, chime.ID("e")); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		slices.Sort(seen)
		want := []string{"01:00:00Z 1 backfill", "01:00:00Z 1 occurrence", "01:00:00Z 2 backfill", "01:00:00Z 2 occurrence", "e 1 ", "s#x 1 death", "s#x 1 manual", "s#x 2 manual"}
		if !slices.Equal(seen, want) {
			t.Errorf("job, attempt, origin: %q, want %q", seen, want)
		}
	})
}

// A handler can find out where its job runs, for traces and logs.
func TestAJobNamesItsWorkerAndItsPartition(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := redisstore.New(f.Server.Client(), redisstore.Options{Partitions: map[string]int{"default": 4}})
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet(), Concurrency: 1})
		ran := map[int]int{}
		worker.Handle("work", func(ctx context.Context, job *chime.Job) error {
			if want := protocol.PartitionOf(job.ID, 4); job.Partition != want {
				t.Errorf("job %s has partition %d, want %d", job.ID, job.Partition, want)
			}
			ran[job.Partition]++
			all, err := chime.NewWorkers(store).List(ctx)
			if err != nil || len(all) != 1 || all[0].Name != job.Worker {
				t.Errorf("the job's worker is %q, the store has %v (%v)", job.Worker, all, err)
			}
			return nil
		})
		stop := f.Start(worker)
		items := make([]chime.Item, 40)
		for i := range items {
			items[i].Name = "work"
		}
		if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).EnqueueMany(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if len(ran) != 4 {
			t.Errorf("jobs of %d partitions ran, want 4: %v", len(ran), ran)
		}
	})
}
