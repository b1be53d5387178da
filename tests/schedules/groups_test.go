package schedules_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// started collects the jobs that handlers got.
type started struct {
	mu   sync.Mutex
	jobs []chime.Job
}

func (s *started) add(job *chime.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs = append(s.jobs, *job)
}

func (s *started) all() []chime.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.jobs)
}

// sound fails if a verification of the store finds anything.
func sound(t *testing.T, f *fixture.Fixture) {
	t.Helper()
	report, err := chime.Verify(t.Context(), f.Server.Store(), chime.VerifyOptions{})
	if err != nil || len(report.Findings) > 0 {
		t.Errorf("verified: %+v, %v; want nothing found", report, err)
	}
}

// Occurrences, their retries, backfilled ones and manual runs belong to the group of the schedule; a manual run may have another one.
func TestEachJobOfAScheduleHasItsGroup(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules, jobs := chime.NewSchedules(f.Server.Store()), chime.NewJobs(f.Server.Store())
		put := func(group string) *chime.Schedule {
			if _, err := schedules.Put(t.Context(), "s", recurrence.Recurrence{Cron: "0 * * * *"}, chime.JobName("j"), chime.Group(group), chime.Retry(chime.Fixed(time.Minute))); err != nil {
				t.Fatal(err)
			}
			s, err := schedules.Get(t.Context(), "s")
			if err != nil || s.Group != group {
				t.Fatalf("put %+v, %v; want the group %s", s, err, group)
			}
			return s
		}
		stored := put("g")
		if again, err := schedules.Put(t.Context(), "s", stored.Recurrence, stored.Options()...); err != nil || again.Revision != stored.Revision {
			t.Errorf("put again with its own options: %+v, %v; want no change of %d", again, err, stored.Revision)
		}
		var got started
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("j", func(_ context.Context, job *chime.Job) error {
			got.add(job)
			if job.Attempt == 1 {
				return errors.New("once")
			}
			return nil
		})
		stop := f.Start(w)
		fixture.Pass(70 * time.Minute)
		if _, err := schedules.Trigger(t.Context(), "s", chime.ID("own")); err != nil {
			t.Fatal(err)
		}
		if _, err := schedules.Trigger(t.Context(), "s", chime.ID("other"), chime.Group("h")); err != nil {
			t.Fatal(err)
		}
		if info, err := jobs.Get(t.Context(), "default", "s#own"); err == nil && info.Group != "g" {
			t.Errorf("the manual run is %+v, want the group g", info)
		}
		now := time.Now()
		if filled, err := schedules.Backfill(t.Context(), "s", now.Add(-5*time.Hour), now.Add(-2*time.Hour)); err != nil || filled.Placed != 3 {
			t.Fatalf("backfilled %+v, %v; want three", filled, err)
		}
		fixture.Pass(30 * time.Minute)
		of := map[string]int{}
		for _, job := range got.all() {
			of[job.Group]++
			if want := map[bool]string{true: "h", false: "g"}[job.ID == "s#other"]; job.Group != want {
				t.Errorf("attempt %d of %s has the group %q, want %s", job.Attempt, job.ID, job.Group, want)
			}
		}
		if of["g"] < 2*5 || of["h"] != 2 {
			t.Errorf("attempts by group: %v, want ten of five jobs in g or more, and two of one in h", of)
		}
		put("k")
		fixture.Pass(time.Hour)
		if all := got.all(); all[len(all)-1].Group != "k" {
			t.Errorf("after the change: %+v, want the group k", all[len(all)-1])
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		sound(t, f)
	})
}

