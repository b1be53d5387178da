package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// batch adds a batch to collection demo.
func (f *fixture) batch(text string) (*resource.BatchView, error) {
	f.t.Helper()
	b, mistakes := resource.ReadBatch([]byte(text))
	if len(mistakes) > 0 {
		f.t.Fatalf("%s: %v", text, mistakes)
	}
	return f.AddBatch(f.t.Context(), "demo", b)
}

func isProblem(err error, code problem.Code) bool {
	p := (*problem.Problem)(nil)
	return errors.As(err, &p) && p.Code == code
}

var imported = resource.BatchName{Collection: "demo", Batch: "import"}

// A batch of a job and a request, its summary, and a repeated request.
func TestABatchRunsItsTasksAndWhatFollows(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		const text = `{"id": "import", "note": "by anna", "done": {"name": "app", "payload": 1}, "ended": {"name": "app"},
			"value": [{"job": {"name": "app"}, "id": "one", "in": "PT1M"}, {"action": {"type": "https", "request": {"uri": "https://example.com/r"}}}, {"job": {"name": "app"}, "in": "PT1M"}]}`
		v, err := f.batch(text)
		if err != nil || v.Repeated || v.ID != "import" || v.State != "running" || v.Total != 3 || v.Left != 3 || v.DoneJob != "app" || v.EndedJob != "app" || v.Note != "by anna" {
			t.Fatalf("created: %+v, %v", v, err)
		}
		if task := f.task(resource.TaskName{Collection: "demo", Task: "one"}); task.Batch != "import" {
			t.Errorf("a member is %+v", task)
		}
		if v, err := f.batch(text); err != nil || !v.Repeated || v.Total != 3 {
			t.Errorf("repeated: %+v, %v", v, err)
		}
		if _, err := f.batch(strings.Replace(text, `"one"`, `"two"`, 1)); !isProblem(err, problem.BatchState) {
			t.Errorf("with other tasks: %v", err)
		}
		if _, err := f.DeleteBatch(t.Context(), imported); !isProblem(err, problem.BatchState) {
			t.Errorf("deleted while it runs: %v", err)
		}
		time.Sleep(2 * time.Minute) // fake time
		synctest.Wait()
		v, err = f.GetBatch(t.Context(), imported)
		if err != nil || v.State != "done" || v.Done != 3 || v.Left != 0 || v.Ended.IsZero() || v.DoneAdded.IsZero() || len(v.Queues) != 1 || v.Queues[0].Total != 3 {
			t.Errorf("at the end: %+v, %v", v, err)
		}
		var followed []string
		f.set(func() {
			for _, id := range f.ran {
				if strings.Contains(id, ":batch/") {
					followed = append(followed, id[strings.LastIndex(id, "/"):])
				}
			}
		})
		if slices.Sort(followed); fmt.Sprint(followed) != "[/import#done /import#ended]" {
			t.Errorf("followed by %v", followed)
		}
		if _, err := f.CancelBatch(t.Context(), imported); !isProblem(err, problem.BatchState) {
			t.Errorf("cancelled after its end: %v", err)
		}
		if existed, err := f.DeleteBatch(t.Context(), imported); !existed || err != nil {
			t.Errorf("deleted: %v, %v", existed, err)
		}
		if existed, err := f.DeleteBatch(t.Context(), imported); existed || err != nil {
			t.Errorf("deleted again: %v, %v", existed, err)
		}
		if _, err := f.GetBatch(t.Context(), imported); !isProblem(err, problem.NotFound) {
			t.Errorf("a batch that is gone: %v", err)
		}
	})
}

func TestABatchIsCancelled(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		if _, err := f.batch(`{"id": "import", "value": [{"job": {"name": "app"}}, {"job": {"name": "app"}, "in": "PT1H"}]}`); err != nil {
			t.Fatal(err)
		}
		v, err := f.CancelBatch(t.Context(), imported)
		if err != nil || v.State != "cancelled" || v.Cancelled != 2 || v.Left != 0 {
			t.Errorf("cancelled: %+v, %v", v, err)
		}
		if v, err := f.CancelBatch(t.Context(), imported); err != nil || v.State != "cancelled" {
			t.Errorf("cancelled again: %+v, %v", v, err)
		}
		if _, err := f.CancelBatch(t.Context(), resource.BatchName{Collection: "demo", Batch: "none"}); !isProblem(err, problem.NotFound) {
			t.Errorf("a batch that does not exist: %v", err)
		}
	})
}

// What the collection does not allow as a task, it does not allow in a batch, nor as what follows one.
func TestABatchMayOnlyHaveWhatTheCollectionAllows(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		for text, code := range map[string]problem.Code{
			`{"value": [{"job": {"name": "other"}}]}`:                                           problem.TargetForbidden,
			`{"value": [{"job": {"name": "app"}}], "done": {"name": "other"}}`:                  problem.TargetForbidden,
			`{"value": [{"job": {"name": "app"}}], "ended": {"name": "app", "queue": "admin"}}`: problem.TargetForbidden,
		} {
			if _, err := f.batch(text); !isProblem(err, code) {
				t.Errorf("%s: %v, want %s", text, err, code)
			}
		}
		if found, _, err := f.ListBatches(t.Context(), "demo", "", 0, 10, ""); err != nil || len(found) != 0 {
			t.Errorf("what was refused is stored: %v, %v", found, err)
		}
	})
}

// A collection has its own batches only: not those of another one, of an earlier one with its name, or of a program.
func TestACollectionListsItsOwnBatches(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		for _, name := range []string{"demo", "demo2"} {
			f.collect(name, &resource.Collection{Jobs: []string{"app"}})
			for i := range 3 {
				b, _ := resource.ReadBatch(fmt.Appendf(nil, `{"id": "b%d", "value": [{"job": {"name": "app"}, "in": "PT%dH"}]}`, i, i))
				if _, err := f.AddBatch(t.Context(), name, b); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second) // fake time
			}
		}
		if _, err := chime.NewEnqueuer(f.server.Store(), chime.EnqueuerOptions{}).EnqueueBatch(t.Context(), chime.Batch{ID: "demo:own"}); err != nil {
			t.Fatal(err)
		}
		list := func(state string, skip, top int) (ids []string) {
			for after, more := "", true; more; {
				found, next, err := f.ListBatches(t.Context(), "demo", state, skip, top, after)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range found {
					ids = append(ids, v.ID)
				}
				after, more, skip = next, next != "", 0
			}
			return ids
		}
		time.Sleep(time.Minute) // fake time
		synctest.Wait()
		for want, got := range map[string][]string{"[b2 b1 b0]": list("", 0, 1), "[b1 b0]": list("", 1, 10), "[b2 b1]": list("running", 0, 10), "[b0]": list("done", 0, 1)} {
			if fmt.Sprint(got) != want {
				t.Errorf("listed %v, want %s", got, want)
			}
		}
	})
}
