package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// A job has at most a thousand unfinished runs; a repeated request with the key of one of them is no new run.
func TestAJobHasAMaximumOfUnfinishedRuns(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.put(report, job(hourly))
		first, err := f.RunJob(t.Context(), report, "key")
		if err != nil {
			t.Fatal(err)
		}
		for range maxUnfinished - 1 {
			if _, err := f.RunJob(t.Context(), report, ""); err != nil {
				t.Fatal(err)
			}
		}
		if last := f.get(report); last.Executions != 0 {
			t.Fatalf("%d have begun", last.Executions)
		}
		_, err = f.RunJob(t.Context(), report, "")
		wantCode(t, "one more", err, problem.QuotaRuns)
		_, err = f.RunJob(t.Context(), report, "another")
		wantCode(t, "one more with a key", err, problem.QuotaRuns)
		if again, err := f.RunJob(t.Context(), report, "key"); err != nil || again != first {
			t.Errorf("the first one again: %q, %v; want %q", again, err, first)
		}
		defer f.work()()
		time.Sleep(time.Minute) // fake time
		if _, err := f.RunJob(t.Context(), report, ""); err != nil {
			t.Errorf("after they have run: %v", err)
		}
	})
}

// The runs of all collections of an owner count together, each with the bytes of its action.
func TestAnOwnerHasAQuotaOfUnfinishedBytes(t *testing.T) {
	const most = 1 << 20
	quota := func(owner string) Quota {
		if owner == "all" {
			return Quota{UnfinishedBytes: -1}
		}
		return Quota{UnfinishedBytes: most}
	}
	onService(t, Options{Quota: quota}, func(t *testing.T, f *fixture) {
		large := with(job(hourly), func(j *resource.Job) { j.Action.Request.Body = strings.Repeat("x", 8000) })
		in := func(collection, name string) resource.JobName {
			return resource.JobName{Collection: collection, Job: name}
		}
		for _, c := range []string{"a-1", "a-2"} {
			f.collect(c, of("ann"))
			f.put(in(c, "report"), large)
		}
		f.collect("b", of("ben"))
		f.put(in("b", "report"), large)
		f.collect("c", of("all"))
		f.put(in("c", "report"), large)
		key, _ := f.RunJob(t.Context(), in("a-1", "report"), "key")
		runs := 1
		for ; runs < 1000; runs++ {
			if _, err := f.RunJob(t.Context(), in(fmt.Sprint("a-", 1+runs%2), "report"), ""); err != nil {
				wantCode(t, "one more", err, problem.QuotaRuns)
				break
			}
		}
		if bytes := runs * 8700; bytes < most*8/10 || bytes > most {
			t.Errorf("%d runs were accepted, about %d bytes; want about %d", runs, bytes, most)
		}
		_, _, err := f.tryPut(in("a-1", "more"), large)
		wantCode(t, "one more job", err, problem.QuotaRuns)
		if _, _, err := f.tryPut(in("a-1", "report"), with(large, func(j *resource.Job) { j.KeepRuns = 7 })); err != nil {
			t.Errorf("a change of a job is no run: %v", err)
		}
		again, err := f.RunJob(t.Context(), in("a-1", "report"), "key")
		if err != nil || again != key {
			t.Errorf("the same key again: %q, %v; want %q", again, err, key)
		}
		for range 200 {
			if _, err := f.RunJob(t.Context(), in("c", "report"), ""); err != nil {
				t.Fatalf("an owner without a limit: %v", err)
			}
		}
		if _, err := f.RunJob(t.Context(), in("b", "report"), ""); err != nil {
			t.Errorf("another owner: %v", err)
		}
		other := New(Options{Store: f.options.Store, Quota: quota}) // a process that has added nothing
		for more := 0; err == nil; more++ {                         // the first process has also counted the two new jobs, which have not run
			if _, err = other.RunJob(t.Context(), in("a-2", "report"), ""); more > 3 {
				t.Fatal("another process has accepted three more")
			}
		}
		wantCode(t, "in another process", err, problem.QuotaRuns)
		defer f.work()()
		time.Sleep(time.Minute) // fake time
		if _, err := f.RunJob(t.Context(), in("a-1", "report"), ""); err != nil {
			t.Errorf("after they have run: %v", err)
		}
	})
}

// A sum that takes long is made less often, so that it costs an owner at most a twentieth of the time.
func TestASumIsPacedByItsCost(t *testing.T) {
	var u usages
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, row := range []struct{ took, pause time.Duration }{{time.Millisecond, usageAge}, {3 * time.Second, time.Minute}} {
		of, _ := u.begin("owner", at)
		if second, _ := u.begin("owner", at); of == nil || second != nil {
			t.Fatal("want one sum at a time")
		}
		u.end(of, 1000, nil, nil, at, at.Add(row.took))
		at = at.Add(row.took + row.pause)
		if early, _ := u.begin("owner", at.Add(-time.Millisecond)); early != nil {
			t.Errorf("a sum that took %v is repeated in less than %v", row.took, row.pause)
		}
	}
	if u.add("owner", 500, nil, 1499) || !u.add("owner", 500, nil, 1500) || u.add("owner", 1, nil, 1500) {
		t.Error("want the sum and what was added since to be at most the maximum")
	}
}

// A run that is refused or exists already uses nothing up, and the run of a dashboard needs room too.
func TestARefusedRunUsesNothingUp(t *testing.T) {
	onService(t, Options{Quota: func(string) Quota { return Quota{UnfinishedBytes: 1 << 20} }}, func(t *testing.T, f *fixture) {
		f.put(report, with(job(hourly), func(j *resource.Job) { j.Action.Request.Body = strings.Repeat("x", 8000) }))
		for range 300 { // of 8 KiB each
			if _, err := f.RunJob(t.Context(), report, "key"); err != nil {
				t.Fatalf("the same run again: %v", err)
			}
		}
		for range 300 {
			if job, err := f.CheckVerb(t.Context(), report.Schedule(), VerbRun); !job || err != nil {
				t.Fatalf("a run of a dashboard: %v", err)
			}
		}
		stop := f.work()
		time.Sleep(time.Minute) // fake time
		stop()
		var err error
		for runs := 0; err == nil; runs++ {
			if _, err = f.RunJob(t.Context(), report, ""); runs > 200 {
				t.Fatal("no run was refused")
			}
		}
		_, err = f.CheckVerb(t.Context(), report.Schedule(), VerbRun)
		wantCode(t, "a run of a dashboard without room", err, problem.QuotaRuns)
		if _, err := f.RunJob(t.Context(), report, "key"); err != nil {
			t.Errorf("a run that has ended, again: %v", err)
		}
	})
}

// A job that a release without the maximum has stored gets no more runs by the API.
func TestAJobOfAnEarlierReleaseHasTheMaximumToo(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.put(report, job(hourly))
		stored, err := f.schedules.Get(t.Context(), report.Schedule())
		if err != nil || stored.MaxUnfinished != maxUnfinished {
			t.Fatalf("%v; the maximum is %d, want %d", err, stored.MaxUnfinished, maxUnfinished)
		}
		unlimited := *stored
		unlimited.MaxUnfinished = 0
		c, err := f.collection(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		for n, code := range map[int]problem.Code{maxUnfinished - 1: "", maxUnfinished: problem.QuotaRuns} {
			unlimited.Last.Unfinished = n
			if err := f.addUse(t.Context(), c, &unlimited); code != "" {
				wantCode(t, fmt.Sprint(n), err, code)
			} else if err != nil {
				t.Errorf("with %d unfinished runs: %v", n, err)
			}
		}
	})
}
