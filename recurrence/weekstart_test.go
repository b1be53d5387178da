package recurrence

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The examples of RFC 5545, section 3.3.10, on WKST, and the same for positions and for weeks of the year.
func TestAWeekStartDeterminesIntervalPositionsAndWeeks(t *testing.T) {
	for body, want := range map[string][]string{
		`{"startTime":"1997-08-05T09:00:00Z","frequency":"week","interval":2,"schedule":{"weekDays":["tuesday","sunday"]}}`:                      {"1997-08-05", "1997-08-10", "1997-08-19"},
		`{"startTime":"1997-08-05T09:00:00Z","frequency":"week","interval":2,"schedule":{"weekDays":["tuesday","sunday"],"weekStart":"sunday"}}`: {"1997-08-05", "1997-08-17", "1997-08-19"},
		`{"startTime":"1997-08-05T09:00:00Z","frequency":"week","schedule":{"weekDays":["monday","sunday"],"positions":1}}`:                      {"1997-08-11", "1997-08-18", "1997-08-25"},
		`{"startTime":"1997-08-05T09:00:00Z","frequency":"week","schedule":{"weekDays":["monday","sunday"],"positions":1,"weekStart":"sunday"}}`: {"1997-08-10", "1997-08-17", "1997-08-24"},
		`{"startTime":"1997-08-05T09:00:00Z","frequency":"year","schedule":{"days":{"weeks":1,"weekDays":"sunday"}}}`:                            {"1998-01-04", "1999-01-10", "2000-01-09"},
		`{"startTime":"1997-08-05T09:00:00Z","frequency":"year","schedule":{"days":{"weeks":1,"weekDays":"sunday"},"weekStart":"sunday"}}`:       {"1998-01-04", "1999-01-03", "2000-01-02"},
	} {
		r := MustParse(body)
		s, err := r.Series(r.StartTime)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, at := range firstRuns(s, 3) {
			got = append(got, at.Format(time.DateOnly))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", body, got, want)
		}
	}
}

func TestAWeekStartConvertsToAndFromItsWord(t *testing.T) {
	for s := WeekStartMonday; s <= WeekStartSunday; s++ {
		text, err := s.MarshalText()
		back := WeekStart(99)
		if bad := back.UnmarshalText([]byte(strings.ToUpper(string(text)))); err != nil || bad != nil || back != s {
			t.Errorf("%d: %q, %v, reads as %d, %v", s, text, err, back, bad)
		}
	}
	if WeekStartMonday.String() != "monday" || WeekStartSunday.String() != "sunday" {
		t.Errorf("got %v and %v", WeekStartMonday, WeekStartSunday)
	}
	empty := WeekStartSunday
	if err := empty.UnmarshalText(nil); err != nil || empty != WeekStartMonday {
		t.Errorf("no text reads as %v, %v", empty, err)
	}
	if _, err := WeekStart(7).MarshalText(); describeErrors(err) != "weekstart_value|schedule.weekStart|WeekStart(7)" {
		t.Errorf("7 has text: %v", err)
	}
	s := WeekStartTuesday
	if err := s.UnmarshalText([]byte("later")); describeErrors(err) != "weekstart_value|schedule.weekStart|later" || s != WeekStartTuesday {
		t.Errorf("later reads as %v, %v, want an error and no change", s, err)
	}
}
