package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
	"github.com/chimejobs/chime/internal/history"
	"github.com/chimejobs/chime/recurrence"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s: %v, got\n%s\nwant\n%s", file, err, got, want)
	}
}

func TestTheTableOfSchedulesGivesWay(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 13, 26, 48, 0, time.UTC)
	found := []*foundSchedule{
		{
			Schedule: &chime.Schedule{
				Name: "report", Queue: "default", State: chime.StateLive, Recurrence: recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 15, StartTime: now.AddDate(0, -8, 0).Truncate(24 * time.Hour)},
				Next: time.Date(2026, 11, 21, 13, 30, 0, 0, time.UTC), Last: chime.LastRun{Outcome: chime.RunDone, Ended: time.Date(2026, 11, 21, 13, 15, 0, 0, time.UTC)},
			},
			History: history.History{Known: true, Starts: 20, LateP99: 2 * time.Millisecond},
		},
		{
			Schedule: &chime.Schedule{
				Name: "invoices", Queue: "mail", State: chime.StateLive, Recurrence: recurrence.Recurrence{Frequency: recurrence.Month, MonthDays: []int{-1}, Hours: []int{18}, Minutes: []int{0}},
				NoImmediateRun: true,
				Next:           time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC), Last: chime.LastRun{Outcome: chime.RunDead, Ended: time.Date(2026, 10, 31, 18, 0, 0, 0, time.UTC)},
			},
			History: history.History{Known: true, Starts: 20, LateP99: 40 * time.Millisecond, Failed: 20, AtLeast: true},
		},
		{Schedule: &chime.Schedule{
			Name: "cleanup", Queue: "night", State: chime.StatePaused, Recurrence: recurrence.Recurrence{Cron: "0 2 * * *", TimeZone: "Europe/Berlin"},
			Note: chime.Note{By: "anna", Text: "migration\x1b[2J", At: now.Add(-50 * time.Hour)},
		}},
		{Schedule: &chime.Schedule{
			Name: "tenant-4711/ledger/nightly-reconciliation", Queue: "ledger-reconciliation-low", State: chime.StateLive, Recurrence: recurrence.Recurrence{Cron: "@hourly"}, Next: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		}},
		{Schedule: &chime.Schedule{Name: "newer", Queue: "default", Revision: 3}, unread: errors.New("a newer version wrote it")},
	}
	for _, width := range []int{0, 60, 80, 100, 200} {
		var out bytes.Buffer
		s := &session{Process: &process.Process{Out: &out, ShowsOn: width > 0, Width: func() int { return width }, Now: func() time.Time { return now }}, location: berlin, format: "table"}
		if err := s.printer().List(s.scheduleTable(found, now)); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("schedules_%d.txt", width), out.String())
	}
}

func TestTwoObjectsAreOne(t *testing.T) {
	type empty struct{}
	type a struct{ A int }
	type b struct{ B int }
	for want, j := range map[string]joined{`{"A":1,"B":2}`: {a{1}, b{2}}, `{"B":2}`: {empty{}, b{2}}, `{"A":1}`: {a{1}, empty{}}, `{}`: {empty{}, empty{}}} {
		if got, err := json.Marshal(j); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
