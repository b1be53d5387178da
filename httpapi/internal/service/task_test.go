package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/httpapi/internal/taskid"
)

var order = resource.TaskName{Collection: "demo", Task: "order"}

// readTasks reads tasks from their JSON.
func readTasks(t *testing.T, text string) []*resource.Task {
	t.Helper()
	tasks, _, mistakes := resource.ReadTasks([]byte(text))
	if len(mistakes) > 0 {
		t.Fatalf("%s: %v", text, mistakes)
	}
	return tasks
}

// add adds tasks to collection demo, and requires success.
func (f *fixture) add(text, key string) []TaskReceipt {
	f.t.Helper()
	added, err := f.AddTasks(f.t.Context(), "demo", readTasks(f.t, text), key)
	if err != nil {
		f.t.Fatalf("add %s: %v", text, err)
	}
	return added
}

func (f *fixture) task(n resource.TaskName) *resource.TaskView {
	f.t.Helper()
	found, err := f.GetTask(f.t.Context(), n, "")
	if err != nil {
		f.t.Fatalf("get %s: %v", n.Task, err)
	}
	return found
}

// attempts returns the tasks of demo whose jobs have run, attempt by attempt.
func (f *fixture) attempts() (tasks []string) {
	f.set(func() {
		for _, ran := range f.ran {
			if id, ok := taskid.Parse(ran); ok && id.Collection == "demo" {
				tasks = append(tasks, id.Task)
			}
		}
	})
	return tasks
}

func TestATaskRunsWhenItIsDueAndIsGoneAfterwards(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		f.add(`{"job": {"name": "app"}, "id": "now"}`, "")
		f.add(`{"job": {"name": "app"}, "id": "order", "in": "PT1M"}`, "")
		f.add(`{"job": {"name": "app"}, "id": "at", "at": "`+time.Now().Add(2*time.Minute).Format(time.RFC3339)+`"}`, "")
		if v := f.task(order); v.State != "delayed" || v.Job != "app" || time.Until(v.Due).Round(time.Second) != time.Minute || v.Queue != "default" {
			t.Errorf("the task is %+v, want app delayed for a minute", v)
		}
		for _, want := range []struct {
			after time.Duration
			ran   []string
		}{{10 * time.Second, []string{"now"}}, {time.Minute, []string{"now", "order"}}, {time.Minute, []string{"now", "order", "at"}}} {
			time.Sleep(want.after) // fake time
			synctest.Wait()
			if ran := f.attempts(); !slices.Equal(ran, want.ran) {
				t.Errorf("ran %v, want %v", ran, want.ran)
			}
		}
		_, err := f.GetTask(t.Context(), order, "")
		wantCode(t, "a task that is done", err, problem.NotFound)
	})
}

func TestTheResultOfATaskIsKeptAsJSON(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"sum"}})
		worker := chime.NewWorker(f.server.Store(), chime.WorkerOptions{})
		kind := chime.Define[map[string]int]("sum")
		kind.Handle(worker, func(_ context.Context, job *chime.Job, args map[string]int) error {
			job.Note("added " + job.Header["tenant"])
			return job.Return(map[string]any{"sum": args["a"] + args["b"], "at": time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)})
		})
		f.start(worker)
		f.add(`{"job": {"name": "sum", "payload": {"a": 1, "b": 2, "unknown": 3}}, "id": "order", "in": "PT10S", "keep": "PT1M", "headers": {"tenant": "acme"}}`, "")
		waited, stop := context.WithTimeout(t.Context(), 25*time.Second)
		defer stop()
		before := time.Now()
		f.AwaitTask(waited, order, "")
		if took := time.Since(before); took < 9*time.Second || took > 12*time.Second {
			t.Errorf("waited %v, want about the 10 s until the task is due", took)
		}
		v := f.task(order)
		var result struct {
			Sum int
			At  string
		}
		if err := json.Unmarshal(v.Result, &result); err != nil || result.Sum != 3 || result.At != "2027-03-01T00:00:00Z" {
			t.Errorf("the result is %s, %v, want the sum 3 and a time in UTC", v.Result, err)
		}
		if v.State != "done" || v.Outcome != "done" || v.Message != "added acme" || v.Attempt != 1 {
			t.Errorf("the task is %+v, want done with its note", v)
		}
		time.Sleep(2 * time.Minute) // fake time
		_, err := f.GetTask(t.Context(), order, "")
		wantCode(t, "a result whose time is over", err, problem.NotFound)
	})
}

