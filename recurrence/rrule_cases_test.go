package recurrence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// manyOf reads one value where an array may stand.
type manyOf[T any] []T

func (m *manyOf[T]) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("[")) {
		data = append(append([]byte("["), data...), ']')
	}
	return json.Unmarshal(data, (*[]T)(m))
}

// An rruleCase is a case whose RFC 5545 rule was asked of python-dateutil.
type rruleCase struct {
	ID    string
	RRule string
	Now   time.Time
	Job   struct {
		StartTime  string
		Recurrence struct {
			Frequency Frequency
			Interval  int
			TimeZone  string
			Schedule  struct {
				Minutes, Hours, Minute, Hour, MonthDays manyOf[int]
				WeekDays                                manyOf[string]
				MonthlyOccurrences, MonthlyOccurences   manyOf[struct {
					Day        string
					Occurrence int
				}]
				Months manyOf[time.Month]
			}
		}
	}
}

// rule is the case's job without count and end, started at creation where it has no start.
func (c rruleCase) rule() (Recurrence, error) {
	from, elements := c.Job.Recurrence, c.Job.Recurrence.Schedule
	r := Recurrence{
		Frequency: from.Frequency, Interval: from.Interval, TimeZone: from.TimeZone,
		Minutes: append(elements.Minutes, elements.Minute...), Hours: append(elements.Hours, elements.Hour...),
		MonthDays: elements.MonthDays, Months: elements.Months, StartTime: c.Now.Truncate(time.Second),
	}
	for _, day := range elements.WeekDays {
		r.WeekDays = append(r.WeekDays, weekdayNamed(day))
	}
	for _, o := range append(elements.MonthlyOccurrences, elements.MonthlyOccurences...) {
		r.MonthlyOccurrences = append(r.MonthlyOccurrences, NthWeekday{weekdayNamed(o.Day), o.Occurrence})
	}
	if c.Job.StartTime != "" {
		start, err := parseTime("startTime", c.Job.StartTime, time.UTC)
		if err != nil {
			return r, err
		}
		r.StartTime = start
	}
	return r, nil
}

// weekdayNamed finds a weekday by its English name in any case.
func weekdayNamed(name string) time.Weekday {
	for day := range time.Weekday(7) {
		if strings.EqualFold(day.String(), name) {
			return day
		}
	}
	return -1
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

func TestRRuleIsTheOneTheOracleWasAsked(t *testing.T) {
	compared := 0
	for _, c := range rruleCases(t) {
		if c.RRule == "" {
			continue
		}
		rule, err := c.rule()
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		got, err := rule.RRule()
		if err != nil || got != c.RRule {
			t.Errorf("%s: %v:\ngot  %q (%v)\nwant %q", c.ID, rule, got, err, c.RRule)
		}
		compared++
	}
	if compared < 850 {
		t.Errorf("%d rules compared, want at least 850: is testdata whole?", compared)
	}
}
