package recurrence

import (
	"runtime"
	"testing"
	"time"
)

// A benchCase is a rule whose Next must be fast from any instant.
type benchCase struct {
	name string
	rule Recurrence
}

func benchCases() []benchCase {
	tenYearsBack := time.Date(2016, 3, 8, 9, 7, 30, 0, time.UTC)
	list := []benchCase{
		{"cron/ordinary/UTC", Recurrence{Cron: "*/15 9-16 * * 1-5"}},
		{"cron/ordinary/New_York", Recurrence{Cron: "*/15 9-16 * * 1-5", TimeZone: "America/New_York"}},
		{"cron/leapday/UTC", Recurrence{Cron: "0 5 29 2 *"}},
		{"cron/leapday/New_York", Recurrence{Cron: "0 5 29 2 *", TimeZone: "America/New_York"}},
		{"cron/leapday/allhours/Berlin", Recurrence{Cron: "0 * 29 2 *", TimeZone: "Europe/Berlin"}},
		{"leapmonday/UTC", Recurrence{StartTime: tenYearsBack, Frequency: Month, Interval: 18, MonthDays: []int{29}, Months: []time.Month{3, 9}, MonthlyOccurrences: []NthWeekday{{Day: 1, N: 5}}}},
		{"positions/366/UTC", Recurrence{StartTime: tenYearsBack, Frequency: Year, Positions: []int{366}}},
		{"leapmonday/everyyear/UTC", Recurrence{StartTime: tenYearsBack.AddDate(0, -1, 0), Frequency: Month, Months: []time.Month{2}, MonthDays: []int{29}, MonthlyOccurrences: []NthWeekday{{Day: 1}}}},
		{"fifthfriday29feb/Berlin", Recurrence{StartTime: tenYearsBack.AddDate(0, -1, 0), TimeZone: "Europe/Berlin", Frequency: Month, Months: []time.Month{2}, MonthlyOccurrences: []NthWeekday{{Day: 5, N: 5}}}},
		{"second", Recurrence{StartTime: tenYearsBack, Frequency: Second, Interval: 90}},
		{"second/limited/Lord_Howe", Recurrence{StartTime: tenYearsBack, Frequency: Second, Interval: 997, Hours: []int{5}, Minutes: []int{3}, TimeZone: "Australia/Lord_Howe"}},
		{"minute/15", Recurrence{StartTime: tenYearsBack, Frequency: Minute, Interval: 15}},
		{"minute/15/limited/New_York", Recurrence{StartTime: tenYearsBack, Frequency: Minute, Interval: 15, Hours: []int{9}, TimeZone: "America/New_York"}},
		{"minute/997/limited/New_York", Recurrence{StartTime: tenYearsBack, Frequency: Minute, Interval: 997, Hours: []int{5}, Minutes: []int{3}, TimeZone: "America/New_York"}},
		{"hour/limited/New_York", Recurrence{StartTime: tenYearsBack, Frequency: Hour, Interval: 997, Hours: []int{5}, Minutes: []int{3, 44}, TimeZone: "America/New_York"}},
		{"hour/summeronly/New_York", Recurrence{StartTime: tenYearsBack.Add(7 * time.Hour), Frequency: Hour, Interval: 24, Hours: []int{12}, TimeZone: "America/New_York"}},
		{"day", Recurrence{StartTime: tenYearsBack, Frequency: Day, Interval: 3}},
		{"week", Recurrence{StartTime: tenYearsBack, Frequency: Week, Interval: 2, WeekDays: []time.Weekday{1, 5}, Hours: []int{10, 22}}},
		{"month/last", Recurrence{StartTime: tenYearsBack, Frequency: Month, MonthDays: []int{-1}}},
		{"friday13", Recurrence{StartTime: tenYearsBack, Frequency: Month, MonthDays: []int{13}, MonthlyOccurrences: []NthWeekday{{Day: 5}}}},
		{"year", Recurrence{StartTime: tenYearsBack, Frequency: Year}},
	}
	list = append(list, calendarCases(tenYearsBack)...)
	for _, zone := range engineZones[1:] {
		list = append(list, benchCase{"zones/" + zone, Recurrence{StartTime: tenYearsBack, Frequency: Day, Hours: []int{2}, Minutes: []int{30}, TimeZone: zone}})
	}
	return list
}

