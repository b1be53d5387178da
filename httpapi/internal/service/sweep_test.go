package service

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// Whatever a crash can leave, made by hand, is mended by Run within two days, and Run ends when it is told to.
func TestRunMendsWhatACrashLeaves(t *testing.T) {
	onService(t, Options{Retention: 10 * time.Hour}, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		c, err := f.collections.Get(ctx, "demo")
		if err != nil {
			t.Fatal(err)
		}
		for i := range 150 {
			f.put(jobIn("demo", i), job(hourly))
		}
		past := resource.JobName{Collection: "demo", Job: "past"}
		f.put(past, job(`{"frequency": "hour", "startTime": "1999-01-01", "endTime": "1999-02-01"}`))
		crashed := func(what string, err error) {
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		_, err = f.collections.Reserve(ctx, "demo", string(newReservedName("stray", time.Now())))
		crashed("a name without a schedule", err)
		s, err := f.schedules.Get(ctx, jobIn("demo", 1).Schedule())
		crashed("get", err)
		m, _ := metaOf(s)
		crashed("a schedule without a name", f.collections.Release(ctx, c, string(m.Name)))
		crashed("paused though enabled", f.schedules.Pause(ctx, jobIn("demo", 2).Schedule(), clientNote()))
		_, err = f.patchState(jobIn("demo", 3), resource.Disabled)
		crashed("disable", err)
		crashed("live though disabled", f.schedules.Resume(ctx, jobIn("demo", 3).Schedule()))
		s, err = f.schedules.Get(ctx, jobIn("demo", 4).Schedule())
		crashed("get", err)
		m, _ = metaOf(s)
		m.Collection--
		m.Name = newReservedName("job-004", time.Now().Add(time.Second))
		earlier, err := m.encode()
		crashed("encode", err)
		_, err = f.schedules.Put(ctx, s.Name, s.Recurrence, append(s.Options(), chime.Meta(earlier))...)
		crashed("a job of an earlier collection", err)
		stop := f.start(f.Service)
		f.start(chime.NewScheduler(f.server.Store(), chime.SchedulerOptions{}))
		time.Sleep(24*time.Hour + 10*time.Minute)
		stop()
		f.checkInvariant("after a day")
		_, err = f.GetJob(ctx, past)
		wantCode(t, "a job that ended long ago", err, problem.NotFound)
		_, err = f.GetJob(ctx, jobIn("demo", 4))
		wantCode(t, "the job of an earlier collection", err, problem.NotFound)
		left := 0
		for range f.schedules.List(ctx, chime.ScheduleFilter{}) {
			left++
		}
		if left != 149 {
			t.Errorf("%d schedules are left, want 149", left)
		}
	})
}

// A schedule whose name was lost, in a collection that is full, stays: nothing that a sweep finds is a reason to lose a job.
func TestASweepDeletesNoJobForLackOfRoom(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		c, err := f.collections.Get(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		f.put(report, job(hourly))
		s, err := f.schedules.Get(t.Context(), report.Schedule())
		if err != nil {
			t.Fatal(err)
		}
		m, _ := metaOf(s)
		if err := f.collections.Release(t.Context(), c, string(m.Name)); err != nil {
			t.Fatal(err)
		}
		f.collect("demo", &resource.Collection{Quota: resource.Quota{MaxJobCount: 1}})
		f.put(jobIn("demo", 1), job(hourly))
		if err := f.sweep(t.Context(), c, func() error { return nil }); err != nil {
			t.Error(err)
		}
		f.get(report)
	})
}

// A page a second: a sweep of three hundred jobs takes three pauses.
func TestASweepRestsAfterEachPage(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		for i := range 300 {
			f.put(jobIn("demo", i), job(hourly))
		}
		c, err := f.collections.Get(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		rests := 0
		if err := f.sweep(t.Context(), c, func() error { rests++; return nil }); err != nil || rests != 3 {
			t.Errorf("%d rests, %v; want 3", rests, err)
		}
	})
}
