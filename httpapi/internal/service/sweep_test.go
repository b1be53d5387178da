package service

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// The test creates everything that a crash can leave. Run repairs it within two days, and ends when its ctx ends.
func TestRunRepairsWhatACrashLeaves(t *testing.T) {
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
		f.leaveFromEarlier(jobIn("demo", 4))
		stop := f.start(f.Service)
		time.Sleep(24*time.Hour + 10*time.Minute) // fake time
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

// leaveFromEarlier turns a job into one that an earlier collection of the name has left.
func (f *fixture) leaveFromEarlier(n resource.JobName) {
	f.t.Helper()
	s, err := f.schedules.Get(f.t.Context(), n.Schedule())
	if err != nil {
		f.t.Fatal(err)
	}
	m, _ := metaOf(s)
	m.Collection--
	m.Name = newReservedName(n.Job, time.Now().Add(time.Second))
	earlier, err := m.encode()
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err = f.schedules.Put(f.t.Context(), s.Name, s.Recurrence, append(s.Options(), chime.Meta(earlier))...); err != nil {
		f.t.Fatal(err)
	}
}

func TestWhatAnEarlierCollectionHasLeftIsNoJob(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.put(report, job(hourly))
		f.leaveFromEarlier(report)
		_, err := f.GetJob(t.Context(), report)
		wantCode(t, "get", err, problem.NotFound)
		_, err = f.RunJob(t.Context(), report, "")
		wantCode(t, "run", err, problem.NotFound)
		if found, _, err := f.ListJobs(t.Context(), "demo", Page{Top: 10}); err != nil || len(found) != 0 {
			t.Errorf("list: %v, %v; want none", found, err)
		}
		if _, created, err := f.tryPut(report, job(hourly)); !created || err != nil {
			t.Errorf("put: created %v, %v; want true", created, err)
		}
		f.get(report)
	})
}

// A sweep that takes longer than the deletion and the new creation of its collection leaves nothing in the later one.
func TestASweepLeavesNoNameInALaterCollection(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		c, err := f.collections.Get(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		stray := newReservedName("stray", time.Now())
		if _, _, err := f.DeleteCollection(t.Context(), "demo", Condition{}); err != nil {
			t.Fatal(err)
		}
		f.collect("demo", &resource.Collection{})
		time.Sleep(2 * strayAge) // fake time
		if err := f.releaseStray(t.Context(), c, stray); err != nil {
			t.Error(err)
		}
		f.checkInvariant("afterwards")
	})
}

// While a newer program runs too, its jobs in another form are not jobs here, and keep their names.
func TestASweepLeavesTheNamesOfNewerPrograms(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		c, err := f.collections.Get(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		name := newReservedName("newer", time.Now())
		if _, err := f.collections.Reserve(t.Context(), "demo", string(name)); err != nil {
			t.Fatal(err)
		}
		form := chime.Meta([]byte(`{"rest": 2, "name": "` + string(name) + `", "more": []}`))
		if _, err := f.schedules.Put(t.Context(), "demo:newer", parsed(hourly), chime.JobName("app"), form); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * strayAge) // fake time
		if err := f.sweep(t.Context(), c, func() error { return nil }); err != nil {
			t.Error(err)
		}
		if err := f.releaseStray(t.Context(), c, name); err != nil {
			t.Error(err)
		}
		names, _, err := f.collections.Names(t.Context(), "demo", collection.NameFilter{})
		if err != nil || len(names) != 1 {
			t.Errorf("names %v, %v; want the newer program's", names, err)
		}
		_, _, err = f.tryPut(resource.JobName{Collection: "demo", Job: "newer"}, job(hourly))
		wantCode(t, "put", err, problem.NameTaken)
	})
}

// If the schedule of a name exists, the sweep does not touch the name: a name that is released for a moment could be lost to another job.
func TestANameWithItsScheduleIsNotTouched(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.put(report, job(hourly))
		s, err := f.schedules.Get(t.Context(), report.Schedule())
		if err != nil {
			t.Fatal(err)
		}
		m, _ := metaOf(s)
		slow := New(Options{Store: f.cutStore()})
		c, err := slow.collections.Get(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * strayAge) // fake time
		calls := func(do func(context.Context) error) int {
			of := &cut{calls: 1 << 30}
			if err := do(context.WithValue(t.Context(), cutKey{}, of)); err != nil {
				t.Error(err)
			}
			return of.made
		}
		look := func(ctx context.Context) error {
			_, reserved := slow.collections.Reserve(ctx, "demo", string(m.Name))
			_, read := slow.schedules.Get(ctx, report.Schedule())
			return errors.Join(reserved, read)
		}
		calls(look) // the first calls of a process check the store
		want, got := calls(look), calls(func(ctx context.Context) error { return slow.releaseStray(ctx, c, m.Name) })
		if got != want {
			t.Errorf("%d calls, want the %d of a reservation, which returns the time, and of a read", got, want)
		}
		f.checkInvariant("afterwards")
	})
}

// A schedule whose name was lost remains, even if its collection is full: a sweep never deletes a job for lack of room.
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

// The next sweep is a day away, so a job that cannot be repaired now must not stop the repair of the others.
func TestASweepContinuesAfterAJobThatItCannotRepair(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		slow := New(Options{Store: f.cutStore()})
		c, err := slow.collections.Get(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		sweep := func(ctx context.Context) error { return slow.sweep(ctx, c, func() error { return nil }) }
		if err := sweep(t.Context()); err != nil { // the first calls of a process check the store
			t.Fatal(err)
		}
		for i := range 2 {
			f.put(jobIn("demo", i), with(job(hourly), func(j *resource.Job) { j.State = resource.Disabled }))
			if err := f.schedules.Resume(t.Context(), jobIn("demo", i).Schedule()); err != nil {
				t.Fatal(err)
			}
		}
		read := &cut{calls: 1 << 30} // counts the calls until the first job is read
		for range slow.schedules.List(context.WithValue(t.Context(), cutKey{}, read), chime.ScheduleFilter{Prefix: "demo:"}) {
			break
		}
		of := &cut{calls: read.made}
		of.wait = func() time.Duration {
			if of.made == read.made+2 { // the first call for the first job, and its retry
				of.calls = 1 << 30
			}
			return 0
		}
		if err := sweep(context.WithValue(t.Context(), cutKey{}, of)); !errors.Is(err, errCut) {
			t.Errorf("got %v, want the error of the first job", err)
		}
		if a, b := f.get(jobIn("demo", 0)), f.get(jobIn("demo", 1)); a.State != resource.Enabled || b.State != resource.Disabled {
			t.Errorf("the jobs are %s and %s, want the second one repaired", text(a), text(b))
		}
		if err := sweep(t.Context()); err != nil {
			t.Error(err)
		}
		f.checkInvariant("afterwards")
	})
}

// One page a second: a sweep of three hundred jobs has three pauses.
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
