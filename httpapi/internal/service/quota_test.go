package service

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/internal/long"
)

func TestFiftyWritersFillAQuotaOfFiftyExactly(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Quota: resource.Quota{MaxJobCount: 50}})
		var writers sync.WaitGroup
		var mu sync.Mutex
		accepted := 0
		for w := range 50 {
			writers.Go(func() {
				for i := range long.Seeds(20, 100) {
					_, created, err := f.tryPut(jobIn("demo", 100*w+i), job(hourly))
					mu.Lock()
					if created {
						accepted++
					} else if p := (*problem.Problem)(nil); !errors.As(err, &p) || p.Code != problem.QuotaJobs {
						t.Errorf("writer %d: %v", w, err)
					}
					mu.Unlock()
				}
			})
		}
		writers.Wait()
		stored := 0
		for range f.schedules.List(t.Context(), chime.ScheduleFilter{Prefix: "demo:"}) {
			stored++
		}
		if accepted != 50 || stored != 50 {
			t.Errorf("%d were accepted, %d are stored, want 50", accepted, stored)
		}
		f.checkInvariant("in the end")
	})
}

// A writer that is killed between the two steps of a creation leaves a name. The name does not take up room permanently.
func TestANameThatAKilledWriterHasLeftMakesRoom(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Quota: resource.Quota{MaxJobCount: 2}})
		f.put(jobIn("demo", 1), job(hourly))
		if _, err := f.collections.Reserve(t.Context(), "demo", string(newReservedName("killed", time.Now()))); err != nil {
			t.Fatal(err)
		}
		_, _, err := f.tryPut(jobIn("demo", 2), job(hourly))
		wantCode(t, "at once", err, problem.QuotaJobs)
		time.Sleep(strayAge + 2*time.Second) // fake time
		f.put(jobIn("demo", 2), job(hourly))
		_, _, err = f.tryPut(jobIn("demo", 3), job(hourly))
		wantCode(t, "the third", err, problem.QuotaJobs)
		f.checkInvariant("in the end")
	})
}

// A sweep releases the name of a writer that is too slow. The writer gets the name back, or deletes its job.
func TestAWriterWhoseNameWasTakenGetsItBackOrTakesTheJobBack(t *testing.T) {
	for _, full := range []bool{false, true} {
		onService(t, Options{}, func(t *testing.T, f *fixture) {
			f.collect("demo", &resource.Collection{Quota: resource.Quota{MaxJobCount: 1}})
			c := &change{service: f.Service, name: report}
			if err := c.read(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.define(t.Context(), job(hourly)); err != nil {
				t.Fatal(err)
			}
			name := newReservedName("report", time.Now())
			r, err := c.reserve(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * strayAge) // fake time
			if err := f.sweep(t.Context(), r.Collection, func() error { return nil }); err != nil {
				t.Fatal(err)
			}
			if full {
				f.put(jobIn("demo", 1), job(hourly))
			}
			_, err = c.put(t.Context(), name, r)
			if full {
				wantCode(t, "full", err, problem.QuotaJobs)
			} else if err != nil {
				t.Error(err)
			}
			f.checkInvariant("in the end")
		})
	}
}

func TestQuotasBindWhatIsWrittenNewly(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		twice := `{"frequency": "hour", "startTime": "2000-01-01", "schedule": {"minutes": [0, 1]}}`
		f.collect("demo", &resource.Collection{Quota: resource.Quota{MaxFrequency: "Hour", MaxInterval: 1}})
		for rule, code := range map[string]problem.Code{
			`{"frequency": "minute", "interval": 30}`: problem.QuotaRecurrence,
			twice: problem.QuotaRecurrence,
			`{"frequency": "day", "startTime": "2000-01-01", "also": ["2000-01-01T00:10"]}`: problem.QuotaRecurrence,
			`{"cron": "*/30 * * * *"}`:                             problem.QuotaRecurrence,
			`{"frequency": "hour"}`:                                "",
			`{"frequency": "hour", "schedule": {"minutes": [10]}}`: "", // nobody chooses the run at creation
			``:                                  "",
			`{"startTime": "2000-01-01T00:10"}`: "",
			`{"frequency": "day", "startTime": "2000-01-01", "schedule": {"hours": [1, 2, 3]}}`: "",
			`{"frequency": "minute", "startTime": "2000-01-01", "count": 1}`:                    "",
		} {
			_, _, err := f.tryPut(report, job(rule))
			if code != "" {
				wantCode(t, rule, err, code)
			} else if err != nil {
				t.Errorf("%s: %v", rule, err)
			}
			if _, err := f.DeleteJob(t.Context(), report, Condition{}); err != nil {
				t.Error(err)
			}
		}
		f.collect("demo", &resource.Collection{})
		f.put(report, job(twice))
		f.collect("demo", &resource.Collection{Quota: resource.Quota{MaxFrequency: "Hour", MaxInterval: 1, MaxJobOccurrence: 5}})
		f.put(report, job(twice)) // it was allowed
		f.put(report, with(job(twice), func(j *resource.Job) { j.KeepRuns = 1 }))
		_, _, err := f.tryPut(report, job(`{"frequency": "hour"}`))
		wantCode(t, "without a count", err, problem.QuotaOccurrences)
		_, _, err = f.tryPut(report, job(`{"frequency": "hour", "count": 6}`))
		wantCode(t, "a count of 6", err, problem.QuotaOccurrences)
		f.put(report, job(`{"frequency": "hour", "count": 5}`))
		f.put(jobIn("demo", 1), job(""))
	})
}

