package service

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// The table of the package's comment, row by row.
func TestAScheduleGoesToItsTargetState(t *testing.T) {
	enabled := &collection.Record{State: collection.Enabled, Creation: 7}
	off := &collection.Record{State: collection.Disabled, Creation: 7}
	deleted := &collection.Record{State: collection.Deleted, Creation: 7}
	later := &collection.Record{State: collection.Enabled, Creation: 8}
	live, completed := "live", "completed"
	for _, row := range []struct {
		collection *collection.Record
		wanted     resource.State
		is         string // live, completed, or the writer of its pause
		want       step
	}{
		{nil, resource.Enabled, live, remove},
		{nil, resource.Disabled, byClient, remove},
		{deleted, resource.Enabled, live, remove},
		{deleted, resource.Enabled, completed, remove},
		{later, resource.Enabled, live, remove},
		{off, resource.Enabled, live, pauseByCollection},
		{off, resource.Enabled, byClient, pauseByCollection},
		{off, resource.Enabled, byCollection, stay},
		{off, resource.Disabled, live, pauseByClient},
		{off, resource.Disabled, byCollection, pauseByClient},
		{off, resource.Disabled, byClient, stay},
		{enabled, resource.Disabled, live, pauseByClient},
		{enabled, resource.Disabled, byCollection, pauseByClient},
		{enabled, resource.Disabled, byClient, stay},
		{enabled, resource.Enabled, live, stay},
		{enabled, resource.Enabled, byClient, resume},
		{enabled, resource.Enabled, byCollection, resume},
		{enabled, resource.Enabled, byDeaths, stay},
		{enabled, resource.Enabled, "ops", stay},
		{enabled, resource.Disabled, "ops", stay},
		{off, resource.Enabled, "ops", stay},
		{enabled, resource.Disabled, completed, stay},
		{off, resource.Enabled, completed, stay},
	} {
		s := &chime.Schedule{State: chime.ScheduleState(row.is)}
		if row.is != live && row.is != completed {
			s.State, s.Note.By = chime.StatePaused, row.is
		}
		if got := nextStep(s, meta{State: row.wanted, Collection: 7}, row.collection); got != row.want {
			t.Errorf("collection %+v, wanted %s, is %s: step %d, want %d", row.collection, row.wanted, row.is, got, row.want)
		}
	}
}

func TestAJobSaysWhoHoldsIt(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		f.fail = func(*chime.Job) error { return chime.Discard(errCut) }
		f.put(report, with(job(`{"frequency": "minute", "startTime": "2000-01-01T00:00:30Z"}`), func(j *resource.Job) { j.DisableAfter = 3 }))
		time.Sleep(10 * time.Minute) // fake time
		if j := f.get(report); j.State != resource.Disabled || j.Held != "failures" || j.Executions != 3 || j.Failures != 3 || j.Faults != 3 {
			t.Errorf("after deaths: %s, %d executions, %d failures, %d faults; want it held by failures, 3 each", text(j), j.Executions, j.Failures, j.Faults)
		}
		if j := f.put(report, f.get(report).Job); j.Held != "failures" {
			t.Errorf("put unchanged: %s, want it held", text(j))
		}
		if j, err := f.patchState(report, resource.Enabled); err != nil || j.State != resource.Enabled {
			t.Errorf("enabled: %s, %v", text(j), err)
		}
		if err := f.schedules.Pause(t.Context(), report.Schedule(), chime.Note{By: "ops", Text: "stop"}); err != nil {
			t.Fatal(err)
		}
		f.setState("demo", resource.CollectionDisabled)
		f.setState("demo", resource.CollectionEnabled)
		if j := f.get(report); j.State != resource.Disabled || j.Held != "operator" {
			t.Errorf("paused by an operator, the collection disabled and enabled: %s, want it held by the operator", text(j))
		}
		if j := f.put(report, with(f.get(report).Job, func(j *resource.Job) { j.State = resource.Enabled })); j.State != resource.Enabled {
			t.Errorf("enabled by a put: %s", text(j))
		}
	})
}

