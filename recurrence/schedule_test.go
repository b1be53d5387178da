package recurrence

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// robfigSchedule is the interface Schedule of github.com/robfig/cron/v3. Module bench runs a Schedule with the real one.
type robfigSchedule interface{ Next(time.Time) time.Time }

var _ robfigSchedule = (*Schedule)(nil)

func TestAScheduleReturnsTheZeroTimeAfterTheLastRun(t *testing.T) {
	const created, before = "2026-01-01T08:00:00Z", "2025-01-01T00:00:00Z"
	for _, c := range []struct {
		claim, rule, from string
		want              []string
	}{
		{"endTime", `{"startTime":"2026-01-01T09:00","frequency":"day","endTime":"2026-01-02T09:00"}`, before, []string{"2026-01-01T09:00:00Z", "2026-01-02T09:00:00Z"}},
		{"count", `{"startTime":"2026-01-01T09:00","frequency":"day","count":2}`, before, []string{"2026-01-01T09:00:00Z", "2026-01-02T09:00:00Z"}},
		{"a counted run at creation has passed", `{"frequency":"day","count":3}`, created, []string{"2026-01-02T08:00:00Z", "2026-01-03T08:00:00Z"}},
		{"without it there is one more", `{"frequency":"day","count":3,"immediateRun":false}`, created, []string{"2026-01-02T08:00:00Z", "2026-01-03T08:00:00Z", "2026-01-04T08:00:00Z"}},
		{"a fraction", `{"startTime":"2026-01-01T09:00","frequency":"day","count":2}`, "2026-01-01T09:00:00.5Z", []string{"2026-01-02T09:00:00Z"}},
		{"the end of counting long ago", `{"startTime":"2026-01-01T09:00","frequency":"day","count":2}`, "2030-01-01T00:00:00Z", nil},
		{"a start before creation: counting begins at creation", `{"startTime":"2025-12-30T09:00","frequency":"day","count":1}`, before, []string{"2026-01-01T09:00:00Z"}},
		{"a rule that runs once", `{"startTime":"2026-01-01T09:00"}`, before, []string{"2026-01-01T09:00:00Z"}},
	} {
		s, err := MustParse(c.rule).Series(at(created))
		if err != nil {
			t.Fatal(err)
		}
		schedule := s.Schedule()
		for range 2 { // the second time its argument goes back
			var got []string
			for at := schedule.Next(at(c.from)); !at.IsZero(); at = schedule.Next(at) {
				got = append(got, at.Format(time.RFC3339))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", c.claim, got, c.want)
			}
			if again := schedule.Next(at("2199-01-01T00:00:00Z")); !again.IsZero() {
				t.Errorf("%s: after the last run it returned %v", c.claim, again)
			}
		}
	}
}

// Without a Count a Schedule is Next of its series, also for instants that go back.
func TestAScheduleWithoutCountIsNext(t *testing.T) {
	s, err := MustParse(`{"cron":"30 2 * * *","timeZone":"Europe/Berlin"}`).Series(at("2026-01-01T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	schedule := s.Schedule()
	for _, from := range []string{"2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", "2026-01-01T00:00:00Z", "2199-12-31T12:00:00Z", "2200-01-01T00:00:00Z"} {
		want, _ := s.Next(at(from))
		if got := schedule.Next(at(from)); !got.Equal(want) {
			t.Errorf("after %s: %v, want %v", from, got, want)
		}
	}
}

// Goroutines with different instants share the position of a counted schedule, and each gets its own answer.
func TestACountedScheduleIsSharedByGoroutines(t *testing.T) {
	s, err := MustParse(`{"startTime":"2026-01-01","frequency":"hour","count":50}`).Series(at("2026-01-01T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	schedule := s.Schedule()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for hour := i; hour < 60; hour += 3 {
				from := at("2026-01-01T00:00:00Z").Add(time.Duration(hour) * time.Hour)
				want := from.Add(time.Hour)
				if hour >= 49 {
					want = time.Time{}
				}
				if got := schedule.Next(from); !got.Equal(want) {
					t.Errorf("after %v: %v, want %v", from, got, want)
				}
			}
		})
	}
	all.Wait()
}
