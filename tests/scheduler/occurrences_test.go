package scheduler_test

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// The walk begins on a Monday night in Berlin, before the offices of New York close: its first 100 minutes have something of every rule, and
// the end of those that end. With the tag long it lasts eight hours.
func TestEveryOccurrenceRunsOnceThroughADay(t *testing.T) {
	begin := time.Date(2000, 1, 3, 22, 0, 0, 0, time.UTC)
	rules := map[string]recurrence.Recurrence{
		"minutes": everyMinute,
		"quarter": quarterHours,
		"office":  {Cron: "*/20 9-17 * * 1-5", TimeZone: "America/New_York"},
		"twice":   {Frequency: recurrence.Day, Hours: []int{0, 23}, Minutes: []int{30}, TimeZone: "Europe/Berlin"},
		"trial":   {Frequency: recurrence.Minute, Interval: 10, Count: 7},
		"once":    {StartTime: time.Date(1999, 12, 31, 8, 0, 0, 0, time.UTC)}, // before it is created: at once
		"launch":  {StartTime: begin.Add(time.Hour)},
		"ends":    {Frequency: recurrence.Minute, Interval: 35, EndTime: begin.Add(80 * time.Minute)},
	}
	for _, c := range []struct {
		name       string
		schedulers int
		vanish     bool // workers vanish before they place
		noLeader   bool
	}{
		{"a worker places", 1, false, false},
		{"two schedulers, workers that vanish", 2, true, false},
		{"no leader, workers that vanish", 1, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			onIdleBench(t, func(t *testing.T, b *bench) {
				fixture.Pass(time.Until(begin))
				end := b.work(c.vanish)
				if c.noLeader {
					b.store.SetFault(func(act string, _ protocol.Partition) (before, after error) {
						if act == "lead" {
							return hookstore.ErrReset, nil
						}
						return nil, nil
					})
				}
				var stops []func()
				for range c.schedulers {
					stops = append(stops, b.start(func(s *chime.Scheduler) {
						for name, rec := range rules {
							b.declaring(name, rec)(s)
						}
					}))
				}
				fixture.Pass(time.Duration(long.Seeds(100, 8*60))*time.Minute + time.Second)
				for name, rec := range rules {
					b.wantRuns(name, rec, begin)
				}
				for _, stop := range stops {
					stop()
				}
				if err := end(); err != nil {
					t.Error(err)
				}
				for _, name := range []string{"trial", "once", "launch", "ends"} {
					if state := b.state(name); state != chime.StateCompleted {
						t.Errorf("%s is %s, want completed", name, state)
					}
				}
				if written := b.written.all(); len(written) != len(rules) {
					t.Errorf("%v were written, want each once", written)
				}
			})
		})
	}
}

func TestMisfirePoliciesAfterATimeWithoutWorkers(t *testing.T) {
	for policy, want := range map[chime.MisfirePolicy]struct{ ran, missed, caughtUp int }{
		chime.MisfireRunOnce: {ran: 1, missed: 30},
		chime.MisfireSkip:    {ran: 0, missed: 31},
		chime.MisfireCatchUp: {ran: 31, caughtUp: 30},
	} {
		t.Run(string(policy), func(t *testing.T) {
			onIdleBench(t, func(t *testing.T, b *bench) {
				stop := b.start(b.declaring("minutely", everyMinute, chime.Misfire(policy), chime.Grace(5*time.Second)))
				fixture.Pass(30*time.Minute + 30*time.Second) // no worker: the run at creation waits, 30 more are missed
				end := b.work(false)
				fixture.Pass(15 * time.Second)
				s := b.stored("minutely")
				if got := b.runs.total(); got != want.ran || int(s.Missed) != want.missed || int(s.CaughtUp) != want.caughtUp {
					t.Errorf("ran %d, missed %d, caught up %d; want %+v", got, s.Missed, s.CaughtUp, want)
				}
				fixture.Pass(10 * time.Minute)
				if got := b.runs.total(); got != want.ran+10 {
					t.Errorf("%d ran after ten minutes with a worker, want %d", got, want.ran+10)
				}
				if err := end(); err != nil {
					t.Error(err)
				}
				stop()
			})
		})
	}
}
