package schedule

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

func TestTheTextOfAScheduleSaysThatItRunsWhenCreated(t *testing.T) {
	start := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	weekend := []recurrence.Filter{{WeekDays: []time.Weekday{time.Saturday, time.Sunday}}}
	christmas := []recurrence.Recurrence{{StartTime: time.Date(2026, 12, 24, 13, 0, 0, 0, time.UTC)}}
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Recurrence: recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 15}}, "Every 15 minutes, and once when created"},
		{Spec{Recurrence: recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{0}, Count: 10, EndTime: start}},
			"Every day at 09:00 UTC, and once when created, 10 times, until 5 January 2026 at 09:00"},
		{Spec{Recurrence: recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 15, EndTime: start}},
			"Every 15 minutes, and once when created, until 5 January 2026 at 09:00 UTC"},
		{Spec{Recurrence: recurrence.Recurrence{Cron: "@EVERY 90m", Count: 3}}, `Every 90 minutes (cron "@EVERY 90m"), and once when created, 3 times`},

		// The calendar may exclude the creation.
		{Spec{Recurrence: recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{0}, Except: weekend}},
			"Every day at 09:00 UTC (and once when created, unless closed); not on Saturday and Sunday"},
		{Spec{Recurrence: recurrence.Recurrence{Frequency: recurrence.Hour, Count: 10, EndTime: start, TimeZone: "Europe/London", Only: weekend}},
			"Every hour (and once when created, unless closed), 10 times, until 5 January 2026 at 09:00 Europe/London time; only on Saturday and Sunday"},
		{Spec{Recurrence: recurrence.Recurrence{Frequency: recurrence.Hour, TimeZone: "Europe/London", Only: weekend}},
			"Every hour (and once when created, unless closed); only on Saturday and Sunday, Europe/London time"},
		{Spec{Recurrence: recurrence.Recurrence{Cron: "@every 90m", Count: 3, Except: weekend}},
			`Every 90 minutes (cron "@every 90m") (and once when created, unless closed), 3 times; not on Saturday and Sunday, UTC`},
		{Spec{Recurrence: recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{0}, Also: christmas, Count: 10}},
			"Every day at 09:00 UTC, and once when created; also on 24 December 2026 at 13:00; 10 times in all"},
		{Spec{Recurrence: recurrence.Recurrence{Frequency: recurrence.Month, Positions: []int{-1}, Hours: []int{9}, Minutes: []int{0}, Count: 1}},
			"Every month on the last of all days at 09:00 UTC, and once when created, only once"},

		// These have no run at creation, or their text contains it already.
		{Spec{Recurrence: recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 15, NoImmediateRun: true}}, "Every 15 minutes"},
		{Spec{Recurrence: recurrence.Recurrence{Frequency: recurrence.Day, StartTime: start}}, "Every day at 09:00 UTC, starting on 5 January 2026"},
		{Spec{Recurrence: recurrence.Recurrence{Cron: "0 9 * * *"}}, `Every day at 09:00 UTC (cron "0 9 * * *")`},
		{Spec{Recurrence: recurrence.Recurrence{Cron: "0 9 * * *", Except: weekend}}, `Every day at 09:00 UTC (cron "0 9 * * *"); not on Saturday and Sunday`},
		{Spec{Recurrence: recurrence.Recurrence{Frequency: recurrence.Minute, Except: weekend, NoImmediateRun: true}}, "Every minute; not on Saturday and Sunday, UTC"},
		{Spec{Recurrence: recurrence.Recurrence{}}, "Once, when created"},
		{Spec{Recurrence: recurrence.Recurrence{StartTime: start}}, "Once, on 5 January 2026 at 09:00 UTC"},
	} {
		if got := c.spec.Text(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
