package recurrence

import (
	"slices"
	"testing"
	"time"
)

// at parses an instant in RFC 3339, for tables.
func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestARuleThatNeverFiresIsRefused(t *testing.T) {
	for _, c := range []struct{ claim, text string }{
		{"every 12 months from February on day 30", `{"startTime":"2024-02-01","frequency":"month","interval":12,"schedule":{"monthDays":30}}`},
		{"every 2 hours from an even hour on odd hours", `{"startTime":"2024-01-01","frequency":"hour","interval":2,"schedule":{"hours":[1,3]}}`},
		{"the same in a zone without clock changes", `{"startTime":"2024-01-01","timeZone":"Asia/Tokyo","frequency":"hour","interval":2,"schedule":{"hours":[1,3]}}`},
		{"30 February in cron", `{"cron":"0 0 30 2 *"}`},
		{"30 February in cron, in a zone", `{"cron":"0 0 30 2 *","timeZone":"Europe/Berlin"}`},
		{"every 2 minutes from an even minute, only in odd minutes", `{"startTime":"2024-01-01","frequency":"minute","interval":2,"schedule":{"minutes":[1,3]}}`},
		{"every 720 minutes from midnight, only in hour 1", `{"startTime":"2024-01-01","frequency":"minute","interval":720,"schedule":{"hours":1}}`},
		{"count and a past end change nothing", `{"startTime":"2024-02-01","endTime":"2024-02-02","count":1,"frequency":"month","interval":12,"schedule":{"monthDays":30}}`},
		{"a fifth Friday that is the 1st", `{"startTime":"2024-02-01","frequency":"month","schedule":{"monthDays":1,"monthlyOccurrences":{"day":"friday","occurrence":5}}}`},
		{"every 12 months from February on day 31", `{"startTime":"1900-02-28","frequency":"month","interval":12,"schedule":{"monthDays":31}}`},
	} {
		if _, err := Parse([]byte(c.text)); codesOf(err) != string(CodeNeverFires) {
			t.Errorf("%s: got %v, want never_fires", c.claim, err)
		}
	}
}

