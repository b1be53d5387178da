package service

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

func TestTheBodyWithoutStartTimePutThriceRunsOnce(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		var first *Job
		for i := range 3 {
			j, created, err := f.tryPut(report, job(""))
			if err != nil || created != (i == 0) {
				t.Errorf("put %d: created %v, %v", i, created, err)
				continue
			}
			if first == nil {
				first = j
			}
			if j.Revision != first.Revision || !j.Job.Rule.Equal(first.Job.Rule) || !j.Job.Now {
				t.Errorf("put %d: %s, want it unchanged: %s", i, text(j), text(first))
			}
			time.Sleep(time.Hour) // fake time
		}
		if ran := f.runs(report); len(ran) != 1 {
			t.Errorf("ran %v, want one run", ran)
		}
		if j := f.get(report); j.State != resource.Completed || j.Executions != 1 || !j.Next.IsZero() {
			t.Errorf("finally %s, %d executions, want completed, 1", text(j), j.Executions)
		}
	})
}

// A client that gets the job and puts it again sends the start that the server has set. That is not a change either.
func TestTheStartThatWasMadeMayBeRepeated(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		first := f.put(report, job(""))
		repeated := f.put(report, with(first.Job, func(j *resource.Job) { j.Now = false }))
		again := f.put(report, job(""))
		if repeated.Revision != first.Revision || again.Revision != first.Revision {
			t.Errorf("revisions %d, %d, %d, want one", first.Revision, repeated.Revision, again.Revision)
		}
	})
}

func TestAJobWithARuleThatBecomesOnceNowRunsOnce(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		f.put(report, job(`{"frequency": "month", "startTime": "2000-01-01T03:00:00Z"}`))
		f.put(report, job(""))
		time.Sleep(time.Minute) // fake time
		f.put(report, job(""))
		time.Sleep(2 * time.Hour) // fake time
		if ran := f.runs(report); len(ran) != 1 {
			t.Errorf("ran %v, want one run", ran)
		}
	})
}

func TestADisabledJobRunsNothing(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		made := f.put(report, with(job(`{"frequency": "hour"}`), func(j *resource.Job) { j.State = resource.Disabled }))
		if made.State != resource.Disabled || made.Held != "client" || !made.Next.IsZero() {
			t.Errorf("made: %s", text(made))
		}
		time.Sleep(65 * time.Minute) // fake time
		if ran := f.runs(report); len(ran) != 0 {
			t.Errorf("created disabled, ran %v", ran)
		}
		if j, err := f.patchState(report, resource.Enabled); err != nil || j.State != resource.Enabled || j.Held != "" || !j.Next.After(time.Now()) {
			t.Errorf("enabled: %s, %v", text(j), err)
		}
		time.Sleep(90 * time.Minute) // fake time
		if ran := f.runs(report); len(ran) < 1 || len(ran) > 2 {
			t.Errorf("after ninety minutes ran %v, want the runs of these ninety minutes only", ran)
		}
		if j, err := f.patchState(report, resource.Disabled); err != nil || j.State != resource.Disabled {
			t.Errorf("disabled: %s, %v", text(j), err)
		}
		time.Sleep(65 * time.Minute) // fake time
		if ran := f.runs(report); len(ran) != 0 {
			t.Errorf("disabled, ran %v", ran)
		}
	})
}

// Enabling skips the gap. The only run of a one-time job is not a gap, so it is not skipped.
func TestAOneTimeJobThatIsEnabledLateRunsThen(t *testing.T) {
	for name, enabled := range map[string]struct{ after, ranAt time.Duration }{
		"before its start": {time.Hour, 2 * time.Hour}, "after its start": {3 * time.Hour, 3 * time.Hour},
	} {
		onService(t, Options{}, func(t *testing.T, f *fixture) {
			f.work()
			began := time.Now()
			f.put(report, with(job(`{"startTime": "2000-01-01T02:00:00Z"}`), func(j *resource.Job) { j.State = resource.Disabled }))
			time.Sleep(enabled.after) // fake time
			if _, err := f.patchState(report, resource.Enabled); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Hour) // fake time
			if ran := f.runs(report); len(ran) != 1 {
				t.Errorf("enabled %s: ran %v, want one run", name, ran)
			}
			if j := f.get(report); j.State != resource.Completed || j.Last.Sub(began).Round(time.Minute) != enabled.ranAt {
				t.Errorf("enabled %s: %s, ran after %v, want completed, %v", name, text(j), j.Last.Sub(began), enabled.ranAt)
			}
		})
	}
}

