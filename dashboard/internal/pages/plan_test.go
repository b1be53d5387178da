package pages

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

func listed(t *testing.T, name, cron string, created time.Time) ListedSchedule {
	t.Helper()
	rule, err := recurrence.Cron(cron)
	if err != nil {
		t.Fatal(err)
	}
	return ListedSchedule{Schedule: &chime.Schedule{Name: name, Recurrence: rule, Created: created, State: chime.StateLive}}
}

func TestAPlanHasTheOccurrencesOfSevenDays(t *testing.T) {
	now := time.Date(2026, 11, 21, 13, 26, 48, 5, time.UTC)
	spread, counted, paused := listed(t, "spread", "0 * * * *", now), listed(t, "counted", "0 * * * *", now), listed(t, "paused", "* * * * *", now)
	spread.Offset, counted.Recurrence.Count, counted.Used, paused.State = 30*time.Second, 5, 3, chime.StatePaused
	counted.Next = time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	all := []ListedSchedule{listed(t, "daily", "0 14 * * *", now), spread, counted, paused, {Schedule: &chime.Schedule{Name: "newer"}, Unread: errors.New("newer")}}
	p := newPlan(Listing{Schedules: all, Whole: true}, now, maxPlanned)
	if len(p.entries) != 7+7*24+3 || p.paused != 1 || p.unread != 1 || len(p.cut) != 0 {
		t.Errorf("got %d occurrences, %d paused, %d unread, %v cut", len(p.entries), p.paused, p.unread, p.cut)
	}
	if got := p.counts(now.Truncate(time.Hour), time.Hour, 3); !slices.Equal(got, []int{0, 3, 2}) {
		t.Errorf("by the hour: %v, want 0, 3, 2", got)
	}
	busy := p.busiest()
	if len(busy) != 1 || busy[0].N != 2 || !slices.Equal(busy[0].Names, []string{"daily", "counted"}) || !busy[0].At.Equal(counted.Next) {
		t.Errorf("the busiest are %+v", busy)
	}
}

func TestAPlanGivesEachScheduleItsShareAndNamesTheRest(t *testing.T) {
	now := time.Date(2026, 11, 21, 13, 26, 48, 0, time.UTC)
	all := []ListedSchedule{listed(t, "daily", "0 14 * * *", now), listed(t, "fastest", "*/12 * * * *", now), listed(t, "often", "*/15 * * * *", now)}
	p := newPlan(Listing{Schedules: all, Whole: true}, now, 1000)
	if n := len(p.entries); n > 1000 || n < 990 {
		t.Errorf("it has %d occurrences, want 1000", n)
	}
	var cut []string
	for _, c := range p.cut {
		cut = append(cut, c.Name)
	}
	if got := strings.Join(cut, " "); got != "fastest often" {
		t.Errorf("%q are not counted to the end, want fastest and often", got)
	}
	n := 0
	for _, e := range p.entries {
		if p.names[e.of] == "fastest" {
			n++
		}
	}
	first := time.Date(2026, 11, 21, 13, 36, 0, 0, time.UTC)
	if want := first.Add(time.Duration(n) * 12 * time.Minute); !p.cut[0].Until.Equal(want) {
		t.Errorf("fastest is counted until %v, want %v: it has %d occurrences", p.cut[0].Until, want, n)
	}
	if last := slices.IndexFunc(p.entries, func(e planned) bool { return p.names[e.of] == "daily" }); last < 0 {
		t.Error("daily got no share")
	}
}

// A schedule that runs every few minutes is named and does not hide the others, unless it does so only at some hours.
func TestAPlanNamesSchedulesThatRunAllTheTime(t *testing.T) {
	now := time.Date(2026, 11, 21, 13, 26, 48, 0, time.UTC)
	all := []ListedSchedule{
		listed(t, "ten", "*/10 * * * *", now), listed(t, "minutely", "* * * * *", now), listed(t, "quarter", "*/15 * * * *", now), listed(t, "mornings", "* 8 * * *", now), listed(t, "daily", "0 14 * * *", now),
	}
	p := newPlan(Listing{Schedules: all, Whole: true}, now, maxPlanned)
	if want := 7*24*4 + 7*60 + 7; len(p.entries) != want || len(p.cut) != 0 {
		t.Errorf("it has %d occurrences, cut are %v; want %d, and none", len(p.entries), p.cut, want)
	}
	if len(p.steady) != 2 || p.steady[0].Name != "minutely" || p.steady[1].Name != "ten" || !strings.HasPrefix(p.steady[0].Words, "Every minute") {
		t.Errorf("all the time run %+v, want minutely, then ten", p.steady)
	}
	if busy := p.busiest(); len(busy) == 0 || slices.Contains(busy[0].Names, "minutely") {
		t.Errorf("the busiest are %+v, want them without minutely", busy)
	}
}

func TestTheLargestPlanIsBounded(t *testing.T) {
	now := time.Date(2026, 11, 21, 13, 26, 48, 0, time.UTC)
	var all []ListedSchedule
	for range maxDirectory {
		all = append(all, listed(t, "s", "* * * * *", now))
	}
	p := newPlan(Listing{Schedules: all}, now, maxPlanned)
	if len(p.entries) != maxPlanned || len(p.cut) != maxDirectory || len(p.busiest()) != maxBusiest || p.busiest()[0].N != maxDirectory {
		t.Errorf("got %d occurrences, %d cut, the busiest %d", len(p.entries), len(p.cut), p.busiest()[0].N)
	}
}