// A rule without a start runs at creation. If its day elements never match the same day, that is its only run.
func TestDayElementsThatNeverMatchTogetherRunOnceAtCreation(t *testing.T) {
	s, err := MustParse(`{"frequency":"month","schedule":{"monthDays":1,"monthlyOccurrences":{"day":"friday","occurrence":2}}}`).Series(at("2024-02-05T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	if runs := slices.Collect(s.All()); len(runs) != 1 || !runs[0].Equal(at("2024-02-05T00:00:00Z")) {
		t.Errorf("runs %v, want one at creation", runs)
	}
	_, err = MustParse(`{"frequency":"month","interval":12,"schedule":{"monthDays":30}}`).Series(at("2024-02-05T00:00:00Z"))
	if codesOf(err) != string(CodeNeverFires) {
		t.Errorf("created in February: got %v, want never_fires", err)
	}
}

func TestARuleThatFiresAtLeastOnceIsAccepted(t *testing.T) {
	for _, c := range []struct{ claim, text, after, want string }{
		{"odd hours are reached after the clock change in March", `{"startTime":"2024-01-01","timeZone":"America/New_York","frequency":"hour","interval":2,"schedule":{"hours":[1,3]}}`, "2024-01-01T00:00:00Z", "2024-03-10T07:00:00Z"},
		{"the next 29 February lies beyond the horizon", `{"startTime":"2199-03-01","frequency":"year","schedule":{"months":2}}`, "2199-01-01T00:00:00Z", ""},
		{"the same in cron", `{"startTime":"2197-03-01","cron":"0 0 29 2 *"}`, "2199-01-01T00:00:00Z", ""},
		{"a leap day every hundred years", `{"startTime":"2000-02-29","frequency":"year","interval":100}`, "2000-02-29T00:00:00Z", ""},
		{"the last second that is searched", `{"startTime":"2199-12-31T23:59:59Z","frequency":"second"}`, "2199-12-31T23:59:58Z", "2199-12-31T23:59:59Z"},
		{"and none after it", `{"startTime":"2199-12-31T23:59:59Z","frequency":"second"}`, "2199-12-31T23:59:59Z", ""},
		{"no match in the last hours before the horizon, at a long interval", `{"startTime":"1900-01-01","frequency":"minute","interval":997,"schedule":{"hours":5,"minutes":3}}`, "2199-12-31T00:00:00Z", ""},
		{"without a schedule the start matches, even on the second pass of a repeated hour", `{"startTime":"2019-11-03T06:30:00Z","timeZone":"America/New_York","frequency":"day"}`, "2019-11-01T00:00:00Z", "2019-11-03T06:30:00Z"},
		{"the last day that matches repeats its last hour", `{"startTime":"2013-02-16T09:58:39","timeZone":"America/Sao_Paulo","frequency":"year","interval":839,"schedule":{"minutes":7}}`, "2013-02-17T01:07:00Z", "2013-02-17T02:07:00Z"},
		{"hours without a schedule follow elapsed time over a clock change of half an hour", `{"startTime":"2019-10-05T12:15:00Z","timeZone":"Australia/Lord_Howe","frequency":"hour"}`, "2019-10-05T15:00:01Z", "2019-10-05T15:15:00Z"},
	} {
		series, err := MustParse(c.text).Series(at("2020-01-01T00:00:00Z"))
		if err != nil {
			t.Errorf("%s: %v", c.claim, err)
			continue
		}
		got, ok := series.Next(at(c.after))
		if ok != (c.want != "") || ok && !got.Equal(at(c.want)) {
			t.Errorf("%s: got %s, %v, want %q", c.claim, got, ok, c.want)
		}
	}
}

// Only the run at creation, and a start that comes from creation, drop the fraction of creation. Every other first run is not before creation
// itself.
func TestAFirstRunIsNotBeforeCreationUnlessItIsTheRunAtCreation(t *testing.T) {
	const created = "2026-03-02T09:00:00.5Z" // a Monday
	for _, c := range []struct{ claim, text, first, second string }{
		{"a cron rule never runs at creation", `{"cron":"0 9 * * *"}`, "2026-03-03T09:00:00Z", "2026-03-04T09:00:00Z"},
		{"nor does it in a zone", `{"cron":"0 4 * * *","timeZone":"America/New_York"}`, "2026-03-03T09:00:00Z", "2026-03-04T09:00:00Z"},
		{"nor does it if it started in the same second", `{"cron":"0 9 * * *","startTime":"2026-03-02T09:00:00Z"}`, "2026-03-03T09:00:00Z", "2026-03-04T09:00:00Z"},
		{"a start in the same second has passed", `{"frequency":"hour","startTime":"2026-03-02T09:00:00Z"}`, "2026-03-02T10:00:00Z", "2026-03-02T11:00:00Z"},
		{"an earlier start with a period then, too", `{"frequency":"second","startTime":"2026-03-01T09:00:00Z"}`, "2026-03-02T09:00:01Z", "2026-03-02T09:00:02Z"},
		{"so has a match of a schedule", `{"frequency":"week","startTime":"2026-02-01","schedule":{"weekDays":"monday","hours":9}}`, "2026-03-09T09:00:00Z", "2026-03-16T09:00:00Z"},
		{"a start in the next second has not", `{"frequency":"hour","startTime":"2026-03-02T09:00:01Z"}`, "2026-03-02T09:00:01Z", "2026-03-02T10:00:01Z"},
		{"without a start the first run is creation", `{"frequency":"hour"}`, "2026-03-02T09:00:00Z", "2026-03-02T10:00:00Z"},
		{"and then the schedule follows", `{"frequency":"day","schedule":{"hours":9}}`, "2026-03-02T09:00:00Z", "2026-03-03T09:00:00Z"},
		{"a duration in cron is a frequency", `{"cron":"@every 1h"}`, "2026-03-02T09:00:00Z", "2026-03-02T10:00:00Z"},
		{"what runs once runs at creation", `{}`, "2026-03-02T09:00:00Z", ""},
		{"also if its start has passed", `{"startTime":"2026-03-02T09:00:00Z"}`, "2026-03-02T09:00:00Z", ""},
		{"and at its start if that is to come", `{"startTime":"2026-03-02T09:00:01Z"}`, "2026-03-02T09:00:01Z", ""},
		{"an end in the same second leaves none", `{"cron":"0 9 * * *","endTime":"2026-03-02T09:00:00Z"}`, "", ""},
	} {
		series, err := MustParse(c.text).Series(at(created))
		if err != nil {
			t.Errorf("%s: %v", c.claim, err)
			continue
		}
		var want []time.Time
		for _, text := range []string{c.first, c.second} {
			if text != "" {
				want = append(want, at(text))
			}
		}
		var runs []time.Time
		for run := range series.All() {
			if runs = append(runs, run); len(runs) == 2 {
				break
			}
		}
		first, ok := series.First()
		if !slices.EqualFunc(runs, want, time.Time.Equal) || ok != (len(want) > 0) || ok && !first.Equal(want[0]) {
			t.Errorf("%s: %s runs at %v, first %s, %v, want %v", c.claim, c.text, runs, first, ok, want)
		}
	}
}

// Samoa skipped 30 December 2011. Its runs move to the 31st, at the same clock time, among the runs of the 31st.
func TestRunsMovedOutOfAGapStayInOrderAndMerge(t *testing.T) {
	series, err := MustParse(`{"startTime":"2011-12-29T09:00","timeZone":"Pacific/Apia","frequency":"day","interval":1,"schedule":{"hours":[9,21],"minutes":[0,30]}}`).Series(at("2011-01-01T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for run := range series.Between(at("2011-12-30T00:00:00Z"), at("2011-12-31T10:00:00Z")) {
		got = append(got, run.Format("02T15:04"))
	}
	want := []string{"29T21:00", "29T21:30", "31T09:00", "31T09:30", "31T21:00", "31T21:30"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBetweenIncludesItsBeginningAndIgnoresCount(t *testing.T) {
	series, err := MustParse(`{"startTime":"2026-01-01","frequency":"day","count":1}`).Series(at("2026-06-01T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to string
		want     int
	}{
		{"2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z", 3},
		{"2026-01-01T00:00:00.1Z", "2026-01-04T00:00:00.1Z", 3},
		{"2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z", 0},
		{"2026-01-04T00:00:00Z", "2026-01-01T00:00:00Z", 0},
	} {
		if got := len(slices.Collect(series.Between(at(c.from), at(c.to)))); got != c.want {
			t.Errorf("from %s to %s: %d runs, want %d", c.from, c.to, got, c.want)
		}
	}
	if got := len(slices.Collect(series.All())); got != 1 {
		t.Errorf("All yields %d runs, want its count of 1", got)
	}
}

func TestRunsAreInTheTimeZoneOfTheRule(t *testing.T) {
	series, err := MustParse(`{"cron":"0 9 * * *","timeZone":"Europe/Berlin"}`).Series(at("2026-07-01T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	if first, ok := series.First(); !ok || first.Format(time.RFC3339) != "2026-07-01T09:00:00+02:00" || first.Location().String() != "Europe/Berlin" {
		t.Errorf("first run %s, want 2026-07-01T09:00:00+02:00", first)
	}
}

// The search ends, and its results are in range, for every instant that a time.Time can hold.
func TestNextAcceptsAnyInstant(t *testing.T) {
	far := []time.Time{{}, time.Unix(-1<<62, 0), time.Unix(1<<62, 0), at("1899-12-31T00:00:00Z"), at("2500-01-01T00:00:00Z")}
	for _, text := range []string{`{}`, `{"frequency":"second"}`, `{"frequency":"minute","schedule":{"hours":3}}`, `{"frequency":"hour","schedule":{"hours":3}}`,
		`{"frequency":"day"}`, `{"frequency":"week"}`, `{"frequency":"month"}`, `{"frequency":"year"}`, `{"cron":"* * * * *","timeZone":"Europe/Berlin"}`} {
		for _, created := range far {
			series, err := MustParse(text).Series(created)
			if err != nil {
				t.Errorf("%s created %s: %v", text, created, err)
				continue
			}
			for _, after := range far {
				if next, ok := series.Next(after); ok && (!next.After(after) || !next.Before(horizonTime)) {
					t.Errorf("%s created %s: after %s comes %s", text, created, after, next)
				}
			}
		}
	}
}

func TestLocalTimesAreOfRulesThatNameTimesOfDayInAZone(t *testing.T) {
	for rule, want := range map[string]bool{
		`{"recurrence":{"cron":"0 9 * * *","timeZone":"Europe/Berlin"}}`:                                                               true,
		`{"recurrence":{"cron":"CRON_TZ=Europe/Berlin 0 9,10 1 * *"}}`:                                                                 true,
		`{"recurrence":{"frequency":"day","schedule":{"hours":[9],"minutes":[0]},"timeZone":"Europe/Berlin"}}`:                         true,
		`{"recurrence":{"frequency":"month","timeZone":"Europe/Berlin"}}`:                                                              true,
		`{"recurrence":{"cron":"0 9 * * *"}}`:                                                                                          false,
		`{"recurrence":{"cron":"0 9 * * *","timeZone":"Etc/GMT+3"}}`:                                                                   false,
		`{"recurrence":{"cron":"0 * * * *","timeZone":"Europe/Berlin"}}`:                                                               false,
		`{"recurrence":{"cron":"@every 7h","timeZone":"Europe/Berlin"}}`:                                                               false,
		`{"recurrence":{"frequency":"hour","interval":8,"timeZone":"Europe/Berlin"}}`:                                                  false,
		`{"recurrence":{"frequency":"day","schedule":{"hours":[2],"minutes":[30]},"clockChanges":"shown","timeZone":"Europe/Berlin"}}`: false,
		`{"startTime":"2026-03-01T11:00:00Z"}`:                                                                                         false,
	} {
		series, err := MustParse(rule).Series(time.Date(2026, time.March, 1, 10, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(rule, err)
		}
		if zone, ok := series.LocalTimes(); ok != want || ok != (zone != nil) {
			t.Errorf("%s: %v, %v; want %v", rule, zone, ok, want)
		}
	}
}