// Waiting ends with ctx, and at once for a task that does not exist.
func TestWaitingForATaskEnds(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		f.add(`{"job": {"name": "app"}, "id": "order"}`, "") // no worker
		for n, want := range map[resource.TaskName]time.Duration{order: 25 * time.Second, {Collection: "demo", Task: "none"}: 0, {Collection: "none", Task: "order"}: 0} {
			ctx, stop := context.WithTimeout(t.Context(), 25*time.Second)
			before := time.Now()
			f.AwaitTask(ctx, n, "")
			if took := time.Since(before); took != want {
				t.Errorf("%v: waited %v, want %v", n, took, want)
			}
			stop()
		}
		if v := f.task(order); v.State != "waiting" {
			t.Errorf("the task is %s, want waiting", v.State)
		}
	})
}

func TestAnIDIsUniqueWhileItsTaskExistsAndWithOnceForLonger(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		const plain, once = `{"job": {"name": "app"}, "id": "order", "in": "PT1M"}`, `{"job": {"name": "app"}, "id": "once", "once": "P1D"}`
		steps := []struct {
			text     string
			existing bool
			state    string
			sleep    time.Duration
		}{
			{plain, false, "", 0}, {plain, true, "delayed", time.Hour}, {plain, false, "", time.Hour},
			{once, false, "", 0}, {once, true, "waiting", time.Minute}, {once, true, "", 23 * time.Hour}, {once, true, "", 2 * time.Hour}, {once, false, "", 0},
		}
		for i, s := range steps {
			r := f.add(s.text, "")[0]
			if r.Existing != s.existing || r.State != s.state {
				t.Errorf("step %d: %+v, want existing %v in state %q", i, r, s.existing, s.state)
			}
			if s.sleep > 0 {
				stop := f.work()
				time.Sleep(2 * time.Minute) // fake time; a worker that idles for a day costs much
				stop()
				time.Sleep(s.sleep) // fake time
			}
		}
		f.work()
		time.Sleep(time.Minute) // fake time
		synctest.Wait()
		if ran := f.attempts(); !slices.Equal(ran, []string{"order", "order", "once", "once"}) {
			t.Errorf("ran %v, want each ID twice", ran)
		}
	})
}

func TestTheSameKeyGivesTheSameTasks(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		stop := f.work()
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		const three = `{"value": [{"job": {"name": "app"}}, {"job": {"name": "app"}}, {"job": {"name": "app"}}]}`
		first := f.add(three, "a")
		time.Sleep(time.Minute) // fake time
		stop()                  // they have ended, and a worker that idles for a day costs much
		again, other := f.add(three, "a"), f.add(three, "b")
		for i := range first {
			if again[i].ID != first[i].ID || !again[i].Existing || first[i].Existing || other[i].Existing || other[i].ID == first[i].ID {
				t.Errorf("task %d: %+v, then %+v, and with another key %+v", i, first[i], again[i], other[i])
			}
		}
		time.Sleep(25 * time.Hour) // fake time
		if late := f.add(three, "a"); late[0].Existing {
			t.Error("the key still counts after 25 hours")
		}
		f.work()
		time.Sleep(time.Minute) // fake time
		synctest.Wait()
		if ran := f.attempts(); len(ran) != 9 {
			t.Errorf("%d tasks ran, want 9", len(ran))
		}
		_, err := f.AddTasks(t.Context(), "demo", readTasks(t, `{"job": {"name": "app"}, "id": "x"}`), "a")
		wantCode(t, "a key and an ID", err, "conflict")
	})
}

