package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/overview"
)

// Tables of fixed jobs, groups, queues and workers at 60, 80, 100 and 200 columns, and where nothing is cut.
func TestTablesGiveWayFromTheRight(t *testing.T) {
	now := time.Date(2026, 11, 21, 14, 26, 48, 0, time.UTC)
	s := &session{Process: &process.Process{Now: func() time.Time { return now }}, location: time.UTC}
	jobs := []*chime.JobInfo{
		{ID: "01kbq3m4x2", Name: "resize", Queue: "media", State: chime.JobRunning, Attempt: 1, MaxAttempts: 25},
		{ID: "report@2026-11-21T14:30:00Z", Name: "report", Queue: "default", State: chime.JobDelayed, Due: now.Add(192 * time.Second), Attempt: 1, MaxAttempts: 5},
		{ID: "order 17\x1b[2J\u202e", Name: "mail", Queue: "mail", State: chime.JobRetrying, Due: now.Add(26 * time.Hour), Attempt: 3, LastError: "dial tcp 10.0.0.1:25: connection refused\nstack", MaxAttempts: 25},
		{ID: "tenant-4711/monthly-statement@2026-11-21T14:30:00Z", Name: "statements.monthly.render", Queue: "statements-low-priority", State: chime.JobDead, Attempt: 3, MaxAttempts: 3, Ended: now, LastError: "template: no such field"},
		{ID: "日本語", Name: "import", Queue: "default", State: chime.JobDead, Attempt: 25, MaxAttempts: 25, Ended: now, LastError: "no such file"},
	}
	queues := []queueLine{
		{QueueInfo: &chime.QueueInfo{Name: "default", Waiting: 312, Delayed: 10204, Running: 40, Dead: 3, Oldest: now.Add(-200 * time.Millisecond), Now: now}, Workers: 3, Rates: &overview.Rates{In: 71880, Out: 71790, Failed: 24}},
		{QueueInfo: &chime.QueueInfo{Name: "mail", Paused: true, Waiting: 1204331, Now: now, Oldest: now.Add(-26 * time.Hour)}, Rates: &overview.Rates{In: 0.4}},
		{QueueInfo: &chime.QueueInfo{Name: "new", Now: now}},
		{QueueInfo: &chime.QueueInfo{Name: "statements-low-priority-of-the-european-tenants", Now: now}},
	}
	workers := []*chime.WorkerInfo{
		{Name: "3B2TWANFCOJEP5J232VJ35TIAM", Host: "app-1", PID: 4711, Queues: map[string]int{"mail": 1, "default": 3}, Slots: 20, Busy: 20, Since: now.Add(-50 * time.Hour), Seen: now.Add(-3 * time.Minute), Running: []*chime.JobInfo{{Started: now.Add(-242 * time.Second)}, {Started: now}}},
		{Name: "OCCT54EIMTGYY6GVEZZ54SHG6S", Host: "statements-7c9f8d6b5-x2x4q.eu-west-1.compute.internal", Queues: map[string]int{"statements-low-priority": 1, "statements": 1}, PID: 12, Slots: 20, Since: now, Seen: now},
	}
	groups := []jobfind.Group{
		{Count: 1204, Job: "resize", Error: "dial tcp #.#.#.#:#: connection refused", First: now.Add(-time.Hour), Last: now, Queues: []string{"default", "media"}},
		{Count: 7, Job: "statements.monthly.render", Error: "template: no such field in the statement", First: now, Last: now, Queues: []string{"statements-low-priority"}},
		{Count: 1, Job: "mail", Error: "", Queues: []string{"mail"}},
	}
	batches := []*chime.BatchInfo{
		{ID: "import/2026-11-21.csv", State: chime.BatchRunning, Total: 20_000, Left: 12_345, Done: 7_650, Dead: 5, CreatedAt: now.Add(-time.Hour), Note: "uploaded by anna\nfrom the office"},
		{ID: "statements/tenant-4711/monthly-statement@2026-11-21T14:30:00Z", State: chime.BatchEnded, Total: 1_000_000, Done: 999_000, Dead: 1_000, CreatedAt: now.Add(-50 * time.Hour), EndedAt: now.Add(-time.Hour)},
		{ID: "order 17\x1b[2J\u202e", State: chime.BatchOpen, Total: 3, Left: 3, CreatedAt: now.Add(-200 * time.Hour)},
		{ID: "日本語", State: chime.BatchCancelled, Total: 3, Cancelled: 3, CreatedAt: now, EndedAt: now},
	}
	for name, list := range map[string]output.List{
		"batches": s.batchList(batches, now), "jobs": s.jobList(jobs, now), "queues": queueList(queues), "workers": workerList(workers, now), "groups": s.groupList(groups),
	} {
		var all bytes.Buffer
		for _, width := range []int{60, 80, 100, 200, 0} {
			fmt.Fprintf(&all, "--- %d columns\n", width)
			if err := (output.Printer{Out: &all, Format: output.Table, Width: width}).List(list); err != nil {
				t.Fatal(err)
			}
		}
		golden := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(golden, all.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(all.Bytes(), want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, all.Bytes(), want)
		}
	}
}

// Users who list dead jobs want to see their errors: long IDs and names leave room for them on a terminal of 80 columns.
func TestLongNamesLeaveRoomForErrors(t *testing.T) {
	now := time.Date(2026, 11, 21, 14, 26, 48, 0, time.UTC)
	s := &session{Process: &process.Process{Now: func() time.Time { return now }}, location: time.UTC}
	long := strings.Repeat("statements.", 5)
	dead := []*chime.JobInfo{{ID: long + "1", Name: long, Queue: long, State: chime.JobDead, Attempt: 25, MaxAttempts: 25, LastError: "connection refused"}}
	for name, list := range map[string]output.List{
		"jobs": s.jobList(dead, now), "groups": s.groupList([]jobfind.Group{{Count: 1204, Job: long, Error: "connection refused", Queues: []string{long}}}),
	} {
		var out bytes.Buffer
		if err := (output.Printer{Out: &out, Format: output.Table, Width: 80}).List(list); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "ERROR") || !strings.Contains(out.String(), "connection") {
			t.Errorf("%s: got\n%s", name, out.String())
		}
	}
}
