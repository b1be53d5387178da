package recurrence

import (
	"iter"
	"slices"
	"testing"
	"time"
)

// firstMatches returns the first n values of a sequence.
func firstMatches(n int, seq iter.Seq[time.Time]) (list []time.Time) {
	for at := range seq {
		if len(list) == n {
			break
		}
		list = append(list, at)
	}
	return list
}

// inRFC3339 returns instants in RFC 3339.
func inRFC3339(list []time.Time) (texts []string) {
	for _, at := range list {
		texts = append(texts, at.Format(time.RFC3339))
	}
	return texts
}

func TestAfterAndBackwardAreRepeatedCallsOfNextAndPrev(t *testing.T) {
	for _, c := range []struct {
		claim, rule, from string
		after, backward   []string
	}{
		{"a daily rule in its middle", `{"startTime":"2026-01-01T09:00","frequency":"day"}`, "2026-01-03T09:00:00Z",
			[]string{"2026-01-04T09:00:00Z", "2026-01-05T09:00:00Z", "2026-01-06T09:00:00Z"}, []string{"2026-01-02T09:00:00Z", "2026-01-01T09:00:00Z"}},
		{"a fraction: the run of the same second is before it", `{"startTime":"2026-01-01T09:00","frequency":"day"}`, "2026-01-02T09:00:00.5Z",
			[]string{"2026-01-03T09:00:00Z", "2026-01-04T09:00:00Z", "2026-01-05T09:00:00Z"}, []string{"2026-01-02T09:00:00Z", "2026-01-01T09:00:00Z"}},
		{"before the start", `{"startTime":"2026-01-01T09:00","frequency":"day"}`, "2020-01-01T00:00:00Z",
			[]string{"2026-01-01T09:00:00Z", "2026-01-02T09:00:00Z", "2026-01-03T09:00:00Z"}, nil},
		{"endTime bounds both", `{"startTime":"2026-01-01T09:00","endTime":"2026-01-02T09:00","frequency":"day"}`, "2026-01-01T09:00:00Z",
			[]string{"2026-01-02T09:00:00Z"}, nil},
		{"after endTime", `{"startTime":"2026-01-01T09:00","endTime":"2026-01-02T08:59:59","frequency":"day"}`, "2030-01-01T00:00:00Z",
			nil, []string{"2026-01-01T09:00:00Z"}},
		{"count has no effect", `{"startTime":"2026-01-01T09:00","frequency":"day","count":1}`, "2026-01-01T09:00:00Z",
			[]string{"2026-01-02T09:00:00Z", "2026-01-03T09:00:00Z", "2026-01-04T09:00:00Z"}, nil},
		{"the end of a year 2199", `{"startTime":"2199-12-30","frequency":"day"}`, "2199-12-31T00:00:00Z",
			nil, []string{"2199-12-30T00:00:00Z"}},
		{"an instant of also before the start", `{"startTime":"2026-01-02T09:00","frequency":"day","also":["2026-01-01T07:00"]}`, "2026-01-03T09:00:00Z",
			[]string{"2026-01-04T09:00:00Z", "2026-01-05T09:00:00Z", "2026-01-06T09:00:00Z"}, []string{"2026-01-02T09:00:00Z", "2026-01-01T07:00:00Z"}},
		{"a rule that runs once", `{"startTime":"2026-01-02T09:00"}`, "2026-01-02T09:00:00Z", nil, nil},
	} {
		s, err := MustParse(c.rule).Series(at("2026-01-01T00:00:00Z"))
		if err != nil {
			t.Fatal(err)
		}
		if got := inRFC3339(firstMatches(3, s.After(at(c.from)))); !slices.Equal(got, c.after) {
			t.Errorf("%s: after %v, want %v", c.claim, got, c.after)
		}
		if got := inRFC3339(firstMatches(3, s.Backward(at(c.from)))); !slices.Equal(got, c.backward) {
			t.Errorf("%s: backward %v, want %v", c.claim, got, c.backward)
		}
	}
}

// The generated calendars: the matches of a stretch backward are those forward, and Matches knows exactly these instants.
func TestIteratorsAndMatchesAgreeOnGeneratedCalendars(t *testing.T) {
	compared := 0
	for _, c := range casesOf(t, "calendar_cases.json") {
		if c.Code != "" {
			continue
		}
		rule, err := Parse(c.Job)
		if err != nil {
			t.Fatal(c.ID, err)
		}
		now := at(c.Now)
		s, err := rule.Series(now)
		if err != nil {
			continue // another test compares the errors
		}
		forward := firstMatches(12, s.After(now))
		if len(forward) == 0 {
			continue
		}
		last := forward[len(forward)-1]
		var back []time.Time
		for at := range s.Backward(last.Add(time.Nanosecond)) {
			if !at.After(now) {
				break
			}
			back = append(back, at)
		}
		slices.Reverse(back)
		if !slices.Equal(inRFC3339(back), inRFC3339(forward)) {
			t.Errorf("%s: backward %v, forward %v", c.ID, inRFC3339(back), inRFC3339(forward))
		}
		for _, at := range forward {
			for _, probe := range []time.Time{at, at.Add(999 * time.Millisecond), at.Add(time.Second), at.Add(-time.Nanosecond), at.Add(time.Hour)} {
				second := probe.Truncate(time.Second)
				want := len(firstMatches(1, s.Between(second, second.Add(time.Second)))) == 1
				if got := s.Matches(probe); got != want {
					t.Errorf("%s: Matches(%v) = %v, want %v", c.ID, probe, got, want)
				}
				compared++
			}
		}
	}
	if compared < 10_000 {
		t.Errorf("%d instants were compared: this test reads the cases wrongly", compared)
	}
}