func TestAJobIsFinalWhenNothingOfItIsLeft(t *testing.T) {
	once := `{"startTime": "2000-01-01T00:01:00Z"}`
	onService(t, Options{Queues: []string{"default", "slow"}}, func(t *testing.T, f *fixture) {
		f.work()
		f.fail = func(j *chime.Job) error {
			if j.Death != nil {
				return nil
			}
			return chime.Discard(errCut)
		}
		hang := make(chan struct{})
		f.put(report, with(job(once), func(j *resource.Job) { j.Action.ErrorAction = post() }))
		f.set(func() { f.hang[report.Schedule()] = hang })
		time.Sleep(90 * time.Second) // fake time
		if j := f.get(report); j.State != resource.Enabled {
			t.Errorf("its only run under way: %s, want enabled", text(j))
		}
		close(hang)
		again := make(chan struct{})
		f.set(func() { f.hang[report.Schedule()] = again })
		time.Sleep(time.Second) // fake time
		close(again)
		time.Sleep(time.Minute) // fake time
		if j := f.get(report); j.State != resource.Faulted || j.Faults != 1 || j.Last.IsZero() || !j.Next.IsZero() {
			t.Errorf("dead, its error action ended: %s, want faulted", text(j))
		}
		f.set(func() { f.fail = nil })
		for name, change := range map[string]func(*resource.Job){
			"another body": func(j *resource.Job) { j.Action.Request.Body = "x" }, "disabled": func(j *resource.Job) { j.State = resource.Disabled },
			"another rule": func(j *resource.Job) { j.Rule = parsed(hourly) },
		} {
			_, _, err := f.tryPut(report, with(f.get(report).Job, change))
			wantCode(t, name, err, problem.JobFinal)
		}
		_, err := f.RunJob(t.Context(), report, "")
		wantCode(t, "run", err, problem.JobFinal)
		_, _, err = f.PutJob(t.Context(), report, Condition{}, true, func(was *Job) (*resource.Job, error) {
			return with(was.Job, func(j *resource.Job) { j.State = resource.Enabled }), nil
		})
		wantCode(t, "a patch that enables it", err, problem.JobFinal)
		for _, state := range []resource.State{"", resource.Enabled, resource.Faulted} {
			if _, _, err := f.tryPut(report, with(f.get(report).Job, func(j *resource.Job) { j.State = state })); err != nil {
				t.Errorf("put unchanged, state %q: %v", state, err)
			}
		}
		f.collect("demo", &resource.Collection{Queue: "slow"})
		if _, _, err := f.tryPut(report, f.get(report).Job); err != nil {
			t.Errorf("put unchanged, when its collection has another queue: %v", err)
		}
		past := resource.JobName{Collection: "demo", Job: "past"}
		f.put(past, job(`{"frequency": "hour", "startTime": "1999-01-01", "endTime": "1999-02-01"}`))
		time.Sleep(time.Minute) // fake time
		if j := f.get(past); j.State != resource.Completed || j.Executions != 0 {
			t.Errorf("ended before its creation: %s, want completed", text(j))
		}
		if existed, err := f.DeleteJob(t.Context(), report, Condition{}); !existed || err != nil {
			t.Errorf("delete: %v, %v", existed, err)
		}
	})
}

// A step does not enable what a client has disabled meanwhile, and does not delete what was put meanwhile.
func TestNoStepIsTakenOnWhatIsNotStoredAnyMore(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.put(report, job(hourly))
		f.setState("demo", resource.CollectionDisabled)
		seen, err := f.schedules.Get(t.Context(), report.Schedule())
		if err != nil {
			t.Fatal(err)
		}
		m, _ := metaOf(seen)
		if _, err := f.patchState(report, resource.Disabled); err != nil {
			t.Fatal(err)
		}
		for _, next := range []step{remove, resume} {
			if err := f.take(t.Context(), next, seen, m); !lostRace(err) {
				t.Errorf("step %d: %v, want a conflict", next, err)
			}
		}
		if j := f.get(report); j.State != resource.Disabled || j.Held != "client" {
			t.Errorf("afterwards %s", text(j))
		}
	})
}

// A note that comes between the read and the resumption does not stop a client from enabling the job.
func TestEnablingIsTriedAgainWhenAnotherHoldsTheJobMeanwhile(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.put(report, job(hourly))
		hold := func(by string) *chime.Schedule {
			if err := f.schedules.Pause(t.Context(), report.Schedule(), chime.Note{By: by}); err != nil {
				t.Fatal(err)
			}
			s, err := f.schedules.Get(t.Context(), report.Schedule())
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		seen := hold("ops")
		hold(byDeaths)
		if s, err := f.enable(t.Context(), seen); err != nil || s.State != chime.StateLive {
			t.Errorf("enabled: %v, %v; want it live", s, err)
		}
	})
}
