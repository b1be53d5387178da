//go:build real

package real_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// Jobs of all kinds run; schedules run and are moved, paused and deleted; jobs are cancelled and replaced. Meanwhile Verify runs again and again
// and finds nothing.
func TestVerifyFindsNothingWhileThousandsOfJobsFlow(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(&redis.Options{ContextTimeoutEnabled: true})
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	store := redisstore.New(client, redisstore.Options{Partitions: map[string]int{"wide": 3}, Logger: log})

	var ran atomic.Int64
	handle := func(_ context.Context, job *chime.Job) error {
		ran.Add(1)
		switch {
		case job.Attempt == 1 && job.Fence%7 == 0:
			return chime.RetryAfter(5*time.Millisecond, errors.New("once more"))
		case job.Fence%13 == 0:
			return chime.Snooze(3 * time.Millisecond)
		case job.Fence%31 == 0:
			return chime.Discard(errors.New("no"))
		}
		return job.Return(job.ID)
	}
	roles := []chime.Role{}
	for range 2 {
		worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"default": 2, "wide": 1, "slow": 1}, Concurrency: 30, Logger: log})
		worker.Handle("work", handle)
		roles = append(roles, worker)
	}
	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Logger: log})
	for i, overlap := range []chime.OverlapPolicy{chime.OverlapSkip, chime.OverlapWait, chime.OverlapCancel, chime.OverlapAllow} {
		for _, queue := range []string{"default", "wide"} {
			name := fmt.Sprint(queue, i)
			if err := scheduler.Schedule(name, recurrence.Recurrence{Frequency: recurrence.Second}, chime.JobName("work"), chime.Queue(queue), chime.Overlap(overlap)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, append(roles, scheduler)...) }()
	if err := chime.NewQueues(store).Limit(t.Context(), "slow", chime.Limit{Running: 3}); err != nil {
		t.Fatal(err)
	}

	flowed := make(chan error, 1)
	go func() { flowed <- flow(t.Context(), store) }()
	reports, jobs := 0, int64(0)
	for flows := true; flows || reports < 3; {
		select {
		case err := <-flowed:
			if err != nil {
				t.Error(err)
			}
			flows = false
		default:
		}
		report, err := chime.Verify(t.Context(), store, chime.VerifyOptions{})
		if err != nil || report.Total > 0 {
			t.Fatalf("found %+v, %v", report, err)
		}
		reports, jobs = reports+1, jobs+report.Jobs
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	report, err := chime.Verify(t.Context(), store, chime.VerifyOptions{})
	if err != nil || report.Total > 0 || report.Queues != 3 || report.Partitions != 5 {
		t.Errorf("at the end found %+v, %v", report, err)
	}
	t.Logf("%d attempts ran; %d reports checked %d jobs", ran.Load(), reports, jobs)
}

// flow enqueues thousands of jobs, and changes jobs and schedules at the same time.
func flow(ctx context.Context, store *redisstore.Store) error {
	enqueuer, jobs, schedules := chime.NewEnqueuer(store, chime.EnqueuerOptions{}), chime.NewJobs(store), chime.NewSchedules(store)
	every := recurrence.Recurrence{Frequency: recurrence.Second}
	for round := range 60 {
		var items []chime.Item
		for i := range 120 {
			item := chime.Item{Name: "work", Options: []chime.EnqueueOption{chime.Queue([]string{"default", "wide", "slow"}[i%3])}}
			switch i % 6 {
			case 1:
				item.Options = append(item.Options, chime.In(time.Duration(i)*time.Millisecond))
			case 2:
				item.Options = append(item.Options, chime.Keep(time.Second))
			case 3:
				item.Options = append(item.Options, chime.ID(fmt.Sprint("own", i%40)), chime.Once(time.Second))
			case 4:
				item.Options = append(item.Options, chime.ID(fmt.Sprint("twin", i%40)), chime.Replace())
			}
			items = append(items, item)
		}
		receipts, err := enqueuer.EnqueueMany(ctx, items)
		if err != nil {
			return err
		}
		for i := range 10 {
			r := receipts[i*11]
			if _, err := jobs.Cancel(ctx, r.Queue, r.ID); err != nil && !errors.Is(err, chime.ErrNotFound) {
				return err
			}
		}
		name := fmt.Sprint("put", round%3)
		if _, err := schedules.Put(ctx, name, every, chime.JobName("work"), chime.Queue([]string{"default", "wide", "slow"}[round%3])); err != nil {
			return err
		}
		switch round % 4 {
		case 1:
			err = schedules.Pause(ctx, name)
		case 2:
			err = schedules.Delete(ctx, name)
		case 3:
			err = schedules.Resume(ctx, "put0")
		}
		if err != nil && !errors.Is(err, chime.ErrNotFound) {
			return err
		}
	}
	return nil
}
