package recurrence

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// sameRule reports whether two rules are equal; an interval of 1 counts as not set.
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

// RFC 5545 allows numbers up to 53 in every BYDAY; in a month, numbers beyond five match no day.
func TestANumberedWeekdayThatNoMonthHasIsLeftOutOfAList(t *testing.T) {
	for long, short := range map[string]string{
		"FREQ=MONTHLY;BYDAY=2MO,6MO":                      "FREQ=MONTHLY;BYDAY=2MO",
		"FREQ=YEARLY;BYMONTH=3;BYDAY=MO,-6MO":             "FREQ=YEARLY;BYMONTH=3;BYDAY=MO",
		"FREQ=YEARLY;INTERVAL=2;BYMONTH=3;BYDAY=MO,6MO":   "FREQ=YEARLY;INTERVAL=2;BYMONTH=3;BYDAY=MO",
		"FREQ=MONTHLY;BYDAY=2MO,3MO,53FR;BYSETPOS=-1":     "FREQ=MONTHLY;BYDAY=2MO,3MO;BYSETPOS=-1",
		"FREQ=YEARLY;INTERVAL=2;BYMONTH=3;BYDAY=2MO,10MO": "FREQ=YEARLY;INTERVAL=2;BYMONTH=3;BYDAY=2MO",
	} {
		got, err := FromRRule(dtstart + "RRULE:" + long)
		want, errShort := FromRRule(dtstart + "RRULE:" + short)
		if err != nil || errShort != nil || !got.Equal(want) {
			t.Errorf("%s: %v (%v), want %v (%v)", long, got, err, want, errShort)
		}
	}
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

func TestAFieldOfAllYearsSaysNothing(t *testing.T) {
	want, err := FromQuartz("0 0 9 ? * 2")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"0 0 9 ? * 2 *", "0 0 9 ? * 2 1970-2199", "0 0 9 ? * 2 */1"} {
		if got, err := FromQuartz(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: got %v (%v), want %v", text, got, err, want)
		}
	}
}

func TestLinesMayComeInAnyOrder(t *testing.T) {
	lines := []string{"DTSTART;TZID=America/New_York:20260105T090000", "RRULE:FREQ=DAILY", "EXDATE;TZID=America/New_York:20260106T090000", "RDATE:20260107T120000Z"}
	want, err := FromRRule(strings.Join(lines, "\n"))
	if err != nil || len(want.Except) != 1 || len(want.Also) != 1 {
		t.Fatalf("%v (%v)", want, err)
	}
	for range lines {
		lines = append(lines[1:], lines[0])
		if got, err := FromRRule(strings.Join(lines, "\n")); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %v (%v), want %v", lines, got, err, want)
		}
	}
}

// A rule runs on the first pass of a repeated hour, so an EXDATE on the second pass excludes nothing.
func TestAnEXDATEOnTheSecondPassLeavesOutNothing(t *testing.T) {
	const lines = "RRULE:FREQ=DAILY\nDTSTART;TZID=America/New_York:20261101T013000" // both at 05:30 and at 06:30 UTC
	r, err := FromRRule(lines + "\nEXDATE:20261101T063000Z")
	if err != nil || len(r.Except) > 0 {
		t.Errorf("06:30 UTC is excluded: %v (%v)", r, err)
	}
	r, err = FromRRule(lines + "\nEXDATE:20261101T053000Z")
	if want := []Filter{{Dates: []string{"2026-11-01"}, Times: []string{"01:30:00"}}}; err != nil || !reflect.DeepEqual(r.Except, want) {
		t.Errorf("05:30 UTC is excluded by %+v (%v), want %+v", r.Except, err, want)
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