func TestFreeCollectionsHaveNoAuthentication(t *testing.T) {
	ring, err := action.ParseRing("k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	if err != nil {
		t.Fatal(err)
	}
	onService(t, Options{Secrets: ring}, func(t *testing.T, f *fixture) {
		basic := with(job(hourly), func(j *resource.Job) {
			j.Action.Request.Authentication = &action.Authentication{Type: action.Basic, Username: "u", Password: action.Plain("canary")}
		})
		follow := with(job(hourly), func(j *resource.Job) { j.Action.ErrorAction = basic.Action })
		f.collect("demo", &resource.Collection{SKU: "Free"})
		for name, j := range map[string]*resource.Job{"the action": basic, "the error action": follow} {
			_, _, err := f.tryPut(report, j)
			wantCode(t, name, err, problem.QuotaAuthentication)
		}
		f.collect("demo", &resource.Collection{})
		first := f.put(report, basic)
		f.collect("demo", &resource.Collection{SKU: "Free"})
		if again := f.put(report, basic); again.Revision != first.Revision {
			t.Error("the same password again counts as a change")
		}
		without := with(basic, func(j *resource.Job) { j.Action.Request.Authentication.Password = action.Secret{} })
		if again := f.put(report, without); again.Revision != first.Revision {
			t.Error("an omitted password counts as a change")
		}
		bare := New(Options{Store: f.server.Store()})
		_, _, err := bare.PutJob(t.Context(), jobIn("demo", 1), Condition{}, false, func(*Job) (*resource.Job, error) { return basic, nil })
		if err == nil {
			t.Error("a secret is stored without keys")
		}
	})
}

func TestJobActionsNeedPermission(t *testing.T) {
	onService(t, Options{Queues: []string{"default", "slow"}}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Queue: "slow", Jobs: []string{"mail.*", "app@other"}})
		to := func(name, queue string) *resource.Job {
			return with(job(hourly), func(j *resource.Job) {
				j.Action = &action.Action{Type: action.Job, Job: &action.JobTarget{Name: name, Queue: queue}}
			})
		}
		onDeath := func(main *resource.Job, name string) *resource.Job {
			return with(main, func(j *resource.Job) {
				j.Action.ErrorAction = &action.Action{Type: action.Job, Job: &action.JobTarget{Name: name}}
			})
		}
		for name, row := range map[string]struct {
			job     *resource.Job
			allowed bool
		}{
			"a name in the list":                      {to("mail.send", ""), true},
			"on the collection's queue":               {to("mail.send", "slow"), true},
			"on another queue":                        {to("mail.send", "other"), false},
			"a name with that queue":                  {to("app", "other"), true},
			"without that queue":                      {to("app", ""), false},
			"another name":                            {to("pay", ""), false},
			"one of chime's":                          {to("chime.action", ""), false},
			"an error action":                         {onDeath(job(hourly), "mail.dead"), true},
			"another error action":                    {onDeath(job(hourly), "pay"), false},
			"an error action on the queue of its job": {onDeath(to("app", "other"), "app"), true},
			"an error action that is not permitted on that queue": {onDeath(to("app", "other"), "mail.dead"), false},
		} {
			_, _, err := f.tryPut(report, row.job)
			if !row.allowed {
				wantCode(t, name, err, problem.TargetForbidden)
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := f.DeleteJob(t.Context(), report, Condition{}); err != nil {
				t.Error(err)
			}
		}
		f.put(report, to("mail.send", ""))
		if s, err := f.schedules.Get(t.Context(), report.Schedule()); err != nil || s.Queue != "slow" || s.JobName != "mail.send" || s.Overlap != chime.OverlapSkip {
			t.Errorf("stored: %v, %v", s, err)
		}
		f.collect("demo", &resource.Collection{Queue: "slow"})
		f.put(report, to("mail.send", "")) // it was permitted
		if _, err := f.patchState(report, resource.Disabled); err != nil {
			t.Errorf("disabling a job that is no longer permitted: %v", err)
		}
		_, err := f.patchState(report, resource.Enabled)
		wantCode(t, "enabling it", err, problem.TargetForbidden)
	})
}

// The time of a name is the store's, even if this machine's clock is wrong.
func TestNamesHaveTheStoresTime(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		for i, off := range []time.Duration{-3 * time.Hour, 3 * time.Hour, 0} {
			f.clock.ahead.Store(int64(off))
			f.put(jobIn("demo", i), job(hourly))
		}
		names, _, err := f.collections.Names(t.Context(), "demo", collection.NameFilter{})
		if err != nil || len(names) != 3 {
			t.Fatalf("names %v, %v; want 3", names, err)
		}
		for _, name := range names {
			if at := reservedName(name).at(); time.Since(at).Abs() > time.Second {
				t.Errorf("%s has the time %v, and now is %v", name, at, time.Now())
			}
		}
	})
}