// calendarCases are rules with a calendar.
func calendarCases(start time.Time) []benchCase {
	workdays := []time.Weekday{1, 2, 3, 4, 5}
	var holidays []string // ten a year
	for i := range 100 {
		holidays = append(holidays, time.Date(2022+i/10, time.Month(1+i%10), 1+7*i%28, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
	}
	leapSunday := []Filter{{MonthDays: []int{29}, Months: []time.Month{2}, WeekDays: []time.Weekday{0}}}
	ended := []Filter{{Dates: []string{"2016-01-01/2026-02-01"}}}
	return []benchCase{
		{"calendar/weekdays/UTC", Recurrence{StartTime: start, Frequency: Week, WeekDays: workdays, Hours: []int{9}, Minutes: []int{0}, Except: []Filter{{Dates: holidays}}}},
		{"calendar/weekdays/New_York", Recurrence{StartTime: start, Frequency: Week, WeekDays: workdays, Hours: []int{9}, Minutes: []int{0}, Except: []Filter{{Dates: holidays}}, TimeZone: "America/New_York"}},
		{"calendar/cron/New_York", Recurrence{Cron: "*/15 9-16 * * 1-5", Except: []Filter{{Dates: holidays}}, TimeZone: "America/New_York"}},
		{"calendar/lastopenday/London", Recurrence{StartTime: start, Frequency: Month, Positions: []int{-1}, Except: []Filter{{Dates: holidays}, {WeekDays: []time.Weekday{0, 6}}}, TimeZone: "Europe/London"}},
		{"calendar/shifted/London", Recurrence{StartTime: start, Frequency: Month, MonthDays: []int{15}, Shift: ShiftPrevious, Except: []Filter{{Dates: holidays}, {WeekDays: []time.Weekday{0, 6}}}, TimeZone: "Europe/London"}},
		{"calendar/shiftby/London", Recurrence{StartTime: start, Frequency: Month, MonthDays: []int{25}, ShiftBy: -2, Except: []Filter{{Dates: holidays}, {WeekDays: []time.Weekday{0, 6}}}, TimeZone: "Europe/London"}},
		{"calendar/shiftby/UTC", Recurrence{StartTime: start, Frequency: Month, MonthlyOccurrences: []NthWeekday{{Day: 2, N: 2}}, ShiftBy: 1}},
		{"calendar/shiftby/leapday", Recurrence{Cron: "0 5 29 2 1", ShiftBy: -1}},
		{"calendar/easter/London", Recurrence{StartTime: start, Frequency: Week, WeekDays: workdays, Hours: []int{9}, Minutes: []int{0}, Except: []Filter{{Dates: []string{"easter-2/easter+1", "12-25"}}}, TimeZone: "Europe/London"}},
		{"calendar/easter/both", Recurrence{StartTime: start, Frequency: Day, Only: []Filter{{Dates: []string{"easter", "orthodoxEaster"}}}}},
		{"calendar/openinghours/Chicago", Recurrence{StartTime: start, Frequency: Minute, Interval: 30, Only: []Filter{{WeekDays: workdays, Times: []string{"09:00/17:30"}}}, TimeZone: "America/Chicago"}},
		{"calendar/leapmonday", Recurrence{StartTime: start, Frequency: Day, Only: []Filter{{MonthDays: []int{29}, Months: []time.Month{2}, WeekDays: []time.Weekday{1}}}}},
		{"calendar/leapsunday", Recurrence{StartTime: start, Frequency: Day, Only: leapSunday}},
		{"calendar/ended/day", Recurrence{StartTime: start, Frequency: Day, Only: ended}},
		{"calendar/ended/second", Recurrence{StartTime: start, Frequency: Second, Interval: 7, Only: ended, TimeZone: "America/New_York"}},
	}
}

func BenchmarkNext(b *testing.B) {
	for _, c := range benchCases() {
		series, err := c.rule.Series(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		if err != nil {
			b.Fatalf("%s: %v", c.name, err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			after := time.Date(2026, 3, 7, 11, 3, 9, 0, time.UTC)
			begin := after
			for b.Loop() {
				next, ok := series.Next(after)
				if after = next; !ok || after.Year() > 2150 {
					after = begin
				}
			}
		})
	}
}

func BenchmarkPrev(b *testing.B) {
	for _, c := range benchCases() {
		series, err := c.rule.Series(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		if err != nil {
			b.Fatalf("%s: %v", c.name, err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			begin := time.Date(2150, 3, 7, 11, 3, 9, 0, time.UTC)
			before := begin
			for b.Loop() {
				prev, ok := series.Prev(before)
				if before = prev; !ok || before.Year() < 2030 {
					before = begin
				}
			}
		})
	}
}

func BenchmarkSeries(b *testing.B) {
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range benchCases() {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.rule.Series(created); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	for _, c := range benchCases() {
		series, err := c.rule.Series(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		after := time.Date(2026, 3, 7, 11, 3, 9, 0, time.UTC)
		if allocs := testing.AllocsPerRun(50, func() { after, _ = series.Next(after) }); allocs != 0 {
			t.Errorf("%s: Next allocates %v times", c.name, allocs)
		}
	}
}

// ordinaryRules are rules as most schedules have them: one in ten has a list of twenty holidays.
func ordinaryRules() []Recurrence {
	start := time.Date(2020, 3, 8, 9, 7, 30, 0, time.UTC)
	var holidays []string
	for i := range 20 {
		holidays = append(holidays, time.Date(2026+i/10, time.Month(1+i%10), 1+7*i%28, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
	}
	return []Recurrence{
		{Cron: "*/15 9-16 * * 1-5", TimeZone: "America/New_York"},
		{Cron: "0 5 * * *"},
		{Cron: "@every 90s"},
		{StartTime: start, Frequency: Minute, Interval: 15},
		{StartTime: start, Frequency: Hour},
		{StartTime: start, Frequency: Day, Hours: []int{9}, Minutes: []int{0}, TimeZone: "Europe/Berlin"},
		{StartTime: start, Frequency: Week, WeekDays: []time.Weekday{1, 3, 5}, Hours: []int{10, 22}, TimeZone: "Asia/Tokyo"},
		{StartTime: start, Frequency: Month, MonthDays: []int{-1}, Hours: []int{18}, TimeZone: "Europe/London"},
		{StartTime: start, Frequency: Month, MonthlyOccurrences: []NthWeekday{{Day: 2, N: 2}}, Hours: []int{18}},
		{StartTime: start, Frequency: Week, WeekDays: []time.Weekday{1, 2, 3, 4, 5}, Hours: []int{9}, Except: []Filter{{Dates: holidays}}, TimeZone: "Europe/London"},
	}
}

// BenchmarkManySeries compiles ordinary rules and keeps them, as a program does at its start, and reports the memory that each needs then.
// With -benchtime 1000000x it compiles a million.
func BenchmarkManySeries(b *testing.B) {
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rules := ordinaryRules()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	kept := make([]*Series, 0, b.N)
	before := heap()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		s, err := rules[i%len(rules)].Series(created)
		if err != nil {
			b.Fatal(err)
		}
		kept = append(kept, s)
	}
	b.StopTimer()
	b.ReportMetric(float64(heap()-before)/float64(b.N), "kept-B/op")
	runtime.KeepAlive(kept)
}
