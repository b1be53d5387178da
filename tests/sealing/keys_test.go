package sealing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// enqueue enqueues a job with the secret.
func enqueue(t *testing.T, store chime.Store, name, id string, options ...chime.EnqueueOption) {
	t.Helper()
	_, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: fixture.Quiet()}).Enqueue(t.Context(), name, secret, append(options, chime.ID(id))...)
	if err != nil {
		t.Fatal(err)
	}
}

// counting returns a worker that counts the runs of jobs that have the secret.
func counting(t *testing.T, store chime.Store, got map[string]int, names ...string) (*chime.Worker, *fixture.LogBuffer) {
	log := new(fixture.LogBuffer)
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: log.Logger(), HideErrors: true})
	secretive(t, worker, got, names...)
	return worker, log
}

func get(t *testing.T, store chime.Store, id string) *chime.JobInfo {
	t.Helper()
	info, err := chime.NewJobs(store).Get(t.Context(), "default", id)
	if err != nil {
		t.Errorf("%s: %v", id, err)
		return new(chime.JobInfo)
	}
	return info
}

// A worker without the key parks a job, requests it again every 10 minutes, and does not take the jobs that it can open for it.
func TestAJobWaitsForAWorkerWithItsKey(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		enqueue(t, sealed(f, 2), "done", "new")
		for what, store := range map[string]chime.Store{"with another key": sealed(f, 1), "without a codec": f.Server.Store()} {
			got := map[string]int{}
			worker, log := counting(t, store, got, "done")
			stop := fixture.Start(worker)
			fixture.Pass(30 * time.Minute)
			if info := get(t, store, "new"); info.State != chime.JobParked || info.Sealed != "k2" || info.Payload != nil || info.Attempt != 1 || info.Err != nil {
				t.Errorf("%s: the job is %v, sealed with %q", what, info, info.Sealed)
			} else if err := info.Decode(new(args)); !errors.Is(err, chime.ErrSealed) || !strings.Contains(err.Error(), "k2") {
				t.Errorf("%s: Decode returned %v, want ErrSealed with the key", what, err)
			}
			if log.Count("sealed with key k2") == 0 || got["done"] > 0 {
				t.Errorf("%s: it ran %d times; the log:\n%s", what, got["done"], log)
			}
			_ = stop()
		}
		got := map[string]int{}
		worker, _ := counting(t, sealed(f, 1, 2), got, "done")
		stop := fixture.Start(worker)
		fixture.Pass(10 * time.Minute)
		_ = stop()
		if got["done"] != 1 {
			t.Errorf("with both keys it ran %d times, want 1", got["done"])
		}
	})
}

// No program with the key comes: the job is dead after the retention, and what follows is added, although no program could open either.
func TestASealedJobThatNobodyOpensDies(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		short := redisstore.New(f.Server.Client(), redisstore.Options{ParkedRetention: 2 * time.Hour, Logger: fixture.Quiet()})
		store := chime.WithCodec(short, ring(t, 2), chime.CodecOptions{})
		after := chime.OnDeath(chime.Item{Name: "after", Args: secret})
		enqueue(t, store, "done", "first", after)
		enqueue(t, store, "done", "alone")
		if _, err := chime.NewSchedules(store).Put(t.Context(), "s", recurrence.Recurrence{StartTime: time.Now().Add(time.Minute)}, chime.JobName("done"), chime.Args(secret), after); err != nil {
			t.Fatal(err)
		}
		worker, _ := counting(t, short, map[string]int{}, "done")
		stop := fixture.Start(worker)
		fixture.Pass(3*time.Hour + 30*time.Minute)
		for _, id := range []string{"first", "alone"} {
			if info := get(t, short, id); info.State != chime.JobDead || info.LastError != "no worker came that can run it" || info.Sealed != "k2" {
				t.Errorf("%s is %v: %q, sealed with %q; want dead", id, info, info.LastError, info.Sealed)
			}
		}
		noCanary(f, "buried")
		_ = stop()
		var found []*chime.JobInfo
		for job, err := range chime.NewJobs(store).List(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobParked}) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, job)
		}
		// The job of the schedule waits twice as long: its arguments are bound to the schedule.
		if len(found) != 2 {
			t.Fatalf("%d jobs are parked, want what follows and the schedule's: %v", len(found), found)
		}
		got := map[string]int{}
		afterwards, _ := counting(t, store, got, "done", "none")
		afterwards.Handle("after", func(_ context.Context, job *chime.Job) error {
			var own, dead args
			if err := errors.Join(job.Decode(&own), job.Death.Decode(&dead)); err != nil || own != secret || dead != secret {
				t.Errorf("what follows %s has %+v and %+v, %v", job.Death.ID, own, dead, err)
			}
			got["after"]++
			return nil
		})
		if n, err := chime.NewJobs(short).Requeue(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead}, nil); err != nil || n.Changed != 2 {
			t.Errorf("without the key %+v were requeued, %v", n, err)
		}
		stop = fixture.Start(afterwards)
		fixture.Pass(20 * time.Minute)
		_ = stop()
		if got["after"] != 1 || got["done"] != 3 {
			t.Errorf("with the key the jobs ran %v times", got)
		}
	})
}

