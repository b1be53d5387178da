package main

import (
	"errors"
	"testing"
	"time"
)

// The libraries are asked the same thing: their answers agree before anything is timed.
func TestAllCalendarsGiveTheSameInstants(t *testing.T) {
	for _, m := range recurrenceMeasures() {
		for _, p := range m.peers {
			figures, err := m.run(t.Context(), &testbed{sizes: sizes{short: true}}, p)
			if errors.Is(err, errors.ErrUnsupported) {
				if p.library != "robfig" || m.name[:len("next 5th")] != "next 5th" {
					t.Errorf("%s is left out of %q", p.library, m.name)
				}
				continue
			}
			if err != nil {
				t.Error(err)
			} else if p.library == "chime" && figures[1].value >= 1 {
				t.Errorf("%s: chime allocates %v times, want none", m.name, figures[1].value)
			}
		}
	}
}

func TestACalendarThatDiffersIsRefused(t *testing.T) {
	rule := calendarRules[1] // weekdays
	rule.robfig = "0 10 * * 1-5"
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	next, err := rule.open("robfig", start)
	if err != nil {
		t.Fatal(err)
	}
	if err := rule.agrees("robfig", next, start, start); err == nil {
		t.Error("10:00 in place of 09:00 was taken for the same rule")
	}
}
