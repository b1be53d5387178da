package recurrence

import (
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
	for _, zone := range engineZones[1:] {
		list = append(list, benchCase{"zones/" + zone, Recurrence{StartTime: tenYearsBack, Frequency: Day, Hours: []int{2}, Minutes: []int{30}, TimeZone: zone}})
	}
	return list
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

func BenchmarkSeries(b *testing.B) {
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range benchCases()[:18] {
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