func TestAWorkerThatRequiresSealedJobsRunsNoOthers(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := chime.WithCodec(f.Server.Store(), ring(t, 1), chime.CodecOptions{RequireSealed: true})
		enqueue(t, f.Server.Store(), "done", "plain")
		enqueue(t, store, "done", "sealed")
		if _, err := chime.NewSchedules(f.Server.Store()).Put(t.Context(), "s", recurrence.Recurrence{StartTime: time.Now().Add(time.Second)}, chime.JobName("done"), chime.Args(secret)); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		worker, log := counting(t, store, got, "done")
		stop := fixture.Start(worker)
		fixture.Pass(20 * time.Minute)
		if got["done"] != 1 || log.Count("only sealed jobs") == 0 {
			t.Errorf("%d jobs ran, want the sealed one; the log:\n%s", got["done"], log)
		}
		_ = stop()
		accepts, _ := counting(t, sealed(f, 1), got, "done")
		stop = fixture.Start(accepts)
		fixture.Pass(20 * time.Minute)
		_ = stop()
		if got["done"] != 3 {
			t.Errorf("a worker that does not require it has run %d jobs, want all 3", got["done"])
		}
	})
}

// Two processes with different rings declare the same schedules, again and again.
func TestProcessesWithDifferentRingsLeaveEachOthersSchedulesAlone(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		rule := recurrence.Recurrence{Frequency: recurrence.Hour, Interval: 1}
		start := func(store chime.Store, what any) *fixture.LogBuffer {
			log := new(fixture.LogBuffer)
			scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Logger: log.Logger()})
			if err := scheduler.Schedule("s", rule, chime.JobName("done"), chime.Args(what)); err != nil {
				t.Fatal(err)
			}
			stop := fixture.Start(scheduler)
			fixture.Pass(time.Minute)
			if err := stop(); err != nil {
				t.Error(err)
			}
			return log
		}
		revision := func() int64 {
			s, err := chime.NewSchedules(sealed(f, 1, 2, 3)).Get(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			return s.Revision
		}
		start(sealed(f, 1), secret)
		first := revision()
		for what, store := range map[string]chime.Store{
			"the same ring": sealed(f, 1), "a new key opens": sealed(f, 1, 2), "the new key seals": sealed(f, 2, 1),
		} {
			if start(store, secret); revision() != first {
				t.Errorf("%s: a start has changed the schedule", what)
			}
		}
		for what, store := range map[string]chime.Store{"another ring": sealed(f, 3), "no codec": f.Server.Store()} {
			log := start(store, args{"other"})
			if revision() != first || log.Count("k1") == 0 {
				t.Errorf("%s: the schedule has revision %d, want %d; the log:\n%s", what, revision(), first, log)
			}
			_, err := chime.NewSchedules(store).Put(t.Context(), "s", rule, chime.JobName("done"), chime.Args(args{"other"}))
			if !errors.Is(err, chime.ErrSealed) || revision() != first {
				t.Errorf("%s: Put returned %v", what, err)
			}
			if s, err := chime.NewSchedules(store).Get(t.Context(), "s"); err != nil || s.Sealed != "k1" || s.Payload != nil || !errors.Is(s.Decode(new(args)), chime.ErrSealed) || s.Next.IsZero() {
				t.Errorf("%s: read as %+v, %v", what, s, err)
			}
			if _, err := chime.NewSchedules(store).Trigger(t.Context(), "s"); !errors.Is(err, chime.ErrSealed) {
				t.Errorf("%s: Trigger returned %v", what, err)
			}
			if _, err := chime.NewSchedules(store).Backfill(t.Context(), "s", time.Now().Add(-time.Hour), time.Now()); !errors.Is(err, chime.ErrSealed) {
				t.Errorf("%s: Backfill returned %v", what, err)
			}
		}
		if start(sealed(f, 2, 1), args{"changed"}); revision() == first {
			t.Error("other arguments have not changed the schedule")
		}
	})
}

