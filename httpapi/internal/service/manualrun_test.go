package service

import (
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/resource"
)

func TestOneKeyIsOneRunForADay(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		stop := f.work()
		f.put(report, with(job(hourly), func(j *resource.Job) { j.State = resource.Disabled }))
		run := func(key string) string {
			id, err := f.RunJob(t.Context(), report, key)
			if err != nil || !strings.HasPrefix(id, "demo:report#") {
				t.Errorf("run %q: %s, %v", key, id, err)
			}
			time.Sleep(time.Minute) // fake time
			return id
		}
		first := run("a")
		if again := run("a"); again != first {
			t.Errorf("the same key again: %s, want %s", again, first)
		}
		if other := run("b"); other == first {
			t.Error("another key gave the same run")
		}
		run("")
		if ran := f.runs(report); len(ran) != 4-1 {
			t.Errorf("ran %v, want three", ran)
		}
		if j := f.get(report); j.State != resource.Disabled || !j.Next.IsZero() {
			t.Errorf("afterwards %s, want it disabled", text(j))
		}
		stop()
		time.Sleep(24 * time.Hour) // fake time
		f.work()
		run("a")
		if ran := f.runs(report); len(ran) != 1 {
			t.Errorf("a day later ran %v, want one", ran)
		}
		if _, err := f.DeleteJob(t.Context(), report, Condition{}); err != nil {
			t.Error(err)
		}
		f.put(report, with(job(hourly), func(j *resource.Job) { j.State = resource.Disabled }))
		if later := run("a"); later == first {
			t.Error("the key of an earlier job with the same name gave the earlier run")
		}
	})
}

// A manual run does not count: the last run of the count still comes.
func TestAManualRunUsesUpNoCount(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		f.put(report, job(`{"frequency": "hour", "startTime": "2000-01-01T00:30:00Z", "count": 1}`))
		if _, err := f.RunJob(t.Context(), report, ""); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour) // fake time
		if ran := f.runs(report); len(ran) != 2 {
			t.Errorf("ran %v, want the manual run and the occurrence", ran)
		}
	})
}