func TestMatchesKnowsTheRuleAndNotTheJob(t *testing.T) {
	created := at("2026-01-01T08:30:15Z")
	for _, c := range []struct {
		claim, rule, at string
		want            bool
	}{
		{"a run", `{"startTime":"2026-01-01T09:00","frequency":"day"}`, "2026-01-05T09:00:00Z", true},
		{"a fraction of its second", `{"startTime":"2026-01-01T09:00","frequency":"day"}`, "2026-01-05T09:00:00.999Z", true},
		{"the second after it", `{"startTime":"2026-01-01T09:00","frequency":"day"}`, "2026-01-05T09:00:01Z", false},
		{"before the start", `{"startTime":"2026-01-01T09:00","frequency":"day"}`, "2025-12-31T09:00:00Z", false},
		{"between the start and creation", `{"startTime":"2025-01-01T09:00","frequency":"day"}`, "2025-06-01T09:00:00Z", true},
		{"at endTime", `{"startTime":"2026-01-01T09:00","frequency":"day","endTime":"2026-01-05T09:00"}`, "2026-01-05T09:00:00Z", true},
		{"after endTime", `{"startTime":"2026-01-01T09:00","frequency":"day","endTime":"2026-01-05T09:00"}`, "2026-01-06T09:00:00Z", false},
		{"after count", `{"startTime":"2026-01-01T09:00","frequency":"day","count":2}`, "2026-01-06T09:00:00Z", true},
		{"the run at creation, which the rule does not match", `{"frequency":"day","schedule":{"hours":[9],"minutes":[0]}}`, "2026-01-01T08:30:15Z", false},
		{"the run at creation, which the rule matches", `{"frequency":"day"}`, "2026-01-01T08:30:15Z", true},
		{"the same in another zone", `{"cron":"0 9 * * *","timeZone":"Asia/Tokyo"}`, "2026-01-05T00:00:00Z", true},
		{"a closed day", `{"cron":"0 9 * * *","except":[{"dates":["2026-01-05"]}]}`, "2026-01-05T09:00:00Z", false},
		{"an instant of also on a closed day", `{"cron":"0 9 * * *","except":[{"dates":["2026-01-05"]}],"also":["2026-01-05T09:00"]}`, "2026-01-05T09:00:00Z", true},
		{"an instant of also after endTime", `{"cron":"0 9 * * *","endTime":"2026-01-04","also":["2026-01-05T09:00"]}`, "2026-01-05T09:00:00Z", false},
		{"the year 2200", `{"cron":"0 9 * * *"}`, "2200-01-01T09:00:00Z", false},
		{"a year that no rule has", `{"cron":"0 9 * * *"}`, "0001-01-01T09:00:00Z", false},
	} {
		s, err := MustParse(c.rule).Series(created)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Matches(at(c.at)); got != c.want {
			t.Errorf("%s: Matches(%s) = %v, want %v", c.claim, c.at, got, c.want)
		}
	}
}

func TestNextNReturnsTheRunsAfterItsInstant(t *testing.T) {
	for _, c := range []struct {
		claim, rule, from string
		n                 int
		want              []string
	}{
		{"the run at creation is at the instant, not after it", `{"frequency":"day"}`, "2026-01-01T08:00:00Z", 2, []string{"2026-01-02T08:00:00Z", "2026-01-03T08:00:00Z"}},
		{"it counts", `{"frequency":"day","count":3}`, "2026-01-01T08:00:00Z", 9, []string{"2026-01-02T08:00:00Z", "2026-01-03T08:00:00Z"}},
		{"unless it is omitted", `{"frequency":"day","count":3,"immediateRun":false}`, "2026-01-01T08:00:00Z", 9,
			[]string{"2026-01-02T08:00:00Z", "2026-01-03T08:00:00Z", "2026-01-04T08:00:00Z"}},
		{"a creation with a fraction", `{"frequency":"day","count":2}`, "2026-01-01T08:00:00.25Z", 9, []string{"2026-01-02T08:00:00Z"}},
		{"a cron line at its own time", `{"cron":"0 8 * * *"}`, "2026-01-01T08:00:00Z", 1, []string{"2026-01-02T08:00:00Z"}},
		{"before the start", `{"startTime":"2026-03-01T08:00","frequency":"month"}`, "2026-01-01T00:00:00Z", 1, []string{"2026-03-01T08:00:00Z"}},
		{"endTime", `{"startTime":"2026-01-01T08:00","frequency":"day","endTime":"2026-01-02T08:00"}`, "2026-01-01T00:00:00Z", 9,
			[]string{"2026-01-01T08:00:00Z", "2026-01-02T08:00:00Z"}},
		{"after endTime", `{"startTime":"2026-01-01T08:00","frequency":"day","endTime":"2026-01-02T08:00"}`, "2026-06-01T00:00:00Z", 9, nil},
		{"a rule that runs once, late", `{"startTime":"2026-01-01T08:00"}`, "2026-06-01T00:00:00Z", 9, nil},
		{"no runs", `{"frequency":"second"}`, "2026-06-01T00:00:00Z", 0, nil},
		{"fewer than none", `{"frequency":"second"}`, "2026-06-01T00:00:00Z", -1, nil},
	} {
		got, err := MustParse(c.rule).NextN(at(c.from), c.n)
		if err != nil || !slices.Equal(inRFC3339(got), c.want) {
			t.Errorf("%s: got %v, %v, want %v", c.claim, inRFC3339(got), err, c.want)
		}
	}
	if _, err := (Recurrence{Frequency: Day, Hours: []int{24}}).NextN(at("2026-01-01T00:00:00Z"), 1); codesOf(err) != string(CodeHoursRange) {
		t.Errorf("hour 24: %v, want hours_range", err)
	}
}
