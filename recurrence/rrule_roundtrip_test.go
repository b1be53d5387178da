package recurrence

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// FromRRule reads what RRule exports as a rule with the same runs.
func TestARuleReadFromItsRRuleHasTheSameRuns(t *testing.T) {
	exported, calendars, limited, several := 0, 0, 0, 0
	seeds := long.Draw(1500, 6000)
	for _, seed := range seeds {
		g := generator{rand.New(rand.NewPCG(seed, 5))}
		r, _, from := g.drawCalendar()
		if r.Count = 0; r.StartTime.IsZero() {
			r.StartTime = g.instant(r.TimeZone)
		}
		if seed%2 == 0 {
			r = plainer(r)
		}
		if r.Frequency >= Year-2 && seed%3 == 0 || r.Frequency == Year && seed%2 == 0 {
			if r.Days = []Filter{g.ofYear(Filter{})}; g.chance(2) {
				r.Days = []Filter{g.filter("", []time.Time{from})}
				r.Days[0].Times, r.Days[0].Dates = nil, nil
			}
			if r.WeekStart = WeekStart(g.IntN(7)); r.Validate() != nil {
				continue
			}
		}
		text, err := r.RRule()
		if err != nil {
			continue
		}
		read, err := FromRRule(text)
		once := r.Frequency == 0 && r.Cron == "" && len(r.Also) == 0 // becomes COUNT=1, which does not affect matches
		if once || codesOf(err) == string(CodeNeverFires) {
			continue // its only runs are its start or later
		}
		if err != nil {
			t.Errorf("seed %d: %+v\n%s\n%v", seed, r, text, err)
			continue
		}
		exported++
		if len(r.Only)+len(r.Except)+len(r.Positions)+len(r.Also) > 0 {
			calendars++
		}
		if len(r.Days) > 0 {
			limited++
		}
		if strings.Count(text, "RRULE:") > 1 {
			several++
		}
		if want, got := matches(t, r, from), matches(t, read, from); !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("seed %d: %+v\n%s\n%+v\ngot  %v\nwant %v", seed, r, text, read, got, want)
		}
	}
	if seeds := len(seeds); exported < seeds/12 || calendars < seeds/30 || limited < seeds/100 || several < seeds/200 {
		t.Errorf("%d of %d rules were exported, %d of them with a calendar, %d with days, %d with several rules", exported, seeds, calendars, limited, several)
	}
}

// plainer returns a similar rule that can be exported more often.
func plainer(r Recurrence) Recurrence {
	r.Shift, r.ShiftBy, r.ClockChanges, r.TimeZone = ShiftDrop, 0, ClockOnce, ""
	if len(r.Only) > 1 {
		r.Only = r.Only[:1]
	}
	for i := range r.Only {
		if r.Only[i].Dates, r.Only[i].Times = nil, nil; len(r.Only[i].WeekDays) == 0 {
			r.Only[i].WeekDays = []time.Weekday{time.Monday, time.Friday}
		}
	}
	r.Except = slices.DeleteFunc(slices.Clone(r.Except), func(f Filter) bool { return len(f.Times) > 0 || len(f.Dates) > 1 })
	r.Also = slices.Clone(r.Also)
	for i := range r.Also {
		if !r.Also[i].runsOnce() && (!r.runsOnce() || i > 0) {
			r.Also[i].StartTime = time.Time{}
		}
	}
	return r
}

// matches returns the first 50 matches from an instant on.
func matches(t *testing.T, r Recurrence, from time.Time) (list []time.Time) {
	t.Helper()
	s, err := r.Series(r.StartTime)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	for at := range s.Between(from, horizonTime) {
		if list = append(list, at); len(list) == 50 {
			break
		}
	}
	return list
}
