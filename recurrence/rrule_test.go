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
		// Every hour of the days of a zone is elapsed time.
		{Recurrence{StartTime: start, Cron: "0 * * * *", TimeZone: berlin}, "DTSTART;TZID=Europe/Berlin:20260105T093015\nRRULE:FREQ=HOURLY;INTERVAL=1;BYMINUTE=0;BYSECOND=0"},
		{Recurrence{StartTime: start, Frequency: Day, Seconds: []int{0, 30}, TimeZone: berlin, Except: []Filter{{Dates: []string{"2026-03-30"}, Times: []string{"00:00:30"}}}},
			"DTSTART;TZID=Europe/Berlin:20260105T093015\nRRULE:FREQ=HOURLY;INTERVAL=1;BYMINUTE=" + commaList(0, 59) + ";BYSECOND=0,30\nEXDATE;TZID=Europe/Berlin:20260330T000030"},
		{Recurrence{StartTime: start, Frequency: Day, Seconds: []int{30}, Hours: maskValues[int](allHours), TimeZone: berlin},
			"DTSTART;TZID=Europe/Berlin:20260105T093015\nRRULE:FREQ=HOURLY;INTERVAL=1;BYMINUTE=30;BYSECOND=30"},
		{Recurrence{StartTime: start, Frequency: Week, Minutes: []int{15}, TimeZone: berlin, Except: []Filter{{WeekDays: weekend}}, Only: []Filter{{MonthDays: []int{-1}}}},
			"DTSTART;TZID=Europe/Berlin:20260105T093015\nRRULE:FREQ=HOURLY;INTERVAL=1;BYMONTHDAY=-1;BYDAY=MO;BYMINUTE=15;BYSECOND=0"},
		{Recurrence{StartTime: start, Frequency: Year, Minutes: []int{15}, TimeZone: berlin, EndTime: on("2026-03-01 00:00:00")},
			"DTSTART;TZID=Europe/Berlin:20260105T093015\nRRULE:FREQ=HOURLY;INTERVAL=1;BYMONTH=1;BYMONTHDAY=5;BYMINUTE=15;BYSECOND=0;UNTIL=20260301T000000Z"},
		{Recurrence{StartTime: start, Frequency: Year, Minutes: []int{15}, TimeZone: berlin, Days: []Filter{{YearDays: []int{100, -1}}}},
			"DTSTART;TZID=Europe/Berlin:20260105T093015\nRRULE:FREQ=HOURLY;INTERVAL=1;BYYEARDAY=-1,100;BYMINUTE=15;BYSECOND=0"},
		{Recurrence{StartTime: start, Frequency: Day, Minutes: []int{0}, Hours: []int{9}, TimeZone: "UTC"},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;INTERVAL=1;BYHOUR=9;BYMINUTE=0;BYSECOND=0"},

		{Recurrence{StartTime: start, Cron: "30 9 * * *"}, "DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;INTERVAL=1;BYHOUR=9;BYMINUTE=30;BYSECOND=0"},
		{Recurrence{StartTime: start, Cron: "30 9 1-31 * 5"}, "DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;INTERVAL=1;BYHOUR=9;BYMINUTE=30;BYSECOND=0"},
		{Recurrence{StartTime: start, Cron: "TZ=Europe/Berlin 0 9 * jan 7,1"},
			"DTSTART;TZID=Europe/Berlin:20260105T093015\nRRULE:FREQ=WEEKLY;INTERVAL=1;WKST=MO;BYMONTH=1;BYDAY=MO,SU;BYHOUR=9;BYMINUTE=0;BYSECOND=0"},
		{Recurrence{StartTime: start, Cron: "0 9 1,15 * *", TimeZone: newYork},
			"DTSTART;TZID=America/New_York:20260105T033015\nRRULE:FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=1,15;BYHOUR=9;BYMINUTE=0;BYSECOND=0"},
		// A calendar limits, selects and excludes.
		{Recurrence{StartTime: start, Frequency: Month, Positions: []int{-1}, Minutes: []int{0}, Hours: []int{9, 17}, Except: []Filter{{WeekDays: weekend}}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,17;BYMINUTE=0;BYSECOND=0;BYSETPOS=-2,-1"},
		{Recurrence{StartTime: start, Frequency: Day, Seconds: []int{5}, Hours: []int{9}, Only: []Filter{{Months: []time.Month{6}, WeekDays: []time.Weekday{1}}},
			Except: []Filter{{Dates: []string{"2026-06-01"}}}, Also: []Recurrence{{StartTime: on("2026-07-01 00:00:00")}}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;INTERVAL=1;BYMONTH=6;BYDAY=MO;BYHOUR=9;BYMINUTE=30;BYSECOND=5\nEXDATE:20260601T093005Z\nRDATE:20260701T000000Z"},
		{Recurrence{StartTime: start, Frequency: Month, MonthlyOccurrences: []NthWeekday{{1, 1}, {2, 1}}, Months: []time.Month{1, 2}, Only: []Filter{{WeekDays: []time.Weekday{2}, Months: []time.Month{1, 3}}}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=MONTHLY;INTERVAL=1;BYMONTH=1;BYDAY=1TU;BYHOUR=8;BYMINUTE=30;BYSECOND=15"},
		{Recurrence{StartTime: start, Frequency: Year, Positions: []int{-1}, Only: []Filter{{MonthlyOccurrences: []NthWeekday{{1, 1}}}}}, // the numbers count in the month
			"DTSTART:20260105T083015Z\nRRULE:FREQ=YEARLY;INTERVAL=1;BYMONTH=1,2,3,4,5,6,7,8,9,10,11,12;BYDAY=1MO;BYHOUR=8;BYMINUTE=30;BYSECOND=15;BYSETPOS=-1"},
		{Recurrence{StartTime: start, Frequency: Day, Hours: []int{8, 9, 10}, Minutes: []int{0}, Except: []Filter{{Dates: []string{"2026-02-02", "2026-02-03"}, Times: []string{"09:00/23:59"}}}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;INTERVAL=1;BYHOUR=8,9,10;BYMINUTE=0;BYSECOND=0\nEXDATE:20260202T090000Z,20260202T100000Z,20260203T090000Z,20260203T100000Z"},
		// Days, weeks, and rules of Also.
		{Recurrence{StartTime: start, Frequency: Year, Interval: 2, WeekStart: WeekStartSunday, Days: []Filter{{Weeks: []int{20, -1}}}, Hours: []int{9}, Minutes: []int{0}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=YEARLY;INTERVAL=2;WKST=SU;BYWEEKNO=-1,20;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR=9;BYMINUTE=0;BYSECOND=0"},
		{Recurrence{StartTime: start, Frequency: Year, Days: []Filter{{YearlyOccurrences: []NthWeekday{{1, 20}, {2, -1}}}}, Hours: []int{9}, Minutes: []int{0}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=20MO,-1TU;BYHOUR=9;BYMINUTE=0;BYSECOND=0"},
		{Recurrence{StartTime: start, Frequency: Year, Positions: []int{-1}, Days: []Filter{{YearDays: []int{100, 200}, WeekDays: weekend}}, Hours: []int{9}, Minutes: []int{0}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=YEARLY;INTERVAL=1;BYYEARDAY=100,200;BYDAY=SA,SU;BYHOUR=9;BYMINUTE=0;BYSECOND=0;BYSETPOS=-1"},
		{Recurrence{StartTime: start, Frequency: Year, Days: []Filter{{Months: []time.Month{2}}}, Hours: []int{9}, Minutes: []int{0}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=YEARLY;INTERVAL=1;BYMONTH=2;BYMONTHDAY=" + commaList(1, 31) + ";BYHOUR=9;BYMINUTE=0;BYSECOND=0"},
		{Recurrence{StartTime: start, Frequency: Hour, Interval: 6, Days: []Filter{{YearDays: []int{-1}}}, EndTime: on("2030-01-01 00:00:00"), Also: []Recurrence{
			{Frequency: Week, WeekStart: WeekStartSunday, WeekDays: []time.Weekday{1}, EndTime: on("2029-01-01 00:00:00")}, {Cron: "0 9 1 * *"}, {StartTime: on("2026-07-01 00:00:00")}}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=HOURLY;INTERVAL=6;BYYEARDAY=-1;BYMINUTE=30;BYSECOND=15;UNTIL=20300101T000000Z\n" +
				"RRULE:FREQ=WEEKLY;INTERVAL=1;WKST=SU;BYDAY=MO;BYHOUR=8;BYMINUTE=30;BYSECOND=15;UNTIL=20290101T000000Z\n" +
				"RRULE:FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=1;BYHOUR=9;BYMINUTE=0;BYSECOND=0;UNTIL=20300101T000000Z\nRDATE:20260701T000000Z"},
		{Recurrence{StartTime: on("2027-01-01 00:00:00"), Also: []Recurrence{{Frequency: Day, StartTime: start, EndTime: on("2026-01-07 08:30:15")}}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;INTERVAL=1;BYHOUR=8;BYMINUTE=30;BYSECOND=15;UNTIL=20260107T083015Z\nRDATE:20270101T000000Z"},
		{Recurrence{StartTime: start, Frequency: Month, Positions: []int{1}, Hours: []int{9}, Minutes: []int{0}, Except: []Filter{{Dates: []string{"2026-02-02"}, Times: []string{"00:00/23:59"}}}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=MONTHLY;INTERVAL=1;BYMONTHDAY=" + commaList(1, 31) + ";BYHOUR=9;BYMINUTE=0;BYSECOND=0;BYSETPOS=1\nEXDATE:20260202T090000Z"},
		// EXDATE would exclude an RDATE of the same instant, and Also also adds it on closed days.
		{Recurrence{StartTime: start, Frequency: Day, Except: []Filter{{Dates: []string{"2026-02-02", "2026-02-03"}}}, Also: []Recurrence{{StartTime: on("2026-02-03 08:30:15")}}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;INTERVAL=1;BYHOUR=8;BYMINUTE=30;BYSECOND=15\nEXDATE:20260202T083015Z\nRDATE:20260203T083015Z"},
		// EndTime ends the instants of Also; UNTIL does not end an RDATE.
		{Recurrence{StartTime: start, Frequency: Day, EndTime: on("2026-02-01 00:00:00"), Also: []Recurrence{{StartTime: on("2026-02-01 00:00:00")}, {StartTime: on("2026-02-01 00:00:01")}}},
			"DTSTART:20260105T083015Z\nRRULE:FREQ=DAILY;INTERVAL=1;BYHOUR=8;BYMINUTE=30;BYSECOND=15;UNTIL=20260201T000000Z\nRDATE:20260201T000000Z"},
		{Recurrence{StartTime: start, Also: []Recurrence{{StartTime: on("2026-02-01 00:00:00")}}}, "DTSTART:20260105T083015Z\nRDATE:20260201T000000Z"},
		{Recurrence{StartTime: start, Cron: "@every 90s"}, "DTSTART:20260105T083015Z\nRRULE:FREQ=SECONDLY;INTERVAL=90"},
	}
	for _, test := range tests {
		got, err := test.rule.RRule()
		if err != nil || got != test.want {
			t.Errorf("%v:\ngot  %q (%v)\nwant %q", test.rule, got, err, test.want)
		}
	}
}

func TestEqualRulesHaveTheSameRRule(t *testing.T) {
	rule := func(date string) Recurrence {
		return Recurrence{StartTime: on("2026-01-05 08:30:15"), Frequency: Day, Except: []Filter{{Dates: []string{date}}}}
	}
	day, text := rule("2026-12-25"), rule("2026-12-25/2026-12-25")
	want, err := day.RRule()
	if got, errRange := text.RRule(); !day.Equal(text) || err != nil || errRange != nil || got != want {
		t.Errorf("a range of one day: %q (%v), want that of the day, %q (%v)", got, errRange, want, err)
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
		{Recurrence{StartTime: start, Frequency: Day, Minutes: []int{0}, Interval: 2, TimeZone: berlin}, "every hour of a day"},
		{Recurrence{StartTime: start, Frequency: Month, Minutes: []int{0}, Positions: []int{1}, TimeZone: berlin}, "every hour of a day"},
		{Recurrence{StartTime: start, Frequency: Month, Minutes: []int{0}, MonthlyOccurrences: []NthWeekday{{1, 1}}, TimeZone: berlin}, "every hour of a day"},
		{Recurrence{StartTime: start, Frequency: Month, Minutes: []int{0}, Days: []Filter{{MonthlyOccurrences: []NthWeekday{{1, 1}}}}, TimeZone: berlin}, "not by each filter"},
		{Recurrence{StartTime: start, Frequency: Day, Minutes: []int{0}, Except: []Filter{{Dates: []string{"2026-10-25"}}}, TimeZone: berlin}, "clocks repeat"},
		{Recurrence{StartTime: start, Frequency: Hour, TimeZone: berlin}, "elapsed hours"},
		{Recurrence{StartTime: start, Frequency: Minute, Hours: []int{9}, TimeZone: berlin}, "limited by the clock"},
		{Recurrence{StartTime: start, Frequency: Day, Shift: ShiftNext, Except: []Filter{{WeekDays: weekend}}}, "moves no days"},
		{Recurrence{StartTime: start, Frequency: Day, ShiftBy: 1}, "remove shiftBy"},
		{Recurrence{StartTime: start, Frequency: Day, Except: []Filter{{Dates: []string{"2026-12-25", "easter+10"}}}}, "no Easter"},
		{Recurrence{StartTime: start, Frequency: Day, Only: []Filter{{Dates: []string{"easter"}}}}, "without dates and times"},
		{Recurrence{StartTime: start, Frequency: Day, ClockChanges: ClockSkip, TimeZone: berlin}, `only "once"`},
		{Recurrence{StartTime: start, Frequency: Day, Count: 3, Except: []Filter{{WeekDays: weekend}}}, "leaves out"},
		{Recurrence{StartTime: start, Frequency: Day, Except: []Filter{{Dates: []string{"12-25"}}}}, "single dates"},
		{Recurrence{StartTime: start, Frequency: Day, Only: []Filter{{Times: []string{"09:00"}}, {Months: []time.Month{1}}}}, "one filter"},
		{Recurrence{StartTime: start, Frequency: Day, Also: []Recurrence{{Frequency: Week, StartTime: start.Add(time.Hour)}}}, "one start"},
		{Recurrence{StartTime: start, Frequency: Day, TimeZone: berlin, Also: []Recurrence{{Frequency: Minute}}}, "one DTSTART"},
		{Recurrence{StartTime: start, Frequency: Day, Also: []Recurrence{{Cron: "0 0 13 * 5"}}}, "either of two day fields"},
		{Recurrence{StartTime: start, Frequency: Day, Days: []Filter{{Weeks: []int{1}}}}, "not by each filter"},
		{Recurrence{StartTime: start, Frequency: Year, Days: []Filter{{Dates: []string{"12-25"}}}}, "without dates"},
		{Recurrence{StartTime: start, Frequency: Year, Days: []Filter{{Weeks: []int{1}}, {Weeks: []int{3}}}}, "one filter"},
		{Recurrence{StartTime: start, Frequency: Year, Days: []Filter{{YearlyOccurrences: []NthWeekday{{1, 20}}, Months: []time.Month{5}}}}, "not by each filter"},
		{Recurrence{StartTime: start, Frequency: Year, WeekStart: WeekStartSunday, Days: []Filter{{YearDays: []int{1}}}, Only: []Filter{{Weeks: []int{1}}}}, "by this filter"},
		{Recurrence{StartTime: start, Frequency: Month, Only: []Filter{{YearDays: []int{5}}}}, "by this filter"},
		{Recurrence{StartTime: start, Frequency: Month, Positions: []int{1}, Except: []Filter{{Dates: []string{"2026-02-02"}}}}, "single dates"},
		{Recurrence{StartTime: start, Cron: "TZ=Europe/Berlin 0 9 * * *", ClockChanges: ClockSkip}, `only "once"`},
		{Recurrence{StartTime: start, Frequency: Week, Only: []Filter{{MonthDays: []int{13}}}}, "by this filter"},
		{Recurrence{StartTime: start, Frequency: Month, MonthDays: []int{1, 2}, Only: []Filter{{MonthDays: []int{-31}}}}, "by this filter"},
		{Recurrence{StartTime: start, Frequency: Day, Only: []Filter{{MonthlyOccurrences: []NthWeekday{{1, 1}}}}}, "by this filter"},
		{Recurrence{StartTime: start, Frequency: Month, MonthlyOccurrences: []NthWeekday{{1, 1}}, Only: []Filter{{MonthlyOccurrences: []NthWeekday{{1, 0}}}}}, "by this filter"},
		{Recurrence{StartTime: start, Frequency: Year, Positions: []int{200}, Minutes: []int{0}, Hours: []int{1, 2}}, "to 366"},
		{Recurrence{StartTime: start, Frequency: Hour, Except: []Filter{{Dates: []string{"2026-03-29"}}}}, "a date has too many"},
		{Recurrence{StartTime: start, Frequency: Day, Hours: []int{9, 10, 11, 12}, Except: []Filter{{Dates: daysFrom(start, 1000)}}}, "more than 3000 times"},
		{Recurrence{StartTime: start, Frequency: Day, Hours: []int{2}, Minutes: []int{30}, Except: []Filter{{Dates: []string{"2026-03-29"}}}, TimeZone: berlin}, "that the clocks skip"},
		{Recurrence{StartTime: start, Frequency: Day, Hours: []int{2}, Minutes: []int{30}, Except: []Filter{{Dates: []string{"2026-03-29"}, Times: []string{"03:30"}}}, TimeZone: berlin}, "that the clocks skip"}, // where the run lands
		{Recurrence{StartTime: start, Frequency: Day, Hours: []int{2}, Minutes: []int{30}, Except: []Filter{{Dates: []string{"2026-03-30"}}}, TimeZone: berlin}, "that the clocks skip"},                           // of the day before
		{Recurrence{StartTime: on("2019-11-03 06:30:00"), Frequency: Day, TimeZone: "America/New_York"}, "second pass"},
	}
	for _, test := range tests {
		got, err := test.rule.RRule()
		var refused *Error
		if !errors.As(err, &refused) || refused.Code != CodeNoRRule || !strings.Contains(refused.Reason, test.says) {
			t.Errorf("%v: %q, %v, want %s with %q", test.rule, got, err, CodeNoRRule, test.says)
		}
	}
}

// The limit of EXDATE counts the excluded times only, and not the other times of these days.
func TestAnExcludedTimeOfManyIsOneEXDATE(t *testing.T) {
	r := Recurrence{StartTime: on("2026-01-05 08:30:15"), Frequency: Day, Hours: upTo(0, 22, 1), Minutes: upTo(0, 59, 1), Seconds: []int{0, 30}, TimeZone: "Europe/Berlin",
		Except: []Filter{{Dates: daysFrom(on("2026-02-01 00:00:00"), 100), Times: []string{"09:00:30", "10:00"}}}}
	for range maxAlsoRules {
		r.Also = append(r.Also, Recurrence{Frequency: Day, Hours: upTo(0, 22, 1), Minutes: upTo(0, 59, 1)})
	}
	text, err := r.RRule()
	if err != nil {
		t.Fatal(err)
	}
	_, excluded, _ := strings.Cut(text, "\nEXDATE;TZID=Europe/Berlin:")
	if n := len(strings.Split(excluded, ",")); n != 300 || !strings.HasPrefix(excluded, "20260201T090030,20260201T100000,20260201T100030,20260202T090030,") {
		t.Errorf("%d values: %.100s", n, excluded)
	}
}

// daysFrom returns n days from the day of an instant on, in the form of a filter.
func daysFrom(first time.Time, n int) (dates []string) {
	for i := range n {
		dates = append(dates, first.AddDate(0, 0, i).Format(time.DateOnly))
	}
	return dates
}
