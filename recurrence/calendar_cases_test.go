package recurrence

import (
	"slices"
	"testing"
	"time"
)

// The brute force is itself held against the cases.
func TestBruteForceRunsAtTheInstantsOfTheCases(t *testing.T) {
	const file = "calendar_cases.json"
	checked := 0
	for _, c := range runCases(t, file) {
		if c.Code != "" {
			continue
		}
		c.checkBruteForce(t)
		checked++
	}
	if checked < 400 {
		t.Errorf("%s: %d cases checked, want at least 400", file, checked)
	}
}

func (c runCase) checkBruteForce(t *testing.T) {
	b := newBruteForce(readCalendar(t, c.Job), c.Now)
	limit := len(c.First)
	if c.Exhausted {
		limit++
	}
	if got := b.runs(limit); !slices.EqualFunc(got, c.First, time.Time.Equal) {
		t.Errorf("%s: %s: created %s: %s\ngot  %v\nwant %v", c.ID, c.Description, c.Now, c.Job, got, c.First)
	}
	for _, p := range c.Probes {
		if got, ok := b.next(p.After); !isWanted(got, ok, p.Next) {
			t.Errorf("%s: %s: %s\nafter %s got %s, %v, want %v", c.ID, c.Description, c.Job, p.After, got, ok, p.Next)
		}
	}
	for _, p := range c.Back {
		if got, ok := b.prev(p.Before); !isWanted(got, ok, p.Prev) {
			t.Errorf("%s: %s: %s\nbefore %s got %s, %v, want %v", c.ID, c.Description, c.Job, p.Before, got, ok, p.Prev)
		}
	}
}

// isWanted reports whether a search found what a case wants; nil: nothing.
func isWanted(got time.Time, ok bool, want *time.Time) bool {
	if want == nil || !ok {
		return want == nil && !ok
	}
	return got.Equal(*want)
}