// A scheduler without the key places the occurrences of a sealed schedule: only its arguments are sealed.
func TestASealedScheduleIsPlacedWithoutItsKey(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		if _, err := chime.NewSchedules(sealed(f, 1)).Put(t.Context(), "s", recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 1}, chime.JobName("done"), chime.Args(secret), chime.Overlap(chime.OverlapAllow), chime.Spread(10*time.Second)); err != nil {
			t.Fatal(err)
		}
		scheduler := fixture.Start(chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Logger: fixture.Quiet()}))
		got := map[string]int{}
		worker, _ := counting(t, sealed(f, 2, 1), got, "done")
		stop := fixture.Start(worker)
		fixture.Pass(10*time.Minute + 30*time.Second)
		_, _ = stop(), scheduler()
		if got["done"] < 10 {
			t.Errorf("%d occurrences ran, want 10 or more", got["done"])
		}
	})
}

// Keys are rotated while jobs are enqueued, fail and are retried: in three steps, each program by itself.
func TestARotationUnderLoadLosesNothing(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Server.Client().AddHook(sniffer{t})
		const perStep = 50
		steps := [][][]int{{{1}, {1}}, {{1, 2}, {1}}, {{1, 2}, {1, 2}}, {{2, 1}, {1, 2}}, {{2, 1}, {2, 1}}}
		succeeded := map[string]bool{}
		enqueued := 0
		for _, rings := range steps {
			store := sealed(f, rings[0]...)
			var stops []func() error
			for _, of := range rings {
				worker := chime.NewWorker(sealed(f, of...), chime.WorkerOptions{Logger: fixture.Quiet(), Concurrency: 4, Defaults: []chime.HandlerOption{chime.Retry(chime.Fixed(20 * time.Second))}})
				worker.Handle("job", func(_ context.Context, job *chime.Job) error {
					var a args
					if err := job.Decode(&a); err != nil || a != secret {
						t.Errorf("%s: %+v, %v", job.ID, a, err)
					}
					if job.Attempt < 3 {
						return errors.New(canary)
					}
					succeeded[job.ID] = true
					return nil
				})
				stops = append(stops, fixture.Start(worker))
			}
			for range perStep {
				enqueued++
				enqueue(t, store, "job", fmt.Sprint("job-", enqueued))
				fixture.Pass(200 * time.Millisecond)
			}
			for _, stop := range stops {
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
		}
		worker := chime.NewWorker(sealed(f, 2, 1), chime.WorkerOptions{Logger: fixture.Quiet()})
		worker.Handle("job", func(_ context.Context, job *chime.Job) error { succeeded[job.ID] = true; return job.Decode(new(args)) })
		stop := fixture.Start(worker)
		fixture.Pass(20 * time.Minute)
		_ = stop()
		if len(succeeded) != enqueued || f.Stats().Dead+f.Stats().Parked > 0 {
			t.Errorf("%d of %d jobs have succeeded, %d are dead, %d parked", len(succeeded), enqueued, f.Stats().Dead, f.Stats().Parked)
		}
		noCanary(f, "rotated")
	})
}

// A program with the key finds jobs by their error, which is sealed.
func TestJobsAreFoundByTheirSealedErrors(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := sealed(f, 1)
		enqueue(t, store, "fail", "a", chime.MaxAttempts(1))
		worker, _ := counting(t, store, map[string]int{}, "fail")
		stop := fixture.Start(worker)
		fixture.Pass(5 * time.Second)
		_ = stop()
		for text, want := range map[string]int{canary: 1, "another error": 0} {
			filter := chime.JobFilter{Queue: "default", State: chime.JobDead, Error: text}
			if result, err := chime.NewJobs(store).Requeue(t.Context(), filter, nil); err != nil || result.Changed != want {
				t.Errorf("by the error %q %+v were requeued, %v; want %d", text, result, err, want)
			}
		}
	})
}

// Requeue removes the expiry of a job, which a script does without opening it.
func TestARequeuedSealedJobDoesNotExpire(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := sealed(f, 1)
		enqueue(t, store, "done", "a", chime.In(time.Hour), chime.Expire(time.Minute))
		enqueue(t, store, "done", "expires", chime.In(time.Hour), chime.Expire(time.Minute))
		if n, err := chime.NewJobs(f.Server.Store()).Requeue(t.Context(), chime.JobFilter{Queue: "default", IDs: []string{"a"}}, nil); err != nil || n.Changed != 1 {
			t.Errorf("requeued %+v, %v", n, err)
		}
		fixture.Pass(2 * time.Hour)
		got := map[string]int{}
		worker, _ := counting(t, store, got, "done")
		stop := fixture.Start(worker)
		fixture.Pass(time.Minute)
		_ = stop()
		if got["done"] != 1 {
			t.Errorf("%d jobs ran, want the requeued one", got["done"])
		}
	})
}
