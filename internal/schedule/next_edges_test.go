package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

func TestNoImmediateRunLeavesOutTheRunAtCreation(t *testing.T) {
	created := instant(t, "2026-03-01T12:00:00Z")
	for _, c := range []struct {
		rule string
		want string // empty: no first run
	}{
		{`{"recurrence":{"frequency":"hour"}}`, "2026-03-01T13:00:00Z"},
		{`{"recurrence":{"frequency":"day","schedule":{"hours":[12],"minutes":[0]}}}`, "2026-03-02T12:00:00Z"},
		{`{"recurrence":{"cron":"@every 90m"}}`, "2026-03-01T13:30:00Z"},
		{`{"recurrence":{"cron":"CRON_TZ=Europe/Berlin @every 1h"}}`, "2026-03-01T13:00:00Z"},
		{`{"recurrence":{"cron":"@Every 90m"}}`, "2026-03-01T13:30:00Z"},
		{`{"recurrence":{"cron":"0 12 * * *"}}`, "2026-03-01T12:00:00Z"}, // the creation matches the cron line, so this is no immediate run
		{`{"startTime":"2026-03-01T12:00:00Z","recurrence":{"frequency":"hour"}}`, "2026-03-01T12:00:00Z"},
		{`{"startTime":"2026-03-01T11:30:00Z","recurrence":{"frequency":"hour"}}`, "2026-03-01T12:30:00Z"},
		{`{"startTime":"2026-03-01T12:00:01Z"}`, "2026-03-01T12:00:01Z"},
		{`{"startTime":"2026-03-01T11:00:00Z"}`, ""},
		{`{"startTime":"2026-03-01T11:00:00Z","also":["2026-03-04T09:00:00Z"]}`, "2026-03-04T09:00:00Z"}, // the dates that are to come still run
	} {
		got := ""
		if first, ok := planFor(t, created, recurrence.MustParse(c.rule), noImmediateRun()).first(); ok {
			got = first.UTC().Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("%s created at %v: first run %q, want %q", c.rule, created, got, c.want)
		}
	}
}

// After the last run of a count no run is due, so nothing counts as missed.
func TestNothingIsMissedAfterTheLastRunOfACount(t *testing.T) {
	created := instant(t, "2026-03-01T00:00:00Z")
	for _, policy := range []string{MisfireRunOnce, MisfireSkip, MisfireCatchUp} {
		p := planFor(t, created, recurrence.Recurrence{Frequency: recurrence.Minute, StartTime: created, Count: 5}, withMisfire(policy))
		for used, want := range map[int]bool{4: true, 5: false} {
			cursor := protocol.Cursor{At: created.Add(4 * time.Minute), Used: used, Placed: true}
			got := p.Next(protocol.Owed{Cursor: cursor, Since: created.Add(30 * time.Minute)})
			if some := got.Missed+got.CaughtUp > 0; some != want || got.Count != 5 {
				t.Errorf("%s, %d of 5 used: missed %d, caught up %d, count %d; want some %v, count 5", policy, used, got.Missed, got.CaughtUp, got.Count, want)
			}
		}
	}
}

func TestTakingAndPlacingAgreeOnTheCatchUpWindow(t *testing.T) {
	created := instant(t, "2026-03-01T00:00:00Z")
	p := planFor(t, created, recurrence.Recurrence{Frequency: recurrence.Hour, StartTime: created}, withMisfire(MisfireCatchUp))
	at := instant(t, "2026-03-05T00:00:00Z")
	since := at.Add(30 * time.Hour)
	got := p.Next(protocol.Owed{Cursor: protocol.Cursor{At: at, Placed: true}, Since: since})
	edge := since.Add(-catchUpWindow)
	if !p.Runs(edge, since) {
		t.Error("an occurrence exactly as old as the window is dropped when it is taken, want it to run")
	}
	if len(got.Instants) != 1 || !got.Instants[0].Equal(edge) || got.Missed != 5 || got.CaughtUp != 1 {
		t.Errorf("got %v, %d missed, %d caught up; want %v caught up, 5 missed", got.Instants, got.Missed, got.CaughtUp, edge)
	}
}

func TestTheCountOfMissedInstantsIsBounded(t *testing.T) {
	created := instant(t, "2020-01-01T00:00:00Z")
	rec := recurrence.Recurrence{Frequency: recurrence.Second, StartTime: created}
	for _, policy := range []string{MisfireRunOnce, MisfireCatchUp} {
		p := planFor(t, created, rec, withMisfire(policy))
		since := created.AddDate(5, 0, 0)
		got := p.Next(protocol.Owed{Cursor: protocol.Cursor{At: created, Placed: true}, Since: since})
		last := since.Add(time.Second)
		if policy == MisfireCatchUp {
			last = since.Add(-98 * time.Second) // the oldest of 99
		}
		if got.Missed != maxMissed || len(got.Instants) == 0 || !got.Instants[len(got.Instants)-1].Equal(last) {
			t.Errorf("%s: five years of seconds: %d missed, instants %v; want %d, and %v", policy, got.Missed, tail(got.Instants), maxMissed, last)
		}
	}
}

func tail(instants []time.Time) string {
	return fmt.Sprint(instants[max(0, len(instants)-1):])
}
