package recurrence

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRRuleWritesTheRuleAsRFC5545(t *testing.T) {
	start := on("2026-01-05 08:30:15") // a Monday
	const berlin, newYork = "Europe/Berlin", "America/New_York"
	tests := []struct {
		rule Recurrence
		want string
	}{
		{Recurrence{StartTime: start}, "DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;COUNT=1"},
		{Recurrence{StartTime: start, Frequency: Second, Interval: 90}, "DTSTART:20260105T083015Z\nRRULE:FREQ=SECONDLY;INTERVAL=90"},
		{Recurrence{StartTime: start, Frequency: Minute, Hours: []int{9}, Count: 4},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=MINUTELY;INTERVAL=1;BYHOUR=9;BYSECOND=15;COUNT=4"},
		{Recurrence{StartTime: start, Frequency: Week, EndTime: on("2026-03-01 00:00:00")},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=WEEKLY;INTERVAL=1;WKST=MO;BYDAY=MO;BYHOUR=8;BYMINUTE=30;BYSECOND=15;UNTIL=20260301T000000Z"},
		{Recurrence{StartTime: start, Frequency: Year, Months: []time.Month{6, 3}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=YEARLY;INTERVAL=1;BYMONTH=3,6;BYMONTHDAY=5;BYHOUR=8;BYMINUTE=30;BYSECOND=15"},
		{Recurrence{StartTime: start, Frequency: Month, MonthDays: []int{13}, MonthlyOccurrences: []NthWeekday{{time.Friday, 0}}, Minutes: []int{0}, Hours: []int{9}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=13;BYDAY=1FR,2FR,3FR,4FR,5FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0"},

		// In a zone the start is local time and the end is UTC. A rule of elapsed time has no zone.
		{Recurrence{StartTime: start, Frequency: Day, TimeZone: berlin, EndTime: on("2026-03-01 00:00:00")},
			"DTSTART;TZID=Europe/Berlin:20260105T093015\nRRULE:FREQ=DAILY;INTERVAL=1;BYHOUR=9;BYMINUTE=30;BYSECOND=15;UNTIL=20260301T000000Z"},
		{Recurrence{StartTime: start, Frequency: Minute, Interval: 15, TimeZone: berlin},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=MINUTELY;INTERVAL=15;BYSECOND=15"},
		{Recurrence{StartTime: start, Frequency: Day, Minutes: []int{0}, Hours: []int{9}, TimeZone: "UTC"},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;INTERVAL=1;BYHOUR=9;BYMINUTE=0;BYSECOND=0"},

		{Recurrence{StartTime: start, Cron: "30 9 * * *"}, "DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;INTERVAL=1;BYHOUR=9;BYMINUTE=30;BYSECOND=0"},
		{Recurrence{StartTime: start, Cron: "30 9 1-31 * 5"}, "DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;INTERVAL=1;BYHOUR=9;BYMINUTE=30;BYSECOND=0"},
		{Recurrence{StartTime: start, Cron: "TZ=Europe/Berlin 0 9 * jan 7,1"},
			"DTSTART;TZID=Europe/Berlin:20260105T093015\nRRULE:FREQ=WEEKLY;INTERVAL=1;WKST=MO;BYMONTH=1;BYDAY=MO,SU;BYHOUR=9;BYMINUTE=0;BYSECOND=0"},
		{Recurrence{StartTime: start, Cron: "0 9 1,15 * *", TimeZone: newYork},
			"DTSTART;TZID=America/New_York:20260105T033015\nRRULE:FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=1,15;BYHOUR=9;BYMINUTE=0;BYSECOND=0"},
		// A calendar limits, picks and leaves out.
		{Recurrence{StartTime: start, Frequency: Month, Positions: []int{-1}, Minutes: []int{0}, Hours: []int{9, 17}, Except: []Filter{{WeekDays: weekend}}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,17;BYMINUTE=0;BYSECOND=0;BYSETPOS=-2,-1"},
		{Recurrence{StartTime: start, Frequency: Day, Seconds: []int{5}, Hours: []int{9}, Only: []Filter{{Months: []time.Month{6}, WeekDays: []time.Weekday{1}}},
			Except: []Filter{{Dates: []string{"2026-06-01"}}}, Also: []Recurrence{{StartTime: on("2026-07-01 00:00:00")}}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;INTERVAL=1;BYMONTH=6;BYDAY=MO;BYHOUR=9;BYMINUTE=30;BYSECOND=5\nEXDATE:20260601T093005Z\nRDATE:20260701T000000Z"},
		{Recurrence{StartTime: start, Cron: "@every 90s"}, "DTSTART:20260105T083015Z\nRRULE:FREQ=SECONDLY;INTERVAL=90"},
	}
	for _, test := range tests {
		got, err := test.rule.RRule()
		if err != nil || got != test.want {
			t.Errorf("%v:\ngot  %q (%v)\nwant %q", test.rule, got, err, test.want)
		}
	}
}

func TestRRuleRefusesWhatRFC5545CannotExpress(t *testing.T) {
	start := on("2026-01-05 08:30:15")
	const berlin = "Europe/Berlin"
	tests := []struct {
		rule Recurrence
		says string
	}{
		{Recurrence{Frequency: Day}, "needs a start"},
		{Recurrence{}, "needs a start"},
		{Recurrence{Frequency: Day, StartTime: start, Count: 3, EndTime: on("2027-01-01 00:00:00")}, "not both"},
		{Recurrence{StartTime: start, Cron: "0 0 13 * 5"}, "either of two day fields"},
		{Recurrence{StartTime: start, Cron: "0 * * * *", TimeZone: berlin}, "every hour of a day"},
		{Recurrence{StartTime: start, Frequency: Day, Minutes: []int{0}, TimeZone: berlin}, "every hour of a day"},
		{Recurrence{StartTime: start, Frequency: Hour, TimeZone: berlin}, "elapsed hours"},
		{Recurrence{StartTime: start, Frequency: Minute, Hours: []int{9}, TimeZone: berlin}, "limited by the clock"},
		{Recurrence{StartTime: start, Frequency: Day, Shift: ShiftNext, Except: []Filter{{WeekDays: weekend}}}, "moves no days"},
		{Recurrence{StartTime: start, Frequency: Day, ClockChanges: ClockSkip, TimeZone: berlin}, "once only"},
		{Recurrence{StartTime: start, Frequency: Day, Count: 3, Except: []Filter{{WeekDays: weekend}}}, "leaves out"},
		{Recurrence{StartTime: start, Frequency: Day, Except: []Filter{{Dates: []string{"12-25"}}}}, "single dates"},
		{Recurrence{StartTime: start, Frequency: Day, Only: []Filter{{Times: []string{"09:00"}}, {Months: []time.Month{1}}}}, "one filter"},
		{Recurrence{StartTime: start, Frequency: Day, Also: []Recurrence{{Frequency: Week}}}, "two rules"},
		{Recurrence{StartTime: on("2019-11-03 06:30:00"), Frequency: Day, TimeZone: "America/New_York"}, "second pass"},
	}
	for _, test := range tests {
		got, err := test.rule.RRule()
		var refused *Error
		if !errors.As(err, &refused) || refused.Code != CodeNoRRule || !strings.Contains(refused.Reason, test.says) {
			t.Errorf("%v: %q, %v, want %s saying %q", test.rule, got, err, CodeNoRRule, test.says)
		}
	}
}