func TestAnOmittedOrShownStateIsNotAChange(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.put(report, with(job(hourly), func(j *resource.Job) { j.State = resource.Disabled }))
		if j := f.put(report, job(hourly)); j.State != resource.Disabled {
			t.Errorf("left out: %s, want disabled", text(j))
		}
		f.put(report, with(job(hourly), func(j *resource.Job) { j.State = resource.Enabled }))
		f.setState("demo", resource.CollectionDisabled)
		shown := f.put(report, with(job(hourly), func(j *resource.Job) { j.State = resource.Disabled }))
		if shown.State != resource.Disabled || shown.Held != "collection" {
			t.Errorf("in a disabled collection: %s", text(shown))
		}
		f.setState("demo", resource.CollectionEnabled)
		if j := f.get(report); j.State != resource.Enabled {
			t.Errorf("afterwards %s, want enabled: the body had repeated the shown state", text(j))
		}
		f.setState("demo", resource.CollectionDisabled)
		if j, err := f.patchState(report, resource.Disabled); err != nil || j.Held != "client" {
			t.Errorf("patched: %s, %v, want it held by the client", text(j), err)
		}
		f.setState("demo", resource.CollectionEnabled)
		if j := f.get(report); j.State != resource.Disabled || j.Held != "client" {
			t.Errorf("afterwards %s, want disabled: a state in a patch counts", text(j))
		}
		for _, state := range []resource.State{resource.Completed, resource.Faulted, "broken"} {
			_, _, err := f.tryPut(report, with(job(hourly), func(j *resource.Job) { j.State = state }))
			wantCode(t, "state "+string(state), err, "state_value")
		}
	})
}

func TestAnEqualPutWritesNothing(t *testing.T) {
	onService(t, Options{Queues: []string{"default", "slow"}}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"app", "app@*"}})
		full := func(j *resource.Job) {
			j.Misfire, j.Grace, j.Overlap, j.NoImmediateRun, j.DisableAfter, j.KeepRuns = chime.MisfireSkip, time.Hour, chime.OverlapWait, true, 7, 5
			j.Action.Excerpt, j.Action.Request.Body, j.Action.Request.Headers = action.ExcerptAlways, "{}", map[string]string{"X": "y"}
			j.Action.RetryPolicy = &action.RetryPolicy{Type: action.RetryExponential, Interval: action.Interval(time.Minute)}
		}
		asJob := func(target action.JobTarget) func(*resource.Job) {
			return func(j *resource.Job) {
				j.Action.Type, j.Action.Request, j.Action.Job = action.Job, nil, &target
				j.Action.Excerpt = action.ExcerptNever
				j.Action.RetryPolicy = &action.RetryPolicy{Interval: action.Interval(time.Minute)}
			}
		}
		follow := func(e *action.Action) func(*resource.Job) {
			return func(j *resource.Job) {
				j.Action.RetryPolicy, j.Action.ErrorAction = &action.RetryPolicy{Type: action.RetryNone}, e
			}
		}
		for name, j := range map[string]*resource.Job{
			"a request":              job(hourly),
			"with everything":        with(job(hourly), full),
			"a job with a payload":   with(job(hourly), asJob(action.JobTarget{Name: "app", Payload: []byte(` {"a": [1, 2]} `)})),
			"a job with a digit":     with(job(hourly), asJob(action.JobTarget{Name: "app", Payload: []byte(`5`)})),
			"an error job's digit":   with(job(hourly), follow(&action.Action{Type: action.Job, Job: &action.JobTarget{Name: "app", Payload: []byte(`5`)}})),
			"a job with a text":      with(job(hourly), asJob(action.JobTarget{Name: "app", Body: `{"a":1}`, Queue: "slow"})),
			"a job with nothing":     with(job(hourly), asJob(action.JobTarget{Name: "app"})),
			"an error action":        with(job(hourly), follow(post())),
			"one with its own retry": with(job(hourly), follow(&action.Action{Type: action.HTTPS, Request: post().Request, RetryPolicy: &action.RetryPolicy{Type: action.RetryNone}})),
			"an error job":           with(job(hourly), follow(&action.Action{Type: action.Job, Job: &action.JobTarget{Name: "app", Body: "late"}})),
			"an error job by policy": with(job(hourly), follow(&action.Action{Type: action.Job, Job: &action.JobTarget{Name: "app", Payload: []byte(`[1]`)}, RetryPolicy: &action.RetryPolicy{Type: action.RetryNone}})),
		} {
			n := resource.JobName{Collection: "demo", Job: "equal"}
			first := f.put(n, j)
			again := f.put(n, j)
			read := f.put(n, f.get(n).Job)
			if again.Revision != first.Revision || read.Revision != first.Revision {
				t.Errorf("%s: revisions %d, then %d, and as it was got %d; want one", name, first.Revision, again.Revision, read.Revision)
			}
			if e, given := read.Job.Action.ErrorAction, j.Action.ErrorAction; e != nil && (e.RetryPolicy == nil) != (given.RetryPolicy == nil) {
				t.Errorf("%s: its error action is shown with retries %v, want %v", name, e.RetryPolicy, given.RetryPolicy)
			}
			if changed := f.put(n, with(j, func(j *resource.Job) { j.KeepRuns++ })); changed.Revision == first.Revision {
				t.Errorf("%s: a change was not stored", name)
			}
			if _, err := f.DeleteJob(t.Context(), n, Condition{}); err != nil {
				t.Error(err)
			}
		}
		f.checkInvariant("in the end")
	})
}

