package service

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

func jobIn(collection string, i int) resource.JobName {
	return resource.JobName{Collection: collection, Job: fmt.Sprintf("job-%03d", i)}
}

func TestADisabledCollectionRunsNothing(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		own := resource.JobName{Collection: "demo", Job: "own"}
		f.put(report, job(`{"frequency": "hour", "startTime": "2000-01-01T00:30:00Z"}`))
		f.put(own, with(job(hourly), func(j *resource.Job) { j.State = resource.Disabled }))
		f.setState("demo", resource.CollectionDisabled)
		made := resource.JobName{Collection: "demo", Job: "made"}
		if j := f.put(made, job(`{"frequency": "hour"}`)); j.State != resource.Disabled || j.Held != "collection" {
			t.Errorf("created in a disabled collection: %s", text(j))
		}
		_, err := f.RunJob(t.Context(), report, "")
		wantCode(t, "run", err, problem.CollectionDisabled)
		_, err = f.patchState(report, resource.Enabled)
		wantCode(t, "enable", err, problem.CollectionDisabled)
		f.put(report, with(job(hourly), func(j *resource.Job) { j.KeepRuns = 3 })) // a change is fine
		time.Sleep(2 * time.Hour)                                                  // fake time
		for _, n := range []resource.JobName{report, own, made} {
			if ran := f.runs(n); len(ran) > 0 {
				t.Errorf("%s ran %v", n.Job, ran)
			}
		}
		f.setState("demo", resource.CollectionEnabled)
		time.Sleep(65 * time.Minute) // fake time
		if f.get(report).State != resource.Enabled || len(f.runs(report)) != 1 || f.get(own).State != resource.Disabled || len(f.runs(own)) != 0 || len(f.runs(made)) == 0 {
			t.Errorf("enabled: report %s, own %s, created %s", text(f.get(report)), text(f.get(own)), text(f.get(made)))
		}
		f.checkInvariant("in the end")
	})
}

func TestACollectionIsDeletedWithItsJobs(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		for i := range 250 {
			f.put(jobIn("demo", i), job(hourly))
		}
		f.collect("other", &resource.Collection{})
		f.put(jobIn("other", 0), job(hourly))
		time.Sleep(2 * time.Minute) // fake time
		if existed, done, err := f.DeleteCollection(t.Context(), "demo", Condition{}); !existed || !done || err != nil {
			t.Errorf("existed %v, done %v, %v", existed, done, err)
		}
		_, err := f.GetCollection(t.Context(), "demo")
		wantCode(t, "get", err, problem.NotFound)
		_, err = f.GetJob(t.Context(), jobIn("demo", 1))
		wantCode(t, "get a job", err, problem.NotFound)
		_, _, err = f.tryPut(report, job(hourly))
		wantCode(t, "put a job", err, problem.NotFound)
		if existed, done, err := f.DeleteCollection(t.Context(), "demo", Condition{}); existed || !done || err != nil {
			t.Errorf("again: existed %v, done %v, %v", existed, done, err)
		}
		left := 0
		for range f.schedules.List(t.Context(), chime.ScheduleFilter{}) {
			left++
		}
		if left != 1 {
			t.Errorf("%d schedules are left, want only the other collection's", left)
		}
		f.collect("demo", &resource.Collection{})
		if _, created, err := f.tryPut(jobIn("demo", 1), job(hourly)); !created || err != nil {
			t.Errorf("in a new collection: created %v, %v", created, err)
		}
		f.checkInvariant("in the end")
	})
}

// While the collection has a reserved name whose schedule may still come, it is not deleted completely; Run finishes the deletion.
func TestRunFinishesWhatARequestHasBegun(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		c, err := f.collections.Get(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		name := newReservedName("slow", time.Now())
		if _, err := f.collections.Reserve(t.Context(), "demo", string(name)); err != nil {
			t.Fatal(err)
		}
		if existed, done, err := f.DeleteCollection(t.Context(), "demo", Condition{}); !existed || done || err != nil {
			t.Errorf("existed %v, done %v, %v; want it not done", existed, done, err)
		}
		_, _, err = f.tryPut(report, job(hourly))
		wantCode(t, "put a job meanwhile", err, problem.CollectionDeleting)
		// The writer is killed after it has put the schedule: the walk of the request is over by now.
		d := newDefinition(job(hourly), &resource.Collection{}, "default", meta{State: resource.Enabled, Collection: c.Creation, Name: name})
		options, err := d.options()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.schedules.Put(t.Context(), "demo:slow", d.job.Rule, options...); err != nil {
			t.Fatal(err)
		}
		f.start(f.Service)
		time.Sleep(2 * time.Minute) // fake time
		_, err = f.GetCollection(t.Context(), "demo")
		wantCode(t, "get after two minutes", err, problem.NotFound)
		f.checkInvariant("after two minutes")
	})
}

