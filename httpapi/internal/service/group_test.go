package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/redisstore"
)

// inGroups records the group of each job that runs from now on, by its ID, and its runs fail if failing.
func (f *fixture) inGroups(failing bool) map[string]string {
	groups := map[string]string{}
	f.set(func() {
		f.fail = func(job *chime.Job) error {
			f.set(func() { groups[job.ID] = job.Group })
			if failing && job.Death == nil {
				return chime.Discard(errors.New("no"))
			}
			return nil
		}
	})
	return groups
}

// wide creates a queue with three partitions.
func (f *fixture) wide(queue string) {
	f.t.Helper()
	store := redisstore.New(f.server.Client(), redisstore.Options{Partitions: map[string]int{queue: 3}})
	if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(f.t.Context(), "app", nil, chime.Queue(queue)); err != nil {
		f.t.Fatal(err)
	}
}

func failing(a *action.Action) *action.Action {
	a.ErrorAction = &action.Action{Type: action.HTTPS, Request: &action.Request{URI: "https://example.com/failed", Method: "POST"}}
	return a
}

// Occurrences, manual runs, backfilled runs, tasks and error actions: whatever a collection runs is in its group.
func TestWhateverACollectionRunsIsInItsGroup(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		f.collect("demo", &resource.Collection{Group: "acme", Jobs: []string{"app"}})
		groups := f.inGroups(true)
		f.put(report, with(job(hourly), func(j *resource.Job) { failing(j.Action) }))
		if _, err := f.RunJob(t.Context(), report, ""); err != nil {
			t.Fatal(err)
		}
		f.add(`{"value": [{"job": {"name": "app"}, "id": "plain"}, {"id": "full", "action": {"type": "job", "job": {"name": "app"},
			"errorAction": {"type": "https", "request": {"uri": "https://example.com/failed"}}}}]}`, "")
		time.Sleep(2 * time.Hour) // fake time
		inAcme := func(what string, want int) {
			t.Helper()
			synctest.Wait()
			f.set(func() {
				if len(groups) != want {
					t.Errorf("%s: %d jobs ran, want %d: %v", what, len(groups), want, groups)
				}
				for id, group := range groups {
					if group != "acme" {
						t.Errorf("%s: %s ran in group %q, want acme", what, id, group)
					}
				}
				clear(groups)
			})
		}
		inAcme("two occurrences, a manual run and two tasks, and their error actions but that of the plain task", 9)
		if _, err := f.schedules.Backfill(t.Context(), report.Schedule(), time.Now().Add(-2*time.Hour), time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // fake time
		inAcme("two backfilled runs and their error actions", 4)
		f.checkInvariant("in the end")
	})
}