func TestAnErrorActionThatInheritsRetriesHasThoseOfThePatchedAction(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.put(report, with(job(hourly), func(j *resource.Job) { j.Action.ErrorAction = post() }))
		changed := *f.get(report).Job
		changed.Action.RetryPolicy = &action.RetryPolicy{Type: action.RetryNone}
		f.put(report, &changed)
		s, err := f.schedules.Get(t.Context(), report.Schedule())
		if err != nil {
			t.Fatal(err)
		}
		if follow, err := s.OnDeathJob(); err != nil || follow.MaxAttempts != 1 {
			t.Errorf("the error action has %d attempts, %v; want 1 like the action", follow.MaxAttempts, err)
		}
	})
}

func TestConditionsAreHeld(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		edit := func(old *Job) (*resource.Job, error) { return job(hourly), nil }
		put := func(when Condition) error {
			_, _, err := f.PutJob(t.Context(), report, when, false, edit)
			return err
		}
		wantCode(t, "If-Match on a missing job", put(Condition{Match: []int64{1}}), problem.Changed)
		wantCode(t, "If-Match * on a missing job", put(Condition{Any: true}), problem.Changed)
		if err := put(Condition{None: true}); err != nil {
			t.Error(err)
		}
		wantCode(t, "If-None-Match on an existing job", put(Condition{None: true}), problem.Exists)
		wantCode(t, "If-Match with other revisions", put(Condition{Match: []int64{1, 2}}), problem.Changed)
		now := f.get(report).Revision
		for _, when := range []Condition{{Match: []int64{1, now}}, {Any: true}} {
			if err := put(when); err != nil {
				t.Errorf("%+v: %v", when, err)
			}
		}
		_, err := f.DeleteJob(t.Context(), report, Condition{Match: []int64{1}})
		wantCode(t, "delete another", err, problem.Changed)
		if existed, err := f.DeleteJob(t.Context(), report, Condition{Match: []int64{now}}); !existed || err != nil {
			t.Errorf("delete: %v, %v", existed, err)
		}
		if existed, err := f.DeleteJob(t.Context(), report, Condition{}); existed || err != nil {
			t.Errorf("delete again: %v, %v", existed, err)
		}
	})
}

