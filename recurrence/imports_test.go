package recurrence

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"
)

// sameRule reports whether two rules are equal, an interval of 1 being none.
func sameRule(a, b Recurrence) bool { return withInterval(a).Equal(withInterval(b)) }

func withInterval(r Recurrence) Recurrence {
	r.Interval = max(r.Interval, 1)
	r.Also = slices.Clone(r.Also)
	for i, entry := range r.Also {
		if entry.Frequency != 0 {
			r.Also[i].Interval = max(entry.Interval, 1)
		}
	}
	if r.Frequency == 0 {
		r.Interval = 0
	}
	return r
}

func TestTextsOfOtherSchedulersBecomeTheseRules(t *testing.T) {
	data, err := os.ReadFile("testdata/calendar_imports.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID, Form, Text string
		Recurrence     json.RawMessage
		Code           Code
		Now, Start     time.Time
		First          []time.Time
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	read := map[string]func(string) (Recurrence, error){"rrule": FromRRule, "quartz": FromQuartz, "spring": FromSpring}
	for _, c := range cases {
		got, err := read[c.Form](c.Text)
		if c.Code != "" {
			if codesOf(err) != string(c.Code) {
				t.Errorf("%s: %q: %v, want %s", c.ID, c.Text, err, c.Code)
			}
			continue
		}
		if want := parseJob(t, c.Recurrence); err != nil || !sameRule(got, want) {
			t.Errorf("%s: %q\ngot  %+v (%v)\nwant %+v", c.ID, c.Text, got, err, want)
			continue
		}
		if !c.Start.IsZero() {
			got.StartTime = c.Start
		}
		s, err := got.Series(c.Now)
		if err != nil {
			t.Errorf("%s: %q: %v", c.ID, c.Text, err)
			continue
		}
		if runs := firstRuns(s, len(c.First)); !slices.EqualFunc(runs, c.First, time.Time.Equal) {
			t.Errorf("%s: %q\ngot  %v\nwant %v", c.ID, c.Text, runs, c.First)
		}
	}
	if len(cases) != 54 {
		t.Errorf("%d cases, want 54", len(cases))
	}
}

// firstRuns returns the first n runs of a series.
func firstRuns(s *Series, n int) (list []time.Time) {
	for at := range s.All() {
		if list = append(list, at); len(list) == n {
			break
		}
	}
	return list
}
