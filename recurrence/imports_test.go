package recurrence

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"
)

// sameRule compares two rules field by field, whatever the order of their lists.
func sameRule(a, b Recurrence) bool { return reflect.DeepEqual(normalRule(a), normalRule(b)) }

func normalRule(r Recurrence) Recurrence {
	r.Interval = max(r.Interval, 1)
	r.StartTime, r.EndTime = r.StartTime.UTC(), r.EndTime.UTC()
	for _, list := range []*[]int{&r.Minutes, &r.Hours, &r.Seconds, &r.MonthDays, &r.Positions} {
		*list = sortedSet(*list)
	}
	r.WeekDays, r.Months, r.MonthlyOccurrences = sortedSet(r.WeekDays), sortedSet(r.Months), sortedOccurrences(r.MonthlyOccurrences)
	r.Only, r.Except = normalFilters(r.Only), normalFilters(r.Except)
	var also []Recurrence
	for _, entry := range r.Also {
		also = append(also, normalRule(entry))
	}
	r.Also = also
	return r
}

func normalFilters(list []Filter) (normal []Filter) {
	for _, f := range list {
		f.MonthDays, f.WeekDays, f.Months = sortedSet(f.MonthDays), sortedSet(f.WeekDays), sortedSet(f.Months)
		f.MonthlyOccurrences = sortedOccurrences(f.MonthlyOccurrences)
		f.Dates, f.Times = sortedSet(f.Dates), sortedSet(f.Times)
		normal = append(normal, f)
	}
	return normal
}

func sortedOccurrences(list []NthWeekday) []NthWeekday {
	var sorted []NthWeekday
	sorted = append(sorted, list...)
	slices.SortFunc(sorted, func(a, b NthWeekday) int { return 20*int(a.Day-b.Day) + a.N - b.N })
	return sorted
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
		if want := readCalendar(t, c.Recurrence); err != nil || !sameRule(got, want) {
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
