package recurrence

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"
)

// An rruleCase is a case with the RFC 5545 rule from which python-dateutil computed its runs.
type rruleCase struct {
	ID    string
	RRule string
	Now   time.Time
	Job   Recurrence
}

// rule returns the job without count and end. A job without a start gets its creation as its start.
func (c rruleCase) rule() Recurrence {
	r := c.Job
	r.Count, r.EndTime = 0, time.Time{}
	if r.StartTime.IsZero() {
		r.StartTime = c.Now.Truncate(time.Second)
	}
	return r
}

// rruleCases reads the cases that have a rule.
func rruleCases(t *testing.T) []rruleCase {
	t.Helper()
	var cases []rruleCase
	seed, err := os.ReadFile("testdata/seed_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(seed, &cases); err != nil {
		t.Fatal(err)
	}
	random, err := os.Open("testdata/random_cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer random.Close()
	lines := bufio.NewScanner(random)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var c rruleCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestRRuleEqualsTheRuleGivenToTheOracle(t *testing.T) {
	compared := 0
	for _, c := range rruleCases(t) {
		if c.RRule == "" {
			continue
		}
		rule := c.rule()
		got, err := rule.RRule()
		if c.ID == "r0565" && codesOf(err) == string(CodeNeverFires) {
			continue // it runs at creation only; with a start it never fires, so it has no RFC 5545 rule
		}
		if err != nil || got != c.RRule {
			t.Errorf("%s: %v:\ngot  %q (%v)\nwant %q", c.ID, rule, got, err, c.RRule)
		}
		compared++
	}
	if compared < 850 {
		t.Errorf("%d rules compared, want at least 850: is testdata complete?", compared)
	}
}