// A mistake in one of several tasks refuses all of them.
func TestAMistakeInATaskAddsNone(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{SKU: resource.FreeSKU, Jobs: []string{"app", "other@fast"}})
		const good = `{"value": [{"job": {"name": "app"}, "id": "order"}, `
		for _, c := range []struct{ task, code, field string }{
			{`{"job": {"name": "a b"}}`, "name", "value[1].job.name"},
			{`{"job": {"name": "app", "queue": "-/"}}`, "queue", "value[1].job.queue"},
			{`{"job": {"name": "app", "payload": 1, "body": "x"}}`, "conflict", "value[1].job.body"},
			{`{"action": {"type": "https", "request": {"uri": "ftp://example.com"}}}`, "uri", "value[1].action.request.uri"},
			{`{"action": {"type": "https", "request": {"uri": "https://10.0.0.1/"}}}`, "destination_blocked", "value[1].action.request.uri"},
			{`{"action": {"type": "https", "request": {"uri": "https://example.com/", "authentication": {"type": "ClientCertificate", "pfx": "AAAA"}}}}`, "pfx", "value[1].action"},
			{`{"job": {"name": "chime.action"}}`, "target_forbidden", ""},
			{`{"job": {"name": "other"}}`, "target_forbidden", ""},
			{`{"job": {"name": "app", "queue": "fast"}}`, "target_forbidden", ""},
			{`{"action": {"type": "https", "request": {"uri": "https://example.com/"}, "errorAction": {"type": "job", "job": {"name": "other"}}}}`, "target_forbidden", ""},
			{`{"action": {"type": "job", "job": {"name": "other"}}}`, "target_forbidden", ""},
			{`{"action": {"type": "https", "request": {"uri": "https://example.com/", "authentication": {"type": "Bearer", "token": "x"}}}}`, "quota_authentication", ""},
			{`{"action": {"type": "https", "request": {"uri": "https://example.com/", "secretHeaders": {"X-A": "x"}}}}`, "secret_keys_missing", ""},
		} {
			_, err := f.AddTasks(t.Context(), "demo", readTasks(t, good+c.task+"]}"), "")
			wantCode(t, c.task, err, problem.Code(c.code))
			p := (*problem.Problem)(nil)
			if errors.As(err, &p) && c.field != "" && (len(p.Errors) != 1 || p.Errors[0].Field != c.field) {
				t.Errorf("%s: %v, want one mistake at %s", c.task, p.Errors, c.field)
			}
			if p != nil && c.field == "" && !strings.HasPrefix(p.Detail, "value[1]: ") {
				t.Errorf("%s: the detail %q does not name the task", c.task, p.Detail)
			}
		}
		if _, err := f.AddTasks(t.Context(), "demo", readTasks(t, `{"job": {"name": "other", "queue": "fast"}}`), ""); err != nil {
			t.Errorf("a job that is allowed on its queue: %v", err)
		}
		_, err := f.GetTask(t.Context(), order, "")
		wantCode(t, "the good task", err, problem.NotFound)
	})
}

func TestACollectionDecidesWhetherItTakesTasks(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		f.setState("demo", resource.CollectionDisabled)
		task := readTasks(t, `{"job": {"name": "app"}}`)
		_, err := f.AddTasks(t.Context(), "demo", task, "")
		wantCode(t, "a disabled collection", err, problem.CollectionDisabled)
		_, err = f.AddTasks(t.Context(), "none", task, "")
		wantCode(t, "a missing collection", err, problem.NotFound)
	})
}

// Tasks need no room in the collection.
func TestTasksAreNoJobsOfTheCollection(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}, Quota: resource.Quota{MaxJobCount: 1}})
		tasks := make([]string, 500)
		for i := range tasks {
			tasks[i] = `{"job": {"name": "app"}}`
		}
		if added := f.add(`{"value": [`+strings.Join(tasks, ",")+`]}`, ""); len(added) != 500 || added[0].ID == added[1].ID {
			t.Errorf("added %d tasks, want 500 with IDs of their own", len(added))
		}
		f.put(report, job(hourly))
		found, _, err := f.ListJobs(t.Context(), "demo", Page{Top: 100})
		if err != nil || len(found) != 1 {
			t.Errorf("the collection has %d jobs, %v, want 1", len(found), err)
		}
	})
}

