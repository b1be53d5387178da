package pages

import (
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// In the morning, today's past occurrences are coloured by their outcomes, and not counted as future ones.
func TestTheDayOfTodayIsNotToCome(t *testing.T) {
	rule, err := recurrence.Cron("0 3,20 * * *")
	if err != nil {
		t.Fatal(err)
	}
	for _, hour := range []int{4, 12, 19} {
		now := time.Date(2026, 11, 26, hour, 0, 0, 0, time.UTC)
		day := now.Truncate(24 * time.Hour)
		of := &chime.Schedule{Name: "report", Recurrence: rule, State: chime.StateLive, Created: day.AddDate(0, -2, 0)}
		series, err := rule.Series(of.Created)
		if err != nil {
			t.Fatal(err)
		}
		p := newPast(of, series, nil, []chime.RunDay{{Day: day, Failed: 3}}, nil, func(string) Hand { return Hand{} }, now)
		var row []string
		for _, r := range p.maps(time.UTC)[1].Table.Rows {
			if text := strings.Join(r, " "); strings.Contains(text, "failed") {
				row = append(row, text)
			}
		}
		if len(row) != 1 || !strings.Contains(row[0], "26 Nov") || !strings.Contains(row[0], "3") {
			t.Errorf("at %d o'clock the days with failures are %q, want today with 3", hour, row)
		}
	}
}

// An occurrence that has failed twice before it was done is one occurrence, as long as its runs are kept.
func TestTheMapOfDaysCountsOccurrencesNotAttempts(t *testing.T) {
	rule, err := recurrence.Cron("0 3 * * *")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 26, 19, 0, 0, 0, time.UTC)
	day := now.Truncate(24 * time.Hour)
	planned := day.Add(3 * time.Hour)
	of := &chime.Schedule{Name: "report", Recurrence: rule, State: chime.StateLive, Created: day.Add(-time.Minute), KeepRuns: 100}
	of.Counters.Done, of.Counters.Failed = 1, 2
	series, err := rule.Series(of.Created)
	if err != nil {
		t.Fatal(err)
	}
	var runs []*chime.RunInfo
	for i, outcome := range []chime.RunOutcome{chime.RunDone, chime.RunFailed, chime.RunFailed} { // newest first
		at := planned.Add(time.Duration(3-i) * time.Minute)
		runs = append(runs, &chime.RunInfo{ID: occurrenceID(of.Name, planned), Planned: planned, Started: at, Ended: at.Add(time.Second), Outcome: outcome, Attempt: 3 - i})
	}
	p := newPast(of, series, runs, []chime.RunDay{{Day: day, Failed: 2, Done: 1}}, nil, func(string) Hand { return Hand{} }, now)
	for _, row := range p.maps(time.UTC)[1].Table.Rows {
		if text := strings.Join(row, " "); strings.Contains(text, "26 Nov") && (strings.Contains(text, "3") || strings.Contains(text, "failed")) {
			t.Errorf("the day is shown as %q, want one occurrence that is done", text)
		}
	}
}
