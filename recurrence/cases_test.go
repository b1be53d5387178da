package recurrence

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"
)

// A runCase is a job, its creation and its expected runs.
type runCase struct {
	ID, Code    string
	Description string
	Job         json.RawMessage
	Now         time.Time
	First, Next []time.Time
	Exhausted   bool
	Probes      []struct {
		After time.Time
		Next  *time.Time
	}
	Back []struct {
		Before time.Time
		Prev   *time.Time
	}
}

// runCases reads a file of cases: a JSON array, or one JSON object a line.
func runCases(t *testing.T, name string) []runCase {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoder := json.NewDecoder(bufio.NewReader(file))
	var cases []runCase
	for decoder.More() {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			t.Fatal(err)
		}
		if raw[0] != '[' {
			raw = slices.Concat([]byte("["), raw, []byte("]"))
		}
		var some []runCase
		if err := json.Unmarshal(raw, &some); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, some...)
	}
	return cases
}

// check checks one case. It reports whether the case has expected runs.
func (c runCase) check(t *testing.T) bool {
	want := append(c.First, c.Next...)
	if len(want) == 0 && !c.Exhausted {
		return false
	}
	rule, err := Parse(c.Job)
	if err != nil {
		t.Errorf("%s: %v: %s", c.ID, err, c.Job)
		return true
	}
	series, err := rule.Series(c.Now)
	if err != nil {
		t.Errorf("%s: %v: %s", c.ID, err, c.Job)
		return true
	}
	limit := len(want)
	if c.Exhausted {
		limit++
	}
	var got []time.Time
	for at := range series.All() {
		if len(got) == limit {
			break
		}
		got = append(got, at)
	}
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("%s: created %s: %s\ngot  %v\nwant %v", c.ID, c.Now, c.Job, got, want)
	}
	for _, p := range c.Probes {
		switch got, ok := series.Next(p.After); {
		case ok != (p.Next != nil):
			t.Errorf("%s: after %s got %s, %v, want %v", c.ID, p.After, got, ok, p.Next)
		case ok && !got.Equal(*p.Next):
			t.Errorf("%s: after %s got %s, want %s", c.ID, p.After, got, p.Next)
		}
	}
	return true
}

func TestEveryCaseRunsAtTheInstantsOfTheOracle(t *testing.T) {
	for _, file := range []struct {
		name string
		min  int
	}{{"seed_cases.json", 60}, {"random_cases.jsonl", 800}, {"tz_cases.json", 30}, {"extra_cases.json", 15}, {"calendar_cases.json", 400}, {"calendar_corners.json", 24}} {
		checked := 0
		for _, c := range runCases(t, file.name) {
			if c.check(t) {
				checked++
			}
		}
		if checked < file.min {
			t.Errorf("%s: %d cases checked, want at least %d", file.name, checked, file.min)
		}
	}
}