// A caller finds the tasks of its own collection only: not those of another collection, of an earlier one with the same name, and no other jobs.
func TestNobodyFindsTheTasksOfOthers(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		f.collect("other", &resource.Collection{Jobs: []string{"app"}})
		f.add(`{"job": {"name": "app"}, "id": "order", "in": "PT1H"}`, "")
		enqueuer := chime.NewEnqueuer(f.server.Store(), chime.EnqueuerOptions{})
		for _, id := range []string{"demo:mine", "mine", "other:order"} {
			if _, err := enqueuer.Enqueue(t.Context(), "app", nil, chime.ID(id), chime.In(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		missing := func(what string, n resource.TaskName) {
			t.Helper()
			_, err := f.GetTask(t.Context(), n, "")
			wantCode(t, what, err, problem.NotFound)
			if existed, err := f.DeleteTask(t.Context(), n, ""); existed || err != nil {
				t.Errorf("delete %s: existed %v, %v", what, existed, err)
			}
		}
		missing("a task of another collection", resource.TaskName{Collection: "other", Task: "order"})
		missing("a job of a program", resource.TaskName{Collection: "demo", Task: "mine"})
		f.task(order)
		if _, _, err := f.DeleteCollection(t.Context(), "demo", Condition{}); err != nil {
			t.Fatal(err)
		}
		missing("a task of a deleted collection", order)
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		missing("a task of an earlier collection", order)
		if r := f.add(`{"job": {"name": "app"}, "id": "order"}`, "")[0]; r.Existing {
			t.Error("a task of an earlier collection has the ID")
		}
	})
}

func TestATaskIsFoundOnItsQueue(t *testing.T) {
	onService(t, Options{Queues: []string{"default", "mail"}}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"app", "app@fast"}})
		f.add(`{"job": {"name": "app"}, "id": "order"}`, "")
		if r := f.add(`{"job": {"name": "app", "queue": "fast"}, "id": "order"}`, "")[0]; r.Existing || r.Queue != "fast" {
			t.Errorf("the task on another queue is %+v, want a new one on fast", r)
		}
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}, Queue: "mail"})
		_, err := f.GetTask(t.Context(), order, "")
		wantCode(t, "on the collection's new queue", err, problem.NotFound)
		for _, queue := range []string{"default", "fast"} {
			if v, err := f.GetTask(t.Context(), order, queue); err != nil || v.Queue != queue {
				t.Errorf("on %s: %+v, %v", queue, v, err)
			}
		}
		_, err = f.GetTask(t.Context(), order, "nosuch")
		wantCode(t, "on a queue that nobody has", err, problem.NotFound)
	})
}

func TestDeletingATaskEndsIt(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"app", "nobody"}})
		remove := func(what string, want bool) {
			t.Helper()
			if existed, err := f.DeleteTask(t.Context(), order, ""); existed != want || err != nil {
				t.Errorf("%s: existed %v, %v, want %v", what, existed, err, want)
			}
		}
		remove("none", false)
		f.add(`{"job": {"name": "app"}, "id": "order", "in": "PT1H", "once": "P1D"}`, "")
		remove("a delayed one", true)
		if r := f.add(`{"job": {"name": "app"}, "id": "order", "once": "P1D"}`, "")[0]; r.Existing {
			t.Error("the ID of a removed task cannot be used again")
		}
		remove("a waiting one", true)

		f.work()
		f.add(`{"job": {"name": "app"}, "id": "order", "once": "P1D"}`, "")
		time.Sleep(time.Minute) // fake time: it has ended
		remove("the record of once", true)
		if r := f.add(`{"job": {"name": "app"}, "id": "order", "once": "P1D"}`, "")[0]; r.Existing {
			t.Error("once still bars a deleted ID")
		}
		time.Sleep(time.Minute) // fake time
		remove("the record of once again", true)

		hang := make(chan struct{})
		f.set(func() { f.hang[""] = hang })
		f.add(`{"job": {"name": "app"}, "id": "order", "keep": "PT2M"}`, "")
		time.Sleep(time.Minute) // fake time
		if v := f.task(order); v.State != "running" {
			t.Errorf("the task is %s, want running", v.State)
		}
		remove("a running one", true)
		time.Sleep(time.Minute) // fake time
		if v := f.task(order); v.State != "done" || v.Outcome != "cancelled" {
			t.Errorf("the task is %+v, want cancelled", v)
		}
		remove("a kept result", false)
		time.Sleep(2 * time.Minute) // fake time

		f.set(func() {
			delete(f.hang, "")
			f.fail = func(*chime.Job) error { return chime.Discard(errors.New("out of paper")) }
		})
		f.add(`{"job": {"name": "app"}, "id": "order"}`, "")
		time.Sleep(time.Minute) // fake time
		if v := f.task(order); v.State != "dead" || !strings.Contains(v.Message, "out of paper") {
			t.Errorf("the task is %+v, want dead with its error", v)
		}
		remove("a dead one", true)
		remove("a removed one", false)
	})
}

