package recurrence

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// The cases also check brute force.
func TestBruteForceRunsAtTheInstantsOfTheCases(t *testing.T) {
	for _, file := range []struct {
		name string
		min  int
		read func(*testing.T, json.RawMessage) Recurrence
	}{
		{"seed_cases.json", 60, parseJob},
		{"random_cases.jsonl", 800, parseJob},
		{"tz_cases.json", 30, parseJob},
		{"extra_cases.json", 15, parseJob},
		{"calendar_cases.json", 400, parseJob},
		{"calendar_corners.json", 24, parseJob},
	} {
		checked, step := 0, 1
		if !long.All() { // brute force is slow
			step = 4
		}
		for i, c := range runCases(t, file.name) {
			if i%step == 0 && (len(c.First)+len(c.Next) > 0 || c.Exhausted) {
				c.checkBruteForce(t, file.read(t, c.Job))
				checked++
			}
		}
		if least := file.min / step; checked < least {
			t.Errorf("%s: %d cases checked, want at least %d", file.name, checked, least)
		}
	}
}

func parseJob(t *testing.T, job json.RawMessage) Recurrence {
	t.Helper()
	r, err := Parse(job)
	if err != nil {
		t.Fatalf("%v: %s", err, job)
	}
	return r
}

func (c runCase) checkBruteForce(t *testing.T, r Recurrence) {
	b := newBruteForce(r, c.Now)
	want := append(c.First, c.Next...)
	limit := len(want)
	if c.Exhausted {
		limit++
	}
	if got := b.runs(limit); !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("%s: %s: created %s: %s\ngot  %v\nwant %v", c.ID, c.Description, c.Now, c.Job, got, want)
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

// isWanted reports whether a search found what a case wants; nil: no match.
func isWanted(got time.Time, ok bool, want *time.Time) bool {
	if want == nil || !ok {
		return want == nil && !ok
	}
	return got.Equal(*want)
}