func TestAJobIsInItsOwnGroupOrInThatOfItsCollection(t *testing.T) {
	onService(t, Options{Queues: []string{"default", "mail"}}, func(t *testing.T, f *fixture) {
		own := func(group string) *resource.Job {
			return with(job(hourly), func(j *resource.Job) { j.Group = group })
		}
		elsewhere := with(job(hourly), func(j *resource.Job) {
			j.Action = &action.Action{Type: action.Job, Job: &action.JobTarget{Name: "app", Queue: "orders"}}
		})
		for _, c := range []struct {
			collection string
			job        *resource.Job
			own, runs  string
			code       problem.Code // of the refusal; empty: none
		}{
			{"", own(""), "", "", ""},
			{"", own("a"), "a", "a", ""},
			{"", own("b"), "b", "b", ""},
			{"acme", own("acme"), "acme", "acme", ""},
			{"acme", own(""), "", "acme", ""},
			{"acme", own("other"), "", "", problem.GroupForbidden},
			{"acme", elsewhere, "", "", ""}, // an application's queue has the groups of the application
			{"acme", with(elsewhere, func(j *resource.Job) { j.Group = "acme" }), "acme", "acme", ""},
			{"acme", with(elsewhere, func(j *resource.Job) { j.Group = "other" }), "", "", problem.GroupForbidden},
		} {
			f.collect("demo", &resource.Collection{Group: c.collection, Jobs: []string{"app@orders"}})
			stored, _, err := f.tryPut(report, c.job)
			what := fmt.Sprintf("collection %q, job %q on %s", c.collection, c.job.Group, c.job.Action.Type)
			if c.code != "" {
				wantCode(t, what, err, c.code)
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			schedule, err := f.schedules.Get(t.Context(), report.Schedule())
			if err != nil || schedule.Group != c.runs || stored.Group != c.runs || stored.Job.Group != c.own {
				t.Errorf("%s: it runs in %q, is shown with %q and its own %q, want %q and %q; %v", what, schedule.Group, stored.Group, stored.Job.Group, c.runs, c.own, err)
			}
			if again := f.put(report, c.job); again.Revision != stored.Revision {
				t.Errorf("%s: an equal PUT has written", what)
			}
		}
		f.checkInvariant("in the end")
	})
}

// As with its queue, a new group of a collection applies to jobs that are written afterwards, unless they have ended.
func TestANewGroupOfACollectionAppliesToJobsThatAreWritten(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		once := jobIn("demo", 1)
		f.collect("demo", &resource.Collection{Group: "a"})
		f.put(report, job(hourly))
		f.put(once, job(""))
		time.Sleep(time.Minute) // fake time
		f.collect("demo", &resource.Collection{Group: "b"})
		if j := f.get(report); j.Group != "a" {
			t.Errorf("before it is written, its group is %q, want a", j.Group)
		}
		if j := f.put(report, job(hourly)); j.Group != "b" {
			t.Errorf("after it is written, its group is %q, want b", j.Group)
		}
		if j := f.put(once, job("")); j.Group != "a" || j.State != resource.Completed {
			t.Errorf("the ended job is %s in group %q, want completed in a", j.State, j.Group)
		}
		f.collect("demo", &resource.Collection{})
		if j := f.put(report, job(hourly)); j.Group != "" {
			t.Errorf("without a group of the collection, its group is %q", j.Group)
		}
	})
}

// A queue of several partitions has no groups. What needs one there is refused, with its field, before anything is stored.
func TestAGroupOnAQueueOfSeveralPartitionsIsRefused(t *testing.T) {
	onService(t, Options{Queues: []string{"default", "wide", "fresh"}}, func(t *testing.T, f *fixture) {
		f.wide("wide")
		refused := func(what string, err error, field string) {
			t.Helper()
			wantCode(t, what, err, "group_queue")
			if p := (*problem.Problem)(nil); errors.As(err, &p) && (len(p.Errors) != 1 || p.Errors[0].Field != field || p.Errors[0].Value != "acme") {
				t.Errorf("%s: %+v, want field %s and value acme", what, p.Errors, field)
			}
		}
		put := func(c *resource.Collection) error {
			_, _, err := f.PutCollection(t.Context(), "demo", Condition{}, func(*Collection) (*resource.Collection, error) { return c, nil })
			return err
		}
		refused("a collection", put(&resource.Collection{Queue: "wide", Group: "acme", Prefix: "properties."}), "properties.chime.group")
		f.collect("demo", &resource.Collection{Queue: "wide", Jobs: []string{"app"}})
		grouped := with(job(hourly), func(j *resource.Job) { j.Group, j.Prefix = "acme", "properties." })
		_, _, err := f.tryPut(report, grouped)
		refused("a job", err, "properties.chime.group")
		_, err = f.AddTasks(t.Context(), "demo", readTasks(t, `{"value": [{"job": {"name": "app"}}, {"job": {"name": "app"}, "group": "acme"}]}`), "")
		refused("a task", err, "value[1].group")
		f.checkInvariant("after the refusals")
		if info, err := f.queues.Get(t.Context(), "wide"); err != nil || info.Enqueued != 1 {
			t.Errorf("the queue is %+v, %v: want nothing stored", info, err)
		}

		f.collect("demo", &resource.Collection{Group: "acme"})
		refused("a collection that moves", put(&resource.Collection{Queue: "wide", Group: "acme"}), "chime.group")
		f.put(report, job(hourly))
		f.collect("demo", &resource.Collection{Queue: "fresh", Group: "acme", Jobs: []string{"app"}}) // nobody knows how many partitions it will have
		f.wide("fresh")
		if _, _, err := f.tryPut(jobIn("demo", 1), job(hourly)); err == nil {
			t.Error("a job was stored on a queue of several partitions")
		}
		f.checkInvariant("in the end")

		f.collect("later", &resource.Collection{Jobs: []string{"app"}})
		later := New(Options{Store: redisstore.New(f.server.Client(), redisstore.Options{Partitions: map[string]int{"later": 3}}), Queues: []string{"later"}})
		_, _, err = later.PutJob(t.Context(), jobIn("later", 1), Condition{}, false, func(*Job) (*resource.Job, error) { return grouped, nil })
		refused("a job on a queue that does not exist yet", err, "properties.chime.group")
		_, err = later.AddTasks(t.Context(), "later", readTasks(t, `{"job": {"name": "app"}, "group": "acme"}`), "")
		refused("a task on a queue that exists since", err, "group")
		f.checkInvariant("after refusals by the store")
	})
}

