package service

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// list returns the IDs of the tasks of demo that a query selects, page by page.
func (f *fixture) list(q TaskQuery) (ids []string) {
	f.t.Helper()
	q.Top = max(q.Top, 1)
	for range 100 {
		found, next, err := f.ListTasks(f.t.Context(), "demo", q)
		if err != nil {
			f.t.Fatalf("list %+v: %v", q, err)
		}
		for _, v := range found {
			ids = append(ids, v.ID)
		}
		if q.After = next; next == "" {
			return ids
		}
	}
	f.t.Fatalf("list %+v does not end", q)
	return nil
}

// A collection lists its own tasks on a queue: by state, group, batch, error, argument and instant, the newest first if wanted.
func TestTasksAreListed(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		f.set(func() {
			f.fail = func(job *chime.Job) error { return chime.Discard(fmt.Errorf("no paper in tray %s", job.Group)) }
		})
		jobs := &resource.Collection{Jobs: []string{"app", "app@other"}}
		f.collect("demo", jobs)
		f.collect("demo2", jobs)
		began := time.Now().UTC()
		for i := range 4 {
			f.add(fmt.Sprintf(`{"job": {"name": "app", "payload": {"customer": %d}}, "id": "d%d", "group": "g%d"}`, i, i, i%2), "")
			time.Sleep(time.Minute) // fake time
			synctest.Wait()
		}
		f.add(`{"value": [{"job": {"name": "app"}, "in": "PT1H", "id": "late"}, {"job": {"name": "app", "queue": "other"}, "in": "PT1H", "id": "elsewhere"}]}`, "")
		if _, err := f.batch(`{"id": "import", "value": [{"job": {"name": "app"}, "id": "line", "in": "PT2H"}]}`); err != nil {
			t.Fatal(err)
		}
		if _, err := f.AddTasks(t.Context(), "demo2", readTasks(t, `{"job": {"name": "app"}, "in": "PT1H", "id": "foreign"}`), ""); err != nil {
			t.Fatal(err)
		}
		if _, err := chime.NewEnqueuer(f.server.Store(), chime.EnqueuerOptions{}).Enqueue(t.Context(), "app", nil, chime.In(time.Hour), chime.ID("own")); err != nil {
			t.Fatal(err)
		}
		at := func(minutes int) string {
			return began.Add(time.Duration(minutes)*time.Minute - 30*time.Second).Format(time.RFC3339)
		}
		for _, c := range []struct {
			q    TaskQuery
			want string
		}{
			{TaskQuery{}, "[d0 d1 d2 d3 late line]"},
			{TaskQuery{Queue: "other"}, "[elsewhere]"},
			{TaskQuery{Queue: "none"}, "[]"},
			{TaskQuery{Filter: "state:delayed"}, "[late line]"},
			{TaskQuery{Filter: "state:dead", Order: chime.NewestFirst}, "[d3 d2 d1 d0]"},
			{TaskQuery{Filter: "state:dead", Order: chime.OldestFirst, Top: 100}, "[d0 d1 d2 d3]"},
			{TaskQuery{Filter: "group:g1"}, "[d1 d3]"},
			{TaskQuery{Filter: "batch:import"}, "[line]"},
			{TaskQuery{Filter: "batch:none"}, "[]"},
			{TaskQuery{Filter: `error:"tray g0"`}, "[d0 d2]"},
			{TaskQuery{Filter: "state:dead since:" + at(1) + " until:" + at(3)}, "[d1 d2]"},
			{TaskQuery{Filter: "arg:customer=2", Arguments: true}, "[d2]"},
		} {
			got := f.list(c.q)
			if c.q.Order == "" {
				slices.Sort(got)
			}
			if fmt.Sprint(got) != c.want {
				t.Errorf("%+v: listed %v, want %s", c.q, got, c.want)
			}
		}
		for filter, code := range map[string]problem.Code{
			"arg:customer=2": problem.Forbidden, "app": "filter", "queue:other": "filter", "worker:a": "filter", "schedule:a": "filter", "state:odd": "filter", "since:soon": "filter",
		} {
			_, _, err := f.ListTasks(t.Context(), "demo", TaskQuery{Filter: filter, Top: 1})
			p := (*problem.Problem)(nil)
			if !errors.As(err, &p) || p.Code != code && (len(p.Errors) == 0 || p.Errors[0].Code != string(code)) {
				t.Errorf("%s: %v, want %s", filter, err, code)
			}
		}
	})
}

// With RedactError, a filter by error finds only what a client may read.
func TestAFilterByErrorFindsOnlyWhatIsShown(t *testing.T) {
	onService(t, Options{RedactError: func(string, string) string { return "hidden" }}, func(t *testing.T, f *fixture) {
		f.work()
		f.set(func() { f.fail = func(*chime.Job) error { return chime.Discard(errors.New("canary-1")) } })
		f.collect("demo", &resource.Collection{Jobs: []string{"app"}})
		f.add(`{"job": {"name": "app"}, "id": "a"}`, "")
		time.Sleep(time.Minute) // fake time
		synctest.Wait()
		if found, shown := f.list(TaskQuery{Filter: "error:canary"}), f.list(TaskQuery{Filter: "error:hidden"}); len(found) != 0 || len(shown) != 1 {
			t.Errorf("by the hidden text: %v, by the shown one: %v", found, shown)
		}
	})
}