// Two editors use the same tag: one wins, the other gets an error.
func TestOfTwoEditorsWithOneTagOneWins(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		when := Condition{Match: []int64{f.put(report, job(hourly)).Revision}}
		results := make(chan error)
		for i := range 2 {
			go func() {
				_, _, err := f.PutJob(t.Context(), report, when, false, func(*Job) (*resource.Job, error) {
					return with(job(hourly), func(j *resource.Job) { j.KeepRuns = i }), nil
				})
				results <- err
			}()
		}
		won := 0
		for range 2 {
			if err := <-results; err == nil {
				won++
			} else {
				wantCode(t, "the other", err, problem.Changed)
			}
		}
		if won != 1 {
			t.Errorf("%d editors have won, want 1", won)
		}
	})
}

// A change without a tag is repeated when another change comes before it, at most five times. With a tag it fails at once.
func TestAChangeThatAlwaysLosesIsBusy(t *testing.T) {
	for _, c := range []struct {
		name  string
		when  func(first *Job) Condition
		code  problem.Code
		edits int
	}{
		{"without a tag", func(*Job) Condition { return Condition{} }, problem.Busy, 5},
		{"with a tag", func(first *Job) Condition { return Condition{Match: []int64{first.Revision}} }, problem.Changed, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			onService(t, Options{}, func(t *testing.T, f *fixture) {
				first, edits := f.put(report, job(hourly)), 0
				_, _, err := f.PutJob(t.Context(), report, c.when(first), false, func(*Job) (*resource.Job, error) {
					edits++
					f.put(report, with(job(hourly), func(j *resource.Job) { j.KeepRuns = edits }))
					return with(job(hourly), func(j *resource.Job) { j.KeepRuns = 50 }), nil
				})
				wantCode(t, "the slow one", err, c.code)
				if edits != c.edits || f.get(report).Job.KeepRuns != edits {
					t.Errorf("%d tries, want %d; the stored job is of try %d", edits, c.edits, f.get(report).Job.KeepRuns)
				}
			})
		})
	}
}

func TestAProgramsScheduleIsNoJob(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		if _, err := f.schedules.Put(t.Context(), "demo:report", parsed(hourly), chime.JobName("app")); err != nil {
			t.Fatal(err)
		}
		_, _, err := f.tryPut(report, job(hourly))
		wantCode(t, "put", err, problem.NameTaken)
		_, err = f.GetJob(t.Context(), report)
		wantCode(t, "get", err, problem.NotFound)
		_, err = f.RunJob(t.Context(), report, "")
		wantCode(t, "run", err, problem.NotFound)
		if existed, err := f.DeleteJob(t.Context(), report, Condition{}); existed || err != nil {
			t.Errorf("delete: %v, %v", existed, err)
		}
		if all, _, err := f.ListJobs(t.Context(), "demo", Page{Top: 10}); err != nil || len(all) != 0 {
			t.Errorf("list: %v, %v", all, err)
		}
		if _, _, err := f.DeleteCollection(t.Context(), "demo", Condition{}); err != nil {
			t.Error(err)
		}
		if _, err := f.schedules.Get(t.Context(), "demo:report"); err != nil {
			t.Errorf("it was deleted with the collection: %v", err)
		}
	})
}

// A pause of an operator may have an end, at which the job is enabled by itself.
func TestAJobShowsUntilWhenItIsPaused(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		f.put(report, job(`{"frequency": "hour"}`))
		until := time.Now().Add(time.Hour).Truncate(time.Millisecond)
		if err := f.schedules.Pause(t.Context(), report.Schedule(), chime.Note{By: "anna", Until: until}); err != nil {
			t.Fatal(err)
		}
		if j := f.get(report); j.Held != "operator" || !j.HeldUntil.Equal(until) || j.State != resource.Disabled {
			t.Errorf("paused: %s until %v", text(j), j.HeldUntil)
		}
		time.Sleep(2 * time.Hour) // fake time
		if j := f.get(report); j.Held != "" || !j.HeldUntil.IsZero() || j.State != resource.Enabled {
			t.Errorf("after the end: %s until %v", text(j), j.HeldUntil)
		}
	})
}