// A job has the attempts and the waits of its handler. An action has its own retry policy.
func TestTheHandlerDecidesHowOftenATaskIsTried(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"own"}})
		worker := chime.NewWorker(f.server.Store(), chime.WorkerOptions{})
		kind := chime.Define[any]("own", chime.Queue("elsewhere"), chime.MaxAttempts(2), chime.Timeout(time.Minute), chime.Retry(chime.Fixed(time.Second)))
		var budgets []time.Duration
		kind.Handle(worker, func(ctx context.Context, job *chime.Job, _ any) error {
			deadline, _ := ctx.Deadline()
			budgets = append(budgets, time.Until(deadline))
			return fmt.Errorf("failed")
		})
		f.start(worker)
		if r := f.add(`{"job": {"name": "own"}, "id": "order"}`, "")[0]; r.Queue != "default" {
			t.Errorf("the task is on %s, want default: the kind's queue does not count", r.Queue)
		}
		time.Sleep(time.Minute) // fake time
		synctest.Wait()
		if v := f.task(order); v.State != "dead" || v.Attempt != 2 {
			t.Errorf("the task is %+v, want dead after two attempts", v)
		}
		if !slices.Equal(budgets, []time.Duration{time.Minute, time.Minute}) {
			t.Errorf("the attempts had %v, want a minute each", budgets)
		}
		f.add(`{"action": {"type": "job", "job": {"name": "own"}, "retryPolicy": {"retryType": "none"}}, "id": "once"}`, "")
		time.Sleep(time.Minute) // fake time
		if v := f.task(resource.TaskName{Collection: "demo", Task: "once"}); v.State != "dead" || v.Attempt != 1 {
			t.Errorf("the action is %+v, want dead after one attempt", v)
		}
	})
}

func slipOfCanary() { panic("a slip of canary") }

// The handlers of jobs write the errors of tasks, so RedactError decides what a client reads of them.
func TestATaskHasItsStackThroughRedactError(t *testing.T) {
	for name, redact := range map[string]func(schedule, text string) string{
		"slipOfCanary(": nil,
		"slipOf[demo:](": func(schedule, text string) string {
			return strings.NewReplacer("Canary", "["+schedule+"]", "canary", "["+schedule+"]").Replace(text)
		},
	} {
		onService(t, Options{RedactError: redact}, func(t *testing.T, f *fixture) {
			f.collect("demo", &resource.Collection{Jobs: []string{"own"}})
			worker := chime.NewWorker(f.server.Store(), chime.WorkerOptions{})
			worker.Handle("own", func(context.Context, *chime.Job) error { slipOfCanary(); return nil }, chime.MaxAttempts(1))
			f.start(worker)
			f.add(`{"job": {"name": "own"}, "id": "order"}`, "")
			time.Sleep(time.Minute) // fake time
			v := f.task(order)
			if shown := string(v.Append(nil)); v.State != "dead" || !strings.Contains(v.Stack, name) || !strings.Contains(v.Message, "panic: a slip of ") ||
				redact != nil && strings.Contains(strings.ToLower(shown), "canary") || !strings.Contains(shown, `"stack":"goroutine `) {
				t.Errorf("%s: got %s", name, shown)
			}
		})
	}
}