// What an occurrence waits for the turn of its group is lateness: one with MisfireSkip is missed, one with the default runs, once.
func TestTheWaitForAGroupIsLateness(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules, queues := chime.NewSchedules(f.Server.Store()), chime.NewQueues(f.Server.Store())
		for name, policy := range map[string]chime.MisfirePolicy{"skips": chime.MisfireSkip, "runs": chime.MisfireRunOnce} {
			if _, err := schedules.Put(t.Context(), name, recurrence.Recurrence{Cron: "0 * * * *"}, chime.JobName("j"), chime.Group("g"), chime.Misfire(policy)); err != nil {
				t.Fatal(err)
			}
		}
		if err := queues.PauseGroup(t.Context(), "default", "g"); err != nil {
			t.Fatal(err)
		}
		var got started
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("j", func(_ context.Context, job *chime.Job) error {
			got.add(job)
			return nil
		})
		stop := f.Start(w)
		fixture.Pass(150 * time.Minute)
		group, err := queues.Group(t.Context(), "default", "g")
		if err != nil || group.Waiting != 2 || len(got.all()) != 0 {
			t.Errorf("the group is %+v, %v, %d have started; want two that wait", group, err, len(got.all()))
		}
		for _, name := range []string{"skips", "runs"} {
			if s, err := schedules.Get(t.Context(), name); err != nil || s.Next.IsZero() || !s.Owed.IsZero() || !s.Next.Before(time.Now()) {
				t.Errorf("%s is %+v, %v; want that its next occurrence waits since its instant", name, s, err)
			}
		}
		if err := queues.ResumeGroup(t.Context(), "default", "g"); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		for name, want := range map[string]int64{"skips": 0, "runs": 1} {
			n := int64(0)
			for _, job := range got.all() {
				if job.Schedule == name {
					n++
				}
			}
			s, err := schedules.Get(t.Context(), name)
			if err != nil || n != want || s.Counters.Missed == 0 {
				t.Errorf("%s has started %d times, and is %+v, %v; want %d, and the others missed", name, n, s.Counters, err, want)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		sound(t, f)
	})
}

// A group that runs one job at a time, or in order, makes OverlapSkip and OverlapCancel wait: the next occurrence is not taken while the last one runs.
func TestAGroupOfOneMakesOverlapWait(t *testing.T) {
	for _, rule := range []chime.GroupRule{{Running: 1}, {Ordered: chime.On}} {
		for _, overlap := range []chime.OverlapPolicy{chime.OverlapSkip, chime.OverlapCancel, chime.OverlapWait, chime.OverlapAllow} {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				schedules, queues := chime.NewSchedules(f.Server.Store()), chime.NewQueues(f.Server.Store())
				if err := queues.SetGroups(t.Context(), "default", rule); err != nil {
					t.Fatal(err)
				}
				if _, err := schedules.Put(t.Context(), "s", recurrence.Recurrence{Cron: "*/2 * * * *"}, chime.JobName("j"), chime.Group("g"), chime.Overlap(overlap), chime.Grace(time.Hour)); err != nil {
					t.Fatal(err)
				}
				running, runs, failed := 0, 0, false
				var mu sync.Mutex
				w := f.Worker(chime.WorkerOptions{})
				w.Handle("j", func(ctx context.Context, _ *chime.Job) error {
					mu.Lock()
					running, runs = running+1, runs+1
					failed = failed || running > 1
					mu.Unlock()
					select {
					case <-time.After(144 * time.Second):
					case <-ctx.Done():
						mu.Lock()
						failed = true
						mu.Unlock()
					}
					mu.Lock()
					running--
					mu.Unlock()
					return nil
				})
				stop := f.Start(w)
				fixture.Pass(14 * time.Minute)
				mu.Lock()
				if failed || runs < 5 {
					t.Errorf("rule %+v, overlap %s: %d runs, two at once or one cancelled: %v; want one after the other", rule, overlap, runs, failed)
				}
				mu.Unlock()
				if s, err := schedules.Get(t.Context(), "s"); err != nil || s.Counters.Skipped != 0 {
					t.Errorf("rule %+v, overlap %s: %+v, %v; want none skipped", rule, overlap, s.Counters, err)
				}
				fixture.Pass(3 * time.Minute)
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A schedule with a group is refused for a queue with several partitions; the error names the group and the queue.
func TestAScheduleWithAGroupOnAWideQueueIsRefused(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Partition("default", 2)
		schedules := chime.NewSchedules(f.Server.Store())
		_, err := schedules.Put(t.Context(), "s", recurrence.Recurrence{Cron: "@hourly"}, chime.JobName("j"), chime.Group("g"))
		var invalid *chime.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "group" || invalid.Value != "g" {
			t.Errorf("put: %v, want the group refused", err)
		}
		if _, err := schedules.Get(t.Context(), "s"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("then: %v, want no such schedule", err)
		}
	})
}
