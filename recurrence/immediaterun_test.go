package recurrence

import (
	"testing"
	"time"
)

func TestImmediateRunFalseOmitsTheRunAtCreation(t *testing.T) {
	created := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ rule, with, without string }{
		{`"frequency": "hour"`, "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"},
		{`"frequency": "day", "schedule": {"hours": [9]}`, "2026-03-01T12:00:00Z", "2026-03-02T09:00:00Z"},
		{`"frequency": "day", "schedule": {"hours": [12], "minutes": [0]}`, "2026-03-01T12:00:00Z", "2026-03-02T12:00:00Z"},
		{`"cron": "@every 90m"`, "2026-03-01T12:00:00Z", "2026-03-01T13:30:00Z"},
		{`"frequency": "hour", "except": [{"times": "12:00/12:59"}]`, "2026-03-01T13:00:00Z", "2026-03-01T13:00:00Z"},
		{`"frequency": "hour", "also": ["2026-03-01T12:20"]`, "2026-03-01T12:00:00Z", "2026-03-01T12:20:00Z"},
		{`"cron": "0 12 * * *"`, "2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"}, // it matches, and is not the run at creation
		{`"frequency": "hour", "startTime": "2026-03-01T12:00"`, "2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"},
		{`"startTime": "2026-03-05"`, "2026-03-05T00:00:00Z", "2026-03-05T00:00:00Z"},
		{`"startTime": "2026-03-01T12:00"`, "2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"},
		{`"startTime": "2026-02-05"`, "2026-03-01T12:00:00Z", ""},
		{`"startTime": "2026-02-05", "also": ["2026-02-07", "2026-03-05"]`, "2026-03-01T12:00:00Z", "2026-03-05T00:00:00Z"},
	} {
		for more, want := range map[string]string{"": c.with, `, "immediateRun": null`: c.with, `, "immediateRun": true`: c.with, `, "immediateRun": false`: c.without} {
			text := "{" + c.rule + more + "}"
			r := MustParse(text)
			s, err := r.Series(created)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			got := ""
			if first, ok := s.First(); ok {
				got = first.Format(time.RFC3339)
			}
			if got != want {
				t.Errorf("%s: first run %q, want %q", text, got, want)
			}
		}
	}
}

// A second that has begun at creation is over.
func TestWithoutTheImmediateRunTheFirstPeriodIsWhole(t *testing.T) {
	created := time.Date(2026, 3, 1, 12, 0, 0, 500, time.UTC)
	s, err := Recurrence{Frequency: Second, Interval: 10, NoImmediateRun: true, Count: 2}.Series(created)
	if err != nil {
		t.Fatal(err)
	}
	if got := firstRuns(s, 3); len(got) != 2 || !got[0].Equal(created.Truncate(time.Second).Add(10*time.Second)) {
		t.Errorf("got %v, want two runs, the first 10 s after the creation", got)
	}
}

func TestImmediateRunIsWrittenOnlyWhereThereIsSuchARun(t *testing.T) {
	for rule, want := range map[string]string{
		`{"frequency": "day", "immediateRun": false}`:                            `{"frequency":"day","immediateRun":false}`,
		`{"frequency": "day", "immediateRun": true}`:                             `{"frequency":"day"}`,
		`{"cron": "@Every 1h", "immediateRun": false}`:                           `{"cron":"@Every 1h","immediateRun":false}`,
		`{"startTime": "2026-01-02", "immediateRun": false}`:                     `{"startTime":"2026-01-02T00:00:00Z","immediateRun":false}`,
		`{"cron": "0 9 * * *", "immediateRun": false}`:                           `{"cron":"0 9 * * *"}`,
		`{"startTime": "2026-01-02", "frequency": "day", "immediateRun": false}`: `{"startTime":"2026-01-02T00:00:00Z","frequency":"day"}`,
	} {
		got, err := MustParse(rule).MarshalJSON()
		if err != nil || string(got) != want {
			t.Errorf("%s is written as %s (%v), want %s", rule, got, err, want)
		}
	}
}

func TestAnImmediateRunThatIsWrongIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"frequency": "day", "immediateRun": "no"}`:                                 "immediaterun_type",
		`{"frequency": "day", "immediateRun": 0}`:                                    "immediaterun_type",
		`{"immediateRun": false}`:                                                    "frequency_missing",
		`{"frequency": "day", "also": {"frequency": "week", "immediateRun": false}}`: "unknown_field",
		`{"frequency": "day", "immediateRun": false, "IMMEDIATERUN": false}`:         "duplicate_field",
		`{"frequency": "month", "immediateRun": false, "schedule": {"monthDays": 30, "months": 2, "monthlyOccurrences": {"day": "monday"}}}`: "never_fires",
	} {
		if _, err := Parse([]byte(text)); codesOf(err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for want, r := range map[string]Recurrence{
		"frequency_missing": {NoImmediateRun: true},
		"unknown_field":     {Frequency: Day, Also: []Recurrence{{Frequency: Week, NoImmediateRun: true}}},
		"never_fires": {Frequency: Month, NoImmediateRun: true, MonthDays: []int{30}, Months: []time.Month{time.February},
			MonthlyOccurrences: []NthWeekday{{Day: time.Monday}}},
	} {
		if err := r.Validate(); codesOf(err) != want {
			t.Errorf("%+v: %v, want %s", r, err, want)
		}
	}
}
