package rules_test

import (
	"context"
	"errors"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/chimejobs/chime/internal/rules"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

func job(t *testing.T, rule, created string) *rules.Job {
	t.Helper()
	r, err := rules.Read(rule, "")
	if err != nil {
		t.Fatal(err)
	}
	j, err := rules.NewJob(r, at(t, created))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// The wanted effects are what a calendar expert expects of clock changes in Berlin, New York, Lord Howe (half an hour) and Apia (30 December 2011
// does not exist).
func TestWhatClockChangesDo(t *testing.T) {
	const spring, autumn = "2027-03-01T00:00:00Z", "2027-10-01T00:00:00Z"
	for _, c := range []struct{ rule, from, change, effect string }{
		{"TZ=Europe/Berlin 30 2 * * *", spring, "Sun 28 Mar 2027 02:00 CET becomes 03:00 CEST", "02:30 does not exist and runs at 03:30"},
		{"TZ=Europe/Berlin 30 2 * * *", autumn, "Sun 31 Oct 2027 03:00 CEST becomes 02:00 CET", "02:30 comes twice and runs the first time"},
		{"TZ=Europe/Berlin 30 3 * * *", spring, "Sun 28 Mar 2027 02:00 CET becomes 03:00 CEST", "no run is affected"},
		{"TZ=Europe/Berlin 30 2,3 * * *", spring, "Sun 28 Mar 2027 02:00 CET becomes 03:00 CEST", "no run is affected"},
		{"TZ=Europe/Berlin 30 * * * *", spring, "Sun 28 Mar 2027 02:00 CET becomes 03:00 CEST", "no run is affected"},
		{"TZ=Europe/Berlin 30 * * * *", autumn, "Sun 31 Oct 2027 03:00 CEST becomes 02:00 CET", "02:30 comes twice and runs both times"},
		{
			"TZ=Europe/Berlin */10 2 * * *", spring, "Sun 28 Mar 2027 02:00 CET becomes 03:00 CEST",
			"02:00 does not exist and runs at 03:00; 02:10 does not exist and runs at 03:10; 02:20 does not exist and runs at 03:20; and 3 more",
		},
		{
			`{"cron": "30 2 * * *", "timeZone": "Europe/Berlin", "clockChanges": "skip"}`, spring, "Sun 28 Mar 2027 02:00 CET becomes 03:00 CEST",
			"02:30 does not exist and does not run",
		},
		{
			`{"cron": "30 2 * * *", "timeZone": "Europe/Berlin", "clockChanges": "shown"}`, spring, "Sun 28 Mar 2027 02:00 CET becomes 03:00 CEST",
			"02:30 does not exist and does not run",
		},
		{
			`{"cron": "30 2 * * *", "timeZone": "Europe/Berlin", "clockChanges": "shown"}`, autumn, "Sun 31 Oct 2027 03:00 CEST becomes 02:00 CET",
			"02:30 comes twice and runs both times",
		},
		{
			`{"frequency": "hour", "interval": 2, "timeZone": "Europe/Berlin"}`, spring, "Sun 28 Mar 2027 02:00 CET becomes 03:00 CEST",
			"no run is affected",
		},
		{"TZ=Australia/Lord_Howe 15 2 * * *", autumn, "Sun  3 Oct 2027 02:00 +1030 becomes 02:30 +11", "02:15 does not exist and runs at 02:45"},
		{"TZ=America/New_York 30 1 * * *", autumn, "Sun  7 Nov 2027 02:00 EDT becomes 01:00 EST", "01:30 comes twice and runs the first time"},
		{"TZ=Pacific/Apia 30 9 30 12 *", "2011-12-01T00:00:00Z", "Fri 30 Dec 2011 00:00 -10 becomes 31 Dec 00:00 +14", "30 Dec 09:30 does not exist and runs at 09:30"},
		{ // only in a gap: under "skip" it would never run
			`{"cron": "30 2 * * *", "only": {"dates": "2027-03-28"}, "timeZone": "Europe/Berlin"}`, spring,
			"Sun 28 Mar 2027 02:00 CET becomes 03:00 CEST", "02:30 does not exist and runs at 03:30",
		},
	} {
		j := job(t, c.rule, c.from)
		changes := j.ClockChanges(at(t, c.from), 1)
		if len(changes) != 1 || changes[0].Shown() != c.change {
			t.Errorf("%s: got %v, want %s", c.rule, changes, c.change)
			continue
		}
		if got := j.Effect(changes[0]); got != c.effect {
			t.Errorf("%s: got %q, want %q", c.rule, got, c.effect)
		}
	}
}

func TestRemarksOnRuns(t *testing.T) {
	for _, c := range []struct{ rule, run, want string }{
		{"TZ=Europe/Berlin 30 2 * * *", "2027-03-28T01:30:00Z", "02:30 does not exist on this day"},
		{"TZ=Europe/Berlin 30 2 * * *", "2027-03-29T00:30:00Z", ""},
		{"TZ=Europe/Berlin 30 2,3 * * *", "2027-03-28T01:30:00Z", ""},
		{"TZ=Europe/Berlin 30 2 * * *", "2027-10-31T00:30:00Z", "02:30 comes twice on this day, this is the first"},
		{"TZ=Europe/Berlin 0 * * * *", "2027-10-31T01:00:00Z", "02:00 comes twice on this day, this is the second"},
		{"TZ=Europe/Berlin 0 * * * *", "2027-10-31T02:00:00Z", ""},
		{`{"frequency": "day", "timeZone": "Europe/Berlin", "schedule": {"hours": [2], "minutes": [0], "seconds": [30]}}`, "2027-03-28T01:00:30Z", "02:00:30 does not exist on this day"},
		{`{"frequency": "day", "schedule": {"hours": [2]}}`, "2027-03-28T02:30:00Z", ""},
	} {
		if got := job(t, c.rule, "2027-01-01T00:00:00Z").Remark(at(t, c.run)); got != c.want {
			t.Errorf("%s: %s: got %q, want %q", c.rule, c.run, got, c.want)
		}
	}
}

// A run at creation in the hour after a gap does not belong to a time in the gap.
func TestTheRunAtCreationWasNotMoved(t *testing.T) {
	const created = "2027-03-28T01:30:00Z"
	j := job(t, `{"frequency": "day", "timeZone": "Europe/Berlin", "schedule": {"hours": [9]}}`, created)
	runs, err := j.Coming(t.Context(), at(t, created), time.Time{}, 1)
	if err != nil || len(runs) != 1 || !runs[0].Equal(at(t, created)) {
		t.Fatalf("%v, %v", runs, err)
	}
	if got := j.Remark(runs[0]); got != rules.FirstRun {
		t.Errorf("got %q, want only the remark on the run at creation", got)
	}
}

// The run at creation is known before it happens: rules without a start that count from the creation have one, and so has a single run in the past.
func TestTheRunAtCreationIsKnownBefore(t *testing.T) {
	const created = "2027-03-03T10:17:00Z"
	for rule, want := range map[string]string{
		`{"frequency": "day"}`:                             created,
		`{"frequency": "day", "schedule": {"hours": [9]}}`: created,
		"@every 2h":             "",
		`{"cron": "@every 2h"}`: created,
		`{"frequency": "day", "immediateRun": false}`:                             "",
		`{"startTime": "2027-03-01T09:00:00Z", "also": ["2027-03-09T09:00:00Z"]}`: created,
		`{"startTime": "2027-03-01T09:00:00Z"}`:                                   created,
		`{"startTime": "2027-03-09T09:00:00Z"}`:                                   "",
		`{"frequency": "day", "startTime": "2027-03-01T09:00:00Z"}`:               "",
		"17 10 * * *": "",
		"0 9 * * *":   "",
	} {
		j := job(t, rule, created)
		if _, is := j.AtCreation(); is != (want != "") {
			t.Errorf("%s has a run at creation: %v", rule, is)
		}
		runs, err := j.Coming(t.Context(), at(t, created), time.Time{}, 1)
		if err != nil || want != "" && (len(runs) != 1 || j.Remark(runs[0]) != rules.FirstRun) {
			t.Errorf("%s: runs %v, %v; want the first one with its remark", rule, runs, err)
		}
		without, err := j.WithoutFirst().Coming(t.Context(), at(t, created), time.Time{}, 1)
		if err != nil || len(without) > 0 && (!without[0].After(at(t, created)) && want != "" || j.WithoutFirst().Remark(without[0]) != "") {
			t.Errorf("%s without its run at creation: %v, %v", rule, without, err)
		}
	}
}

func TestACountIsUsedUpFromTheCreationOn(t *testing.T) {
	j := job(t, `{"frequency": "day", "count": 3}`, "2026-11-01T09:00:00Z")
	runs, err := j.Coming(t.Context(), at(t, "2026-11-02T00:00:00Z"), time.Time{}, 10)
	if err != nil || len(runs) != 2 || !runs[0].Equal(at(t, "2026-11-02T09:00:00Z")) || !runs[1].Equal(at(t, "2026-11-03T09:00:00Z")) {
		t.Errorf("%v, %v", runs, err)
	}
}

func TestCountingEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	j := job(t, `{"frequency": "second", "count": 2000000000}`, "2026-11-01T09:00:00Z")
	if _, err := j.Coming(ctx, at(t, "2030-01-01T00:00:00Z"), time.Time{}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestARuleOfTwelveMonths(t *testing.T) {
	for rule, want := range map[string]int{
		"0 0 29 2 *": 0, "0 0 1 * *": 12, "@hourly": 8760, `{"frequency": "day", "count": 5}`: 5, `{"frequency": "second"}`: rules.MaxYear,
	} {
		got, err := job(t, rule, "2026-11-21T00:00:00Z").InYear(t.Context(), at(t, "2026-11-21T00:00:00Z"))
		if err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", rule, got, err, want)
		}
	}
}