func TestATaskThatHasNotBegunInTimeExpires(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		f.add(`{"job": {"name": "app"}, "id": "order", "expire": "PT5M", "keep": "PT1H"}`, "")
		if v := f.task(order); time.Until(v.Expires).Round(time.Second) != 5*time.Minute {
			t.Errorf("the task expires at %v, want in 5 minutes", v.Expires)
		}
		time.Sleep(10 * time.Minute) // fake time
		f.work()
		time.Sleep(time.Minute) // fake time
		if v := f.task(order); v.State != "done" || v.Outcome != "expired" || len(f.attempts()) != 0 {
			t.Errorf("the task is %+v after %v, want expired without an attempt", v, f.attempts())
		}
	})
}

// The secrets of a task are sealed for its collection and its ID, in the newest form also before rekey, and open in its own action only.
func TestTheSecretsOfATaskAreSealedForIt(t *testing.T) {
	ring, err := action.ParseRing("k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	onService(t, Options{Secrets: ring}, func(t *testing.T, f *fixture) {
		const secret = `{"id": "order", "action": {"type": "https", "request": {"uri": "https://example.com/", "secretHeaders": {"X-A": "canary"}},
			"errorAction": {"type": "https", "request": {"uri": "https://example.com/failed", "secretHeaders": {"X-B": "canary"}}}}}`
		f.add(secret, "")
		c, err := f.collection(t.Context(), "demo")
		if err != nil {
			t.Fatal(err)
		}
		id := taskid.ID{Collection: "demo", Creation: c.Creation, Task: "order"}
		info, err := chime.NewJobs(f.server.Store()).Get(t.Context(), "default", id.String())
		if err != nil {
			t.Fatal(err)
		}
		if stored := string(info.Payload); strings.Contains(stored, "canary") || !strings.Contains(stored, `"$secret":"2.k1.`) {
			t.Errorf("stored is %s, want a secret sealed in the newest form", stored)
		}
		for what, at := range map[string]action.Place{"its place": action.PlaceOf(id.String()), "another task": action.PlaceOf(id.String() + "1"), "a job": {Collection: "demo", Job: "order"}, "no place": {}} {
			a, err := action.Decode(info.Payload)
			if err != nil {
				t.Fatal(err)
			}
			changed, err := a.Rekey(ring, at)
			if opens := err == nil; opens != (what == "its place") || changed {
				t.Errorf("at %s: %v, changed %v", what, err, changed)
			}
		}
	})
}

// Tasks keep the seals that they were added with, so rekey counts them while they wait.
func TestRekeyCountsTasksWithAnOldKey(t *testing.T) {
	onService(t, Options{Secrets: ringOf(t, oldKey)}, func(t *testing.T, f *fixture) {
		f.add(`{"id": "order", "in": "P300D", "action": {"type": "https", "request": {"uri": "https://example.com/", "secretHeaders": {"X-A": "canary"}}}}`, "")
		if done, err := f.Rekey(t.Context()); err != nil || done != (Rekeyed{}) {
			t.Errorf("with the same key: %+v, %v, want nothing to wait for", done, err)
		}
		both := New(Options{Store: f.server.Store(), Secrets: ringOf(t, newKey+","+oldKey)})
		if done, err := both.Rekey(t.Context()); err != nil || done != (Rekeyed{Waiting: 1}) {
			t.Errorf("with a new key: %+v, %v, want one that waits", done, err)
		}
		if existed, err := f.DeleteTask(t.Context(), order, ""); !existed || err != nil {
			t.Fatal(existed, err)
		}
		if done, err := both.Rekey(t.Context()); err != nil || done != (Rekeyed{}) {
			t.Errorf("afterwards: %+v, %v, want nothing to wait for", done, err)
		}
	})
}
