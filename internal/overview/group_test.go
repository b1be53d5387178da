package overview_test

import (
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
)

// The largest group need not be one of the job that has failed most often.
func TestFailuresAreCountedByJob(t *testing.T) {
	groups := []overview.Group{{Job: "panics", Error: "panic", Count: 12}, {Job: "imports", Error: "disk full", Count: 11}, {Job: "imports", Error: "timeout", Count: 10}, {Job: "imports", Count: 2}}
	for range len(groups) {
		if job, most, all := overview.ByJob(groups); job != "imports" || most != 23 || all != 35 {
			t.Errorf("got %d of %d attempts of job %s, want 23 of 35 of job imports", most, all, job)
		}
		groups = slices.Concat(groups[1:], groups[:1])
	}
	if job, most, all := overview.ByJob(nil); job != "" || most != 0 || all != 0 {
		t.Errorf("without groups: got %d of %d attempts of job %q", most, all, job)
	}
}

// A queue is unserved before its first job is due: also if it has only delayed jobs and schedules.
func TestAQueueWithDelayedJobsOnlyIsUnserved(t *testing.T) {
	now := time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC)
	queue := func(name string, waiting, delayed int64, next time.Duration, paused bool) overview.Queue {
		info := &chime.QueueInfo{Name: name, Waiting: waiting, Delayed: delayed, Paused: paused, Now: now}
		if next != 0 {
			info.Next = now.Add(next)
		}
		return overview.Queue{QueueInfo: info}
	}
	s := &overview.Snapshot{
		At: now, Workers: []overview.Worker{{WorkerInfo: &chime.WorkerInfo{Queues: map[string]int{"served": 1}}}},
		Queues: []overview.Queue{
			queue("empty", 0, 0, 0, false), queue("later", 0, 1, time.Hour, false), queue("overdue", 0, 1, -time.Second, false), queue("paused", 3, 1, time.Hour, true),
			queue("served", 3, 1, -time.Hour, false), queue("waits", 1, 1, time.Hour, false),
		},
	}
	waiting, later := overview.Unserved(s)
	if want := []string{"overdue", "waits"}; !slices.Equal(waiting, want) {
		t.Errorf("jobs wait on %q, want %q", waiting, want)
	}
	if want := []string{"later"}; !slices.Equal(later, want) {
		t.Errorf("jobs are due later on %q, want %q", later, want)
	}
}
