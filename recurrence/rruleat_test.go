package recurrence

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The forms of Google Calendar and of rrule-go leave out the start or its zone.
func TestATextWithoutStartHasTheOneOfTheCaller(t *testing.T) {
	start := time.Date(2026, 1, 5, 8, 0, 0, 900, time.UTC) // 09:00 in Berlin
	for _, c := range []struct {
		text, zone, want string
	}{
		{"RRULE:FREQ=DAILY;COUNT=2", "Europe/Berlin", `{"startTime":"2026-01-05T08:00:00Z","frequency":"day","endTime":"2026-01-06T08:00:00Z","timeZone":"Europe/Berlin"}`},
		{"FREQ=WEEKLY;BYDAY=MO,WE", "Europe/Berlin", `{"startTime":"2026-01-05T08:00:00Z","frequency":"week","schedule":{"weekDays":["monday","wednesday"]},"timeZone":"Europe/Berlin"}`},
		{"freq=daily", "", `{"startTime":"2026-01-05T08:00:00Z","frequency":"day"}`},
		{"\ufeffFREQ=DAILY;UNTIL=20260107T090000", "Europe/Berlin", `{"startTime":"2026-01-05T08:00:00Z","frequency":"day","endTime":"2026-01-07T08:00:00Z","timeZone":"Europe/Berlin"}`},
		{"DTSTART:20260301T070000\nRRULE:FREQ=DAILY", "Europe/Berlin", `{"startTime":"2026-03-01T06:00:00Z","frequency":"day","timeZone":"Europe/Berlin"}`},
		{"DTSTART:20260301T070000Z\nRRULE:FREQ=DAILY", "Europe/Berlin", `{"startTime":"2026-03-01T07:00:00Z","frequency":"day"}`},
		{"DTSTART;TZID=Asia/Tokyo:20260301T070000\nRRULE:FREQ=DAILY", "Europe/Berlin", `{"startTime":"2026-02-28T22:00:00Z","frequency":"day","timeZone":"Asia/Tokyo"}`},
		{"DTSTART;VALUE=DATE:20260301\nRRULE:FREQ=DAILY;UNTIL=20260303", "Europe/Berlin",
			`{"startTime":"2026-02-28T23:00:00Z","frequency":"day","endTime":"2026-03-03T22:59:59Z","timeZone":"Europe/Berlin"}`},
		{"DTSTART;VALUE=DATE:20260301\nRRULE:FREQ=DAILY\nEXDATE;VALUE=DATE:20260302\nRDATE;VALUE=DATE:20260404", "Europe/Berlin",
			`{"startTime":"2026-02-28T23:00:00Z","frequency":"day","timeZone":"Europe/Berlin","except":[{"dates":["2026-03-02"]}],"also":[{"startTime":"2026-04-03T22:00:00Z"}]}`},
		{"RRULE:FREQ=DAILY\nEXDATE:20260106T090000", "Europe/Berlin",
			`{"startTime":"2026-01-05T08:00:00Z","frequency":"day","timeZone":"Europe/Berlin","except":[{"dates":["2026-01-06"],"times":["09:00:00"]}]}`},
	} {
		r, err := FromRRuleAt(c.text, start, c.zone)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got, _ := r.MarshalJSON(); string(got) != c.want {
			t.Errorf("%q\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
	for _, c := range []struct {
		text, zone string
		start      time.Time
		code       Code
	}{
		{"FREQ=DAILY", "", time.Time{}, CodeRRuleSyntax},
		{"FREQ=DAILY", "Mars/Olympus", start, CodeTimeZoneUnknown},
		{"FREQ=DAILY", "", time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC), CodeTimeRange},
		{"FREQ=DAILY;UNTIL=20260107", "", start, CodeRRuleSyntax},
		{"DTSTART:20260301T070000Z\nRRULE:FREQ=DAILY;UNTIL=20260307T070000", "", start, CodeRRuleSyntax},
		{"DTSTART:20260329T023000\nRRULE:FREQ=DAILY", "Europe/Berlin", start, CodeNoRecurrence},
		{"RRULE:FREQ=HOURLY;INTERVAL=2", "Europe/Berlin", start, CodeNoRecurrence},
		{"RRULE:FREQ=HOURLY;BYHOUR=9", "Europe/Berlin", start, CodeNoRecurrence},
	} {
		if r, err := FromRRuleAt(c.text, c.start, c.zone); codesOf(err) != string(c.code) {
			t.Errorf("%q: %v (%v), want %s", c.text, r, err, c.code)
		}
	}
}

// A count of many runs in a year counts the days of the year once.
func TestACountOfPositionsInAYearCountsEachYearOnce(t *testing.T) {
	r := Recurrence{StartTime: on("2026-01-01 00:00:00"), Frequency: Year, Positions: upTo(1, 366, 1), Days: []Filter{{WeekDays: workdays}}, Hours: []int{9}, Minutes: []int{0}}
	series, err := r.Series(r.StartTime)
	if err != nil {
		t.Fatal(err)
	}
	m := &meter{}
	series.rule.kept.limit.meter = m
	if got := lastRun([]*Series{series}, r.StartTime, 2608); !got.Equal(on("2035-12-31 09:00:00")) || m.steps > 200 {
		t.Errorf("run 2608 is at %v, counted in %d steps; want the last working day of 2035, and 12 steps for each of ten years", got, m.steps)
	}
}

// A series of four that began two days ago has two runs left. The list is complete unless it ends with "…".
func TestACountOfAnRRuleCountsFromItsStart(t *testing.T) {
	for text, want := range map[string]string{
		"RRULE:FREQ=DAILY;COUNT=4":                                                             "1-7 09, 1-8 09",
		"RRULE:FREQ=DAILY;COUNT=4\nEXDATE:20260106T090000Z":                                    "1-7 09, 1-8 09",
		"RRULE:FREQ=DAILY;COUNT=4\nRDATE:20260108T080000Z":                                     "1-7 09, 1-8 08, 1-8 09",
		"RRULE:FREQ=DAILY;COUNT=2\nRDATE:20260107T120000Z":                                     "1-7 12",
		"RRULE:FREQ=DAILY;COUNT=4\nRDATE:20260110T120000Z,20260105T100000Z":                    "1-7 09, 1-8 09, 1-10 12",
		"RRULE:FREQ=DAILY;UNTIL=20260107T090000Z\nRDATE:20260110T120000Z":                      "1-7 09, 1-10 12",
		"RRULE:FREQ=DAILY;COUNT=4\nRRULE:FREQ=DAILY;BYHOUR=11;COUNT=3":                         "1-6 11, 1-7 09, 1-7 11, 1-8 09",
		"RRULE:FREQ=DAILY;COUNT=3\nRRULE:FREQ=DAILY;BYHOUR=11;COUNT=3\nRDATE:20260110T120000Z": "1-6 11, 1-7 09, 1-7 11, 1-10 12",
		"RRULE:FREQ=DAILY;COUNT=4\nRRULE:FREQ=WEEKLY;BYDAY=FR\nRDATE:20260108T120000Z":         "1-7 09, 1-8 09, 1-8 12, 1-9 09, 1-16 09, …",
		"RRULE:FREQ=DAILY;COUNT=100000":                                                        "1-7 09, 1-8 09, …",
		"RRULE:FREQ=DAILY;BYDAY=WE,TH;COUNT=2\nRDATE:20260110T120000Z":                         "1-7 09, 1-8 09, 1-10 12",
		"RRULE:FREQ=DAILY;BYDAY=MO\nRRULE:FREQ=DAILY;BYHOUR=11;BYDAY=TU;COUNT=2":               "1-6 11, 1-12 09, 1-13 11, 1-19 09, …",
		"RRULE:FREQ=WEEKLY;BYDAY=MO,WE,FR;BYHOUR=9,17;BYSETPOS=2,3;COUNT=5":                    "1-7 09, 1-12 17, 1-14 09, 1-19 17",
		"RRULE:FREQ=DAILY;BYHOUR=9,12,17;BYMINUTE=0,30;BYSETPOS=1,-1;COUNT=6":                  "1-6 17, 1-7 09, 1-7 17",
		"RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE;BYSETPOS=1,2;COUNT=3":                               "2-2 09",
	} {
		r, err := FromRRule(dtstart + text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		s, err := r.Series(time.Date(2026, 1, 6, 10, 0, 0, 0, time.UTC))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		n := strings.Count(want, ", ") + 1
		var got []string
		for _, at := range firstRuns(s, n+1) {
			got = append(got, at.Format("1-2 15"))
		}
		if strings.HasSuffix(want, "…") && len(got) > n-1 {
			got = append(got[:n-1], "…")
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q, which is %v\ngot  %v\nwant %v", text, r, got, want)
		}
	}
	if r, err := FromRRule(dtstart + "RRULE:FREQ=DAILY;COUNT=100001"); err != nil || r.Count != 100_001 || !r.EndTime.IsZero() {
		t.Errorf("a count that is too large to be counted becomes %v (%v), want Count", r, err)
	}
}

// EXDATE leaves out runs after positions are counted: the last working day of January is excluded, and not replaced by the one before.
func TestAnExcludedDateIsStillCountedByPositions(t *testing.T) {
	for _, excluded := range []string{"EXDATE:20260130T090000Z", "EXDATE;VALUE=DATE:20260130", "EXDATE;VALUE=DATE:20260130\nEXDATE:20260331T090000Z"} {
		r, err := FromRRule(dtstart + "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1\n" + excluded)
		if err != nil {
			t.Errorf("%s: %v", excluded, err)
			continue
		}
		s, err := r.Series(r.StartTime)
		if err != nil {
			t.Fatal(err)
		}
		first := firstRuns(s, 1)
		if want := time.Date(2026, 2, 27, 9, 0, 0, 0, time.UTC); len(first) != 1 || !first[0].Equal(want) {
			t.Errorf("%s: %v, first run %v, want %v", excluded, r, first, want)
		}
	}
}

// Every hour is the same on the clock and in elapsed time, on days with 23 and 25 hours too.
func TestHourlyInAZoneRunsEveryElapsedHour(t *testing.T) {
	for text, minute := range map[string]int{"": 30, ";BYMINUTE=10": 10} {
		r, err := FromRRule("DTSTART;TZID=Europe/Berlin:20260328T223000\nRRULE:FREQ=HOURLY" + text)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []time.Time{time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC), time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC)} {
			s, err := r.Series(from)
			if err != nil {
				t.Fatal(err)
			}
			for i, at := range firstRuns(s, 30) {
				if want := from.Add(time.Duration(i)*time.Hour + time.Duration(minute)*time.Minute); !at.Equal(want) {
					t.Fatalf("%q: run %d at %v, want %v", text, i, at, want)
				}
			}
		}
	}
}

func TestRSCALEOfGregorianChangesNothing(t *testing.T) {
	want, errWant := FromRRule(dtstart + "RRULE:FREQ=MONTHLY;BYMONTHDAY=31")
	got, err := FromRRule("\ufeff" + dtstart + "RRULE:RSCALE=GREGORIAN;FREQ=MONTHLY;BYMONTHDAY=31;SKIP=OMIT")
	if err != nil || errWant != nil || !got.Equal(want) {
		t.Errorf("got %v (%v), want %v (%v)", got, err, want, errWant)
	}
}

// otherChoices are the cases of the suites whose expectation this package does not share.
var otherChoices = map[string]string{
	"icaljs-55":   "expects no run, but 1 March 2015 is an odd Sunday",
	"icaljs-59":   "BYMONTHDAY of a year without BYMONTH is in every month, by the table of section 3.3.10",
	"icaljs-64":   "counts DTSTART, which the rule does not match",
	"icaljs-65":   "counts DTSTART, and takes week -28 for week 23, which is week -30 of a year of 52",
	"icaljs-66":   "takes week -28 for week 23",
	"icaljs-67":   "counts DTSTART, which the rule does not match",
	"icaljs-68":   "takes week -28 for week 23",
	"icaljs-87":   "leaves out a run before UNTIL",
	"icaljs-94":   "leaves out the third Sunday of July 2017",
	"icaljs-100":  "counts DTSTART, which the rule does not match",
	"icaljs-101":  "counts DTSTART, which the rule does not match",
	"libical-77":  "as icaljs-59",
	"libical-78":  "as icaljs-59",
	"libical-80":  "libical has not implemented it",
	"libical-143": "an interval of years counts the year of the week in libical, and the day's own year here, as in dateutil",
	"libical-144": "as libical-143",
	"libical-146": "as libical-143",
	"libical-79":  "BYMINUTE of a day expands, by the table of section 3.3.10",
}

// The files have the inputs and the expected instants of the tests of ical.js and libical: 121 and 139 cases. What FromRRule refuses never
// matches, or RFC 5545 does not allow it: BYWEEKNO without YEARLY.
func TestSuitesOfOtherProgramsAgree(t *testing.T) {
	for suite, want := range map[string]struct{ agree, refused int }{"icaljs": {105, 7}, "libical": {132, 0}} {
		data, err := os.ReadFile("testdata/" + suite + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		agree, refused := 0, 0
		for line := range bytes.Lines(data) {
			var c struct {
				ID, Text string
				Want     []int64
				Prefix   bool // there are more than Want
			}
			if err := json.Unmarshal(line, &c); err != nil {
				t.Fatal(err)
			}
			r, err := FromRRule(c.Text)
			if codes := codesOf(err); codes == string(CodeRRuleSyntax) || codes == string(CodeNeverFires) {
				refused++
				continue
			}
			if err != nil {
				t.Errorf("%s: %q: %v", c.ID, c.Text, err)
				continue
			}
			s, err := r.Series(r.StartTime)
			if err != nil {
				t.Errorf("%s: %q: %v", c.ID, c.Text, err)
				continue
			}
			n := len(c.Want)
			if !c.Prefix {
				n++
			}
			var got []int64
			for _, at := range firstRuns(s, n) {
				got = append(got, at.Unix())
			}
			same := slices.Equal(got, c.Want)
			if _, other := otherChoices[c.ID]; same == other {
				t.Errorf("%s: %q, another choice: %v\ngot  %v\nwant %v", c.ID, c.Text, other, got, c.Want)
			}
			if same {
				agree++
			}
		}
		if agree != want.agree || refused != want.refused {
			t.Errorf("%s: %d agree and %d are refused, want %d and %d", suite, agree, refused, want.agree, want.refused)
		}
	}
}
