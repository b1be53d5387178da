package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// tryAdd adds a task to a collection.
func (f *fixture) tryAdd(collection, text, key string) error {
	f.t.Helper()
	_, err := f.AddTasks(f.t.Context(), collection, readTasks(f.t, text), key)
	return err
}

// The tasks of all collections of an owner count together with its runs, until they have ended; also if their collection is deleted.
func TestTasksCountInTheQuotaOfTheirOwner(t *testing.T) {
	const most = 256 << 10
	onService(t, Options{Quota: func(string) Quota { return Quota{UnfinishedBytes: most} }}, func(t *testing.T, f *fixture) {
		for _, c := range []string{"a-1", "a-2"} {
			f.collect(c, with2(of("ann"), func(c *resource.Collection) { c.Jobs = []string{"app"} }))
		}
		f.collect("b", with2(of("ben"), func(c *resource.Collection) { c.Jobs = []string{"app"} }))
		f.put(resource.JobName{Collection: "a-1", Job: "report"}, job(hourly))
		large := func(id string) string {
			return fmt.Sprintf(`{"job": {"name": "app", "payload": %q}, "in": "PT1H"%s}`, strings.Repeat("x", 7000), id)
		}
		const named = `, "id": "named"`
		if err := f.tryAdd("a-1", large(""), "key"); err != nil {
			t.Fatal(err)
		}
		if err := f.tryAdd("a-1", large(named), ""); err != nil {
			t.Fatal(err)
		}
		var err error
		added := 2
		for ; added < 100 && err == nil; added++ {
			err = f.tryAdd(fmt.Sprint("a-", 1+added%2), large(""), "")
		}
		wantCode(t, "one more", err, problem.QuotaRuns)
		if bytes := added * 8100; bytes < most*8/10 || bytes > most*11/10 {
			t.Errorf("%d tasks were accepted, about %d bytes; want about %d", added, bytes, most)
		}
		wantCode(t, "several", f.tryAdd("a-2", `{"value": [`+large("")+","+large("")+`]}`, ""), problem.QuotaRuns)
		for range 20 { // small ones use up what remains
			_, err = f.RunJob(t.Context(), resource.JobName{Collection: "a-1", Job: "report"}, "")
		}
		wantCode(t, "a run", err, problem.QuotaRuns)
		wantCode(t, "another key", f.tryAdd("a-1", large(""), "another"), problem.QuotaRuns)
		for what, err := range map[string]error{"a key again": f.tryAdd("a-1", large(""), "key"), "an ID again": f.tryAdd("a-1", large(named), ""), "another owner": f.tryAdd("b", large(""), "")} {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		f.usages.mu.Lock()
		known := f.usages.of["owner ann"].tasks
		f.usages.of["owner ann"].tasks = map[heldTask]int64{} // as if another process had added them
		f.usages.mu.Unlock()
		if err := f.tryAdd("a-1", large(""), "key"); err != nil {
			t.Errorf("a key again that this process does not know: %v", err)
		}
		f.usages.mu.Lock()
		f.usages.of["owner ann"].tasks = known
		f.usages.mu.Unlock()
		if _, _, err := f.DeleteCollection(t.Context(), "a-2", Condition{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * usageAge) // fake time
		f.collect("a-2", with2(of("ann"), func(c *resource.Collection) { c.Jobs = []string{"app"} }))
		wantCode(t, "after a deletion of the collection", f.tryAdd("a-2", `{"value": [`+strings.Repeat(large("")+",", 9)+large("")+`]}`, ""), problem.QuotaRuns)

		defer f.work()()
		time.Sleep(2 * time.Hour) // fake time
		if err := f.tryAdd("a-1", large(""), ""); err != nil {
			t.Errorf("after they have ended: %v", err)
		}
	})
}

// A task that is dead, was cancelled, is kept, or was never stored does not count. Repetitions count once.
func TestATaskCountsUntilItHasEnded(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		c := with2(of("ann"), func(c *resource.Collection) { c.Jobs = []string{"app"} })
		f.collect("demo-2", c)
		held := func() (n int, bytes int64) {
			f.usages.mu.Lock()
			defer f.usages.mu.Unlock()
			u := f.usages.of["owner ann"]
			return len(u.tasks), u.bytes
		}
		fail := func(*chime.Job) error { return chime.Discard(fmt.Errorf("no")) }
		f.set(func() { f.fail = fail })
		for _, text := range []string{
			`{"job": {"name": "app"}, "id": "dead"}`, `{"job": {"name": "app"}, "id": "dead"}`, `{"job": {"name": "none"}, "id": "later", "in": "P1D"}`,
			`{"job": {"name": "app"}, "id": "waits", "in": "P1D"}`, `{"job": {"name": "app"}, "id": "cancelled", "in": "P1D"}`,
		} {
			if err := f.tryAdd("demo-2", text, ""); strings.Contains(text, `"none"`) != (err != nil) {
				t.Fatal(text, err)
			}
		}
		if n, bytes := held(); n != 3 || bytes < 3*taskBase || bytes > 4*taskBase {
			t.Errorf("%d tasks of %d bytes are known, want 3", n, bytes)
		}
		if _, err := f.DeleteTask(t.Context(), resource.TaskName{Collection: "demo-2", Task: "cancelled"}, ""); err != nil {
			t.Fatal(err)
		}
		stop := f.work()
		time.Sleep(time.Minute) // fake time
		f.set(func() { f.fail = nil })
		if err := f.tryAdd("demo-2", `{"job": {"name": "app"}, "id": "kept", "keep": "P1D"}`, ""); err != nil {
			t.Fatal(err)
		}
		if n, bytes := held(); n != 2 || bytes < 2*taskBase || bytes > 3*taskBase {
			t.Errorf("%d tasks of %d bytes are known, want the waiting one and the new one", n, bytes)
		}
		time.Sleep(time.Minute) // fake time
		stop()
		c2, err := f.collection(t.Context(), "demo-2")
		if err == nil {
			err = f.makeUse(t.Context(), c2, 0, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := held(); n != 1 {
			t.Errorf("%d tasks are known, want the waiting one", n)
		}
	})
}