// The rule of a group may bound its waiting jobs: more tasks and manual runs are refused with 409, not as a failure of the store.
func TestAFullGroupRefusesTasksAndRuns(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Group: "acme", Jobs: []string{"app"}})
		f.put(report, with(job(hourly), func(j *resource.Job) { j.NoImmediateRun = true }))
		if err := f.queues.SetGroup(t.Context(), "default", "acme", chime.GroupRule{Waiting: 1}); err != nil {
			t.Fatal(err)
		}
		f.add(`{"job": {"name": "app"}}`, "")
		_, err := f.AddTasks(t.Context(), "demo", readTasks(t, `{"job": {"name": "app"}}`), "")
		wantCode(t, "a task", err, problem.GroupFull)
		_, err = f.RunJob(t.Context(), report, "")
		wantCode(t, "a run", err, problem.GroupFull)
		f.work()
		time.Sleep(time.Second) // fake time
		if _, err = f.RunJob(t.Context(), report, ""); err != nil {
			t.Errorf("after the task has run: %v", err)
		}
	})
}

// Two collections on one queue with one slot: the one with 50 runs does not keep the other one's run waiting.
func TestCollectionsWithGroupsShareAQueueFairly(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		for _, name := range []string{"busy", "quiet"} {
			f.collect(name, &resource.Collection{Group: name})
			f.put(resource.JobName{Collection: name, Job: "report"}, with(job(hourly), func(j *resource.Job) { j.NoImmediateRun = true }))
		}
		for _, name := range slices.Concat(slices.Repeat([]string{"busy"}, 50), []string{"quiet"}) {
			if _, err := f.RunJob(t.Context(), resource.JobName{Collection: name, Job: "report"}, ""); err != nil {
				t.Fatal(err)
			}
		}
		var order []string
		worker := chime.NewWorker(f.server.Store(), chime.WorkerOptions{Concurrency: 1})
		worker.Handle(action.JobName, func(_ context.Context, job *chime.Job) error {
			f.set(func() { order = append(order, job.Group) })
			time.Sleep(time.Second) // fake time
			return nil
		})
		f.start(worker)
		time.Sleep(2 * time.Minute) // fake time
		f.set(func() {
			if at := slices.Index(order, "quiet"); at < 0 || at > 5 || len(order) != 51 {
				t.Errorf("the run of quiet was number %d of %d, want one of the first", at+1, len(order))
			}
		})
	})
}