func TestACollectionKeepsItsStateUnlessItIsGiven(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.put(report, job(hourly))
		if c := f.collect("demo", &resource.Collection{State: resource.CollectionDisabled}); c.State != resource.CollectionDisabled {
			t.Errorf("put disabled, got %s", c.State)
		}
		if j := f.get(report); j.Held != "collection" {
			t.Errorf("its job: %s", text(j))
		}
		if c := f.collect("demo", &resource.Collection{Description: "new"}); c.State != resource.CollectionDisabled || c.Description != "new" {
			t.Errorf("put without a state, got %s, %q", c.State, c.Description)
		}
		revision := f.collect("demo", &resource.Collection{Description: "new"}).Revision
		if c, err := f.GetCollection(t.Context(), "demo"); err != nil || c.Revision != revision || c.State != resource.CollectionDisabled {
			t.Errorf("got %+v, %v", c, err)
		}
		_, _, err := f.PutCollection(t.Context(), "demo", Condition{Match: []int64{revision - 1}}, nil)
		wantCode(t, "of another revision", err, problem.Changed)
		_, _, err = f.PutCollection(t.Context(), "demo", Condition{}, func(*Collection) (*resource.Collection, error) {
			return &resource.Collection{Queue: "none"}, nil
		})
		wantCode(t, "an unknown queue", err, "queue")
		_, _, err = f.PutCollection(t.Context(), "a:b", Condition{}, nil)
		wantCode(t, "an invalid name", err, "name")
	})
}

func TestListsPageByName(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		for i := range 25 {
			state := resource.Enabled
			if i%5 == 0 {
				state = resource.Disabled
			}
			f.put(jobIn("demo", i), with(job(hourly), func(j *resource.Job) { j.State = state }))
			f.collect(fmt.Sprintf("c%02d", i), &resource.Collection{})
		}
		jobs := func(page Page) (names []string, next string) {
			found, next, err := f.ListJobs(t.Context(), "demo", page)
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range found {
				names = append(names, j.Name.Job)
			}
			return names, next
		}
		for _, row := range []struct {
			page        Page
			first, last string
			n           int
			next        string
		}{
			{Page{Top: 10}, "job-000", "job-009", 10, "job-009"},
			{Page{Top: 10, After: "job-009"}, "job-010", "job-019", 10, "job-019"},
			{Page{Top: 10, After: "job-019"}, "job-020", "job-024", 5, ""},
			{Page{Top: 25}, "job-000", "job-024", 25, ""},
			{Page{Top: 10, Skip: 20}, "job-020", "job-024", 5, ""},
			{Page{Top: 2, Skip: 3, After: "job-009"}, "job-013", "job-014", 2, "job-014"},
			{Page{Top: 3, State: "disabled"}, "job-000", "job-010", 3, "job-010"},
			{Page{Top: 10, Skip: 25}, "", "", 0, ""},
		} {
			names, next := jobs(row.page)
			if len(names) != row.n || row.n > 0 && (names[0] != row.first || names[row.n-1] != row.last) || next != row.next {
				t.Errorf("%+v: %v, then %q; want %d from %s to %s, then %q", row.page, names, next, row.n, row.first, row.last, row.next)
			}
		}
		f.setState("c03", resource.CollectionDisabled)
		may := func(name string) bool { return name != "c01" && name != "demo" }
		var all []string
		for page := (Page{Top: 10}); ; {
			found, next, err := f.ListCollections(t.Context(), page, Sight{May: may})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range found {
				all = append(all, c.Name)
			}
			if page.After = next; next == "" {
				break
			}
		}
		if len(all) != 24 || slices.Contains(all, "c01") || !slices.IsSorted(all) {
			t.Errorf("collections %v, want 24 in order, without c01", all)
		}
		if found, _, err := f.ListCollections(t.Context(), Page{Top: 10, State: "disabled"}, Sight{May: may}); err != nil || len(found) != 1 || found[0].Name != "c03" {
			t.Errorf("the disabled ones: %v, %v", found, err)
		}
		if _, _, err := f.ListJobs(t.Context(), "none", Page{Top: 10}); err == nil {
			t.Error("jobs of a missing collection are listed")
		}
	})
}

// At half a second a call, a hundred jobs are more than two seconds of work.
func TestAChangeThatTakesLongContinuesInRun(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		slow := New(Options{Store: f.cutStore()})
		ctx := context.WithValue(t.Context(), cutKey{}, &cut{calls: 1 << 30, wait: func() time.Duration { return 500 * time.Millisecond }})
		for i := range 100 {
			f.put(jobIn("demo", i), job(hourly))
		}
		began := time.Now()
		c, done, err := slow.SetCollectionState(ctx, "demo", resource.CollectionDisabled)
		if err != nil || done || c.State != resource.CollectionDisabled {
			t.Errorf("disabled: %+v, done %v, %v; want it not done", c, done, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the request took %v", took)
		}
		f.start(f.Service)
		time.Sleep(2 * unfinishedInterval) // fake time
		f.checkInvariant("afterwards")
		if existed, done, err := slow.DeleteCollection(ctx, "demo", Condition{}); !existed || done || err != nil {
			t.Errorf("deleted: existed %v, done %v, %v; want it not done", existed, done, err)
		}
		time.Sleep(2 * strayAge) // fake time
		_, err = f.GetCollection(t.Context(), "demo")
		wantCode(t, "get afterwards", err, problem.NotFound)
		f.checkInvariant("in the end")
	})
}
