package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Names of schedules and IDs are only data. A schedule with any characters in its name runs at each of its instants, under every overlap policy,
// also when an occurrence fails, waits behind another one or is caught up. A job with such an ID runs once.
func TestNamesOfAnyCharactersAreOnlyNames(t *testing.T) {
	names := []string{
		"plain", "anna@example.com", "a|b", "a|0||", "##", "a#b", "#enqueued", "x/started", "/failed", "{x}", "a:b/c d", "größe 名前", "*", "?", "0",
		"a@b@2026-03-08T09:00:00Z/x", `"quoted"`, `\back`, "moved to x", "%d%s", "p@2026-03-08T09:00:00", "-7", "a|b|c|d", "a@",
	}
	for _, policy := range []chime.OverlapPolicy{chime.OverlapSkip, chime.OverlapWait, chime.OverlapCancel, chime.OverlapAllow} {
		t.Run(string(policy), func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				fixture.Pass(time.Second) // a bubble begins at midnight, which the rule matches
				quiet := fixture.Quiet()
				scheduler := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Logger: quiet})
				for _, name := range names {
					rec := recurrence.Recurrence{Cron: "*/10 * * * *"}
					if err := scheduler.Schedule(name, rec, chime.JobName("tick"), chime.Overlap(policy), chime.Grace(5*time.Minute)); err != nil {
						t.Fatal(err)
					}
				}
				var mu sync.Mutex
				ran, jobs := map[string]int{}, map[string]int{}
				worker := f.Worker(chime.WorkerOptions{Concurrency: 200})
				worker.Handle("tick", func(ctx context.Context, job *chime.Job) error {
					if job.Attempt == 1 {
						return chime.RetryAfter(time.Minute, errors.New("the first attempt fails"))
					}
					mu.Lock()
					defer mu.Unlock()
					if ran[job.Schedule]++; job.ID != job.Schedule+"@"+job.Planned.Format(time.RFC3339) {
						t.Errorf("job %q of schedule %q planned %v", job.ID, job.Schedule, job.Planned)
					}
					return nil
				})
				worker.Handle("mail", func(ctx context.Context, job *chime.Job) error {
					mu.Lock()
					defer mu.Unlock()
					if jobs[job.ID]++; job.Schedule != "" {
						t.Errorf("job %q has the schedule %q", job.ID, job.Schedule)
					}
					if job.Attempt == 1 {
						return chime.RetryAfter(time.Minute, errors.New("the first attempt fails"))
					}
					return nil
				})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- chime.Run(ctx, scheduler, worker) }()
				enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{Logger: quiet})
				for i, name := range names {
					for _, id := range []string{name, name + "@2026-03-08T09:00:00Z/mail"} {
						if receipt, err := enqueuer.Enqueue(t.Context(), "mail", nil, chime.ID(id), chime.In(time.Duration(i)*time.Second)); err != nil || receipt.Existing {
							t.Errorf("%q: %+v, %v", id, receipt, err)
						}
					}
				}
				fixture.Pass(65 * time.Minute)
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				schedules := chime.NewSchedules(f.Server.Store())
				for _, name := range names {
					s, err := schedules.Get(t.Context(), name)
					if err != nil || s.Name != name || s.Counters.Started != 6 || s.Counters.Skipped+s.Counters.Missed+s.Counters.Superseded != 0 || ran[name] != 6 {
						t.Errorf("%q ran %d times, %+v, %v; want 6", name, ran[name], s, err)
					}
					for _, id := range []string{name, name + "@2026-03-08T09:00:00Z/mail"} {
						if jobs[id] != 2 {
							t.Errorf("job %q had %d attempts, want 2", id, jobs[id])
						}
					}
				}
				var listed []string
				for s, err := range schedules.List(t.Context(), chime.ScheduleFilter{}) {
					if err != nil {
						t.Error(err)
					}
					listed = append(listed, s.Name)
				}
				if want := slices.Sorted(slices.Values(names)); !slices.Equal(listed, want) {
					t.Errorf("listed %q, want %q", listed, want)
				}
				for _, name := range names {
					if err := errors.Join(schedules.Pause(t.Context(), name), schedules.Resume(t.Context(), name), schedules.Delete(t.Context(), name)); err != nil {
						t.Error(err)
					}
				}
				if q, err := chime.NewQueues(f.Server.Store()).Get(t.Context(), "default"); err != nil || q.Waiting+q.Delayed+q.InFlight()+q.Parked+q.Dead+q.Schedules != 0 {
					t.Errorf("left: %s, %v", fmt.Sprintf("%+v", q), err)
				}
			})
		})
	}
}
