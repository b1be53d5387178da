package main

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// The libraries get the same questions: their answers agree before anything is timed.
func TestAllCalendarsGiveTheSameInstants(t *testing.T) {
	alone := []string{ // rules that the others cannot express
		"robfig: next 5th Friday", "robfig: calendar weekdays but 100 dates", "robfig: calendar last working day", "robfig: calendar 25th or before",
		"rrule-go: calendar 25th or before", "robfig: calendar once in 28 years",
	}
	left := map[string]bool{}
	for _, m := range slices.Concat(recurrenceMeasures(), calendarMeasures()) {
		for _, p := range m.peers {
			figures, err := m.run(t.Context(), &testbed{sizes: sizes{short: true}}, p)
			if errors.Is(err, errors.ErrUnsupported) {
				left[p.library+": "+m.name] = true
				continue
			}
			if err != nil {
				t.Error(err)
				continue
			}
			for _, f := range figures {
				if p.library == "chime" && strings.HasSuffix(f.name, "allocations") && f.value >= 1 {
					t.Errorf("%s: chime has %v %s, want none", m.name, f.value, f.name)
				}
			}
		}
	}
	for name := range left {
		if !slices.ContainsFunc(alone, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			t.Errorf("%q is left out", name)
		}
	}
	for _, prefix := range alone {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(left)), func(name string) bool { return strings.HasPrefix(name, prefix) }) {
			t.Errorf("%q is not left out", prefix)
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
