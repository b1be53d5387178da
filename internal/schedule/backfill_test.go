package schedule

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// collect returns all instants in a range.
func collect(p *Plan, from, to time.Time) []time.Time {
	var all []time.Time
	for {
		times, next := p.Between(from, to, 100)
		if all = append(all, times...); next.IsZero() {
			return all
		}
		from = next
	}
}

func TestBackfilledInstantsAreInStepWithThoseOfTheSchedule(t *testing.T) {
	for _, c := range []struct {
		rule, created, from, to string
		want                    []string
	}{
		{`{"recurrence":{"frequency":"day","schedule":{"hours":[9],"minutes":[0]}}}`, "2026-03-05T17:00:00Z", "2026-02-27T09:00:00Z", "2026-03-02T09:00:00Z",
			[]string{"2026-02-27T09:00:00Z", "2026-02-28T09:00:00Z", "2026-03-01T09:00:00Z"}},
		{`{"recurrence":{"frequency":"day","interval":3}}`, "2026-03-05T17:10:20Z", "2026-02-25T00:00:00Z", "2026-03-06T00:00:00Z",
			[]string{"2026-02-27T17:10:20Z", "2026-03-02T17:10:20Z", "2026-03-05T17:10:20Z"}},
		{`{"recurrence":{"frequency":"day","timeZone":"Europe/Berlin"}}`, "2026-04-02T02:30:00Z", "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z",
			[]string{"2026-03-28T03:30:00Z", "2026-03-29T02:30:00Z", "2026-03-30T02:30:00Z"}}, // 04:30 in the zone
		{`{"recurrence":{"frequency":"month"}}`, "2026-05-31T08:00:00Z", "2025-12-01T00:00:00Z", "2026-06-01T00:00:00Z",
			[]string{"2025-12-31T08:00:00Z", "2026-01-31T08:00:00Z", "2026-03-31T08:00:00Z", "2026-05-31T08:00:00Z"}},
		{`{"recurrence":{"frequency":"year"}}`, "2024-02-29T08:00:00Z", "2010-01-01T00:00:00Z", "2024-01-01T00:00:00Z",
			[]string{"2012-02-29T08:00:00Z", "2016-02-29T08:00:00Z", "2020-02-29T08:00:00Z"}},
		{`{"recurrence":{"cron":"0 12 * * 1"}}`, "2026-03-05T17:00:00Z", "2026-02-20T00:00:00Z", "2026-03-05T00:00:00Z",
			[]string{"2026-02-23T12:00:00Z", "2026-03-02T12:00:00Z"}},
		{`{"recurrence":{"cron":"@every 6h"}}`, "2026-03-05T17:00:00Z", "2026-03-05T00:00:00Z", "2026-03-05T12:00:00Z",
			[]string{"2026-03-05T05:00:00Z", "2026-03-05T11:00:00Z"}},
		// a start bounds the instants
		{`{"startTime":"2026-03-01T09:00:00Z","recurrence":{"frequency":"day"}}`, "2026-03-05T17:00:00Z", "2026-02-01T00:00:00Z", "2026-03-03T00:00:00Z",
			[]string{"2026-03-01T09:00:00Z", "2026-03-02T09:00:00Z"}},
		// neither the count nor the run at creation affects the instants of the rule
		{`{"recurrence":{"frequency":"day","schedule":{"hours":[9],"minutes":[0]},"count":1}}`, "2026-03-05T17:00:00Z", "2026-03-04T00:00:00Z", "2026-03-08T00:00:00Z",
			[]string{"2026-03-04T09:00:00Z", "2026-03-05T09:00:00Z", "2026-03-06T09:00:00Z", "2026-03-07T09:00:00Z"}},
		{`{"recurrence":{"frequency":"day","endTime":"2026-03-02T00:00:00Z"}}`, "2026-03-01T17:00:00Z", "2026-02-28T00:00:00Z", "2026-03-08T00:00:00Z",
			[]string{"2026-02-28T17:00:00Z", "2026-03-01T17:00:00Z"}},
		{`{"startTime":"2026-03-01T09:00:00Z"}`, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", []string{"2026-03-01T09:00:00Z"}},
	} {
		p := planFor(t, instant(t, c.created), recurrence.MustParse(c.rule))
		var got []string
		for _, at := range collect(p, instant(t, c.from), instant(t, c.to)) {
			got = append(got, at.UTC().Format(time.RFC3339))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s of %s: %v, want %v", c.rule, c.created, got, c.want)
		}
	}
}

// A series that reaches back before the creation has the same instants after it, for every rule; and it does reach back.
func TestWhatReachesBackIsInStep(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	rules := []string{
		`{"recurrence":{"frequency":"second","interval":7}}`, `{"recurrence":{"frequency":"minute","interval":11}}`, `{"recurrence":{"frequency":"minute","interval":7,"schedule":{"hours":[3,4]}}}`,
		`{"recurrence":{"frequency":"hour","interval":5}}`, `{"recurrence":{"frequency":"hour","interval":3,"schedule":{"minutes":[7,30]}}}`,
		`{"recurrence":{"frequency":"day"}}`, `{"recurrence":{"frequency":"day","interval":4,"schedule":{"hours":[2,3]}}}`, `{"recurrence":{"frequency":"week","interval":3}}`,
		`{"recurrence":{"frequency":"week","interval":2,"schedule":{"weekDays":["monday","saturday"],"hours":[2]}}}`,
		`{"recurrence":{"frequency":"month"}}`, `{"recurrence":{"frequency":"month","interval":5,"schedule":{"monthDays":[-1],"hours":[2]}}}`,
		`{"recurrence":{"frequency":"month","interval":2,"schedule":{"monthlyOccurrences":{"day":"sunday","occurrence":-1}}}}`,
		`{"recurrence":{"frequency":"year"}}`, `{"recurrence":{"frequency":"year","interval":3,"schedule":{"months":[2,10]}}}`,
		`{"recurrence":{"cron":"30 2 * * *"}}`, `{"recurrence":{"cron":"@every 90m"}}`,
	}
	for _, text := range rules {
		for _, zone := range []string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"} {
			for range 12 {
				rule := recurrence.MustParse(text)
				rule.TimeZone = zone
				created := time.Date(2015+random.IntN(15), 1, 1, 0, 0, random.IntN(366*86400), 0, time.UTC)
				p := planFor(t, created, rule)
				from := created.Add(-time.Duration(random.IntN(200*24)) * time.Hour)
				if rule.Frequency >= recurrence.Week {
					from = created.AddDate(-15, 0, 0)
				}
				last := created
				for range 60 { // some instants of the schedule
					next, ok := p.series.Next(last)
					if !ok {
						break
					}
					last = next
				}
				series, own := p.reaching(from), p.series
				a, b := slices.Collect(series.Between(created, last)), slices.Collect(own.Between(created, last))
				if !slices.EqualFunc(a, b, time.Time.Equal) {
					t.Fatalf("%s in %q created at %v, from %v: %v, want %v", text, zone, created, from, a, b)
				}
				if first, ok := series.Next(from.Add(-time.Second)); !ok || !first.Before(created) && from.Before(created.AddDate(-14, 0, 0)) {
					t.Fatalf("%s in %q created at %v has nothing from %v: first %v", text, zone, created, from, first)
				}
			}
		}
	}
}
