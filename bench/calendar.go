package main

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/teambition/rrule-go"

	"github.com/chimejobs/chime/recurrence"
)

var (
	workdays = []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}
	weekend  = []recurrence.Filter{{WeekDays: []time.Weekday{time.Saturday, time.Sunday}}}
	holidays = everyTwelfthWorkday(100)

	rruleWorkdays = []rrule.Weekday{rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR}
)

// openingRules are rules with a calendar, as a user of each library would write them.
var openingRules = []calendarRule{
	{
		name: "weekdays but 100 dates", about: "Monday to Friday at 09:00, but not on 100 dates",
		chime: recurrence.Recurrence{Frequency: recurrence.Week, WeekDays: workdays, Hours: []int{9}, Minutes: []int{0},
			Except: []recurrence.Filter{{Dates: texts(holidays)}}},
		rrule:   &rrule.ROption{Freq: rrule.WEEKLY, Byweekday: rruleWorkdays, Byhour: []int{9}, Byminute: []int{0}, Bysecond: []int{0}},
		without: holidays,
	},
	{
		name: "half hours of work", about: "every half hour from 09:00 to 17:30, Monday to Friday",
		chime: recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 30,
			Only: []recurrence.Filter{{WeekDays: workdays, Times: []string{"09:00/17:30"}}}},
		robfig: "*/30 9-17 * * 1-5",
		rrule: &rrule.ROption{Freq: rrule.WEEKLY, Byweekday: rruleWorkdays, Byhour: []int{9, 10, 11, 12, 13, 14, 15, 16, 17}, Byminute: []int{0, 30},
			Bysecond: []int{0}},
	},
	{
		name: "last working day", about: "the last day of the month from Monday to Friday at 18:00",
		chime: recurrence.Recurrence{Frequency: recurrence.Month, Positions: []int{-1}, Hours: []int{18}, Minutes: []int{0}, Except: weekend},
		rrule: &rrule.ROption{Freq: rrule.MONTHLY, Byweekday: rruleWorkdays, Bysetpos: []int{-1}, Byhour: []int{18}, Byminute: []int{0}, Bysecond: []int{0}},
	},
	{
		name: "25th or before", about: "the 25th at 09:00, or the last day before that is neither on a weekend nor one of 100 dates",
		chime: recurrence.Recurrence{Frequency: recurrence.Month, MonthDays: []int{25}, Hours: []int{9}, Minutes: []int{0},
			Except: append(slices.Clip(weekend), recurrence.Filter{Dates: texts(holidays)}), Shift: recurrence.ShiftPrevious},
	},
	{
		name: "once in 28 years", years: 40, about: "each day at 03:30, only on Sundays that are a 29 February",
		chime: recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{3}, Minutes: []int{30},
			Only: []recurrence.Filter{{Months: []time.Month{time.February}, MonthDays: []int{29}, WeekDays: []time.Weekday{time.Sunday}}}},
		rrule: &rrule.ROption{Freq: rrule.DAILY, Bymonth: []int{2}, Bymonthday: []int{29}, Byweekday: []rrule.Weekday{rrule.SU},
			Byhour: []int{3}, Byminute: []int{30}, Bysecond: []int{0}},
	},
}

// endedRules have no run after today.
var endedRules = []calendarRule{
	{
		name: "days", about: "each day, only on a date that has passed",
		chime: recurrence.Recurrence{Frequency: recurrence.Day, Only: []recurrence.Filter{{Dates: []string{"2020-02-03"}}}},
	},
	{
		name: "hours", about: "each hour, only on a date that has passed",
		chime: recurrence.Recurrence{Frequency: recurrence.Hour, Only: []recurrence.Filter{{Dates: []string{"2020-02-03"}}}},
	},
}

// calendarMeasures are the rules with a calendar in two zones, with a start ten years back.
func calendarMeasures() []measure {
	var all []measure
	for _, zone := range []string{"UTC", "America/New_York"} {
		for _, rule := range openingRules {
			all = append(all, openingMeasure(rule, zone))
		}
		for _, rule := range endedRules {
			all = append(all, endedMeasure(rule, zone))
		}
	}
	return all
}

// yearsBack is the age of the start of a rule without a start of its own.
const yearsBack = 10

// startOf returns the start of a rule, a number of years ago, and today.
func startOf(zone string, years int) (start, today time.Time, err error) {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return start, today, err
	}
	year, month, day := time.Now().In(location).Date()
	today = time.Date(year, month, day, 0, 0, 0, 0, location)
	return today.AddDate(-years, 0, 0), today, nil
}

func openingMeasure(rule calendarRule, zone string) measure {
	years := cmp.Or(rule.years, yearsBack)
	return measure{
		name:  fmt.Sprintf("calendar %s %s", rule.name, path.Base(zone)),
		group: "calendar",
		slow:  true,
		about: fmt.Sprintf("the instants next to some of today: %s in %s, a rule whose start is %d years back", rule.about, zone, years),
		peers: calendars,
		run: func(_ context.Context, r *testbed, p peer) ([]figure, error) {
			start, today, err := startOf(zone, years)
			if err != nil {
				return nil, err
			}
			asked, err := rule.open(p.library, start)
			if err != nil {
				return nil, err
			}
			if err := rule.agrees(p.library, asked, start, today); err != nil {
				return nil, err
			}
			took, allocations := fastest(asked.next, today, nextFor(r.sizes))
			figures := []figure{
				{name: "next", unit: "ns", value: took, less: true},
				{name: "next, allocations", value: allocations, less: true},
			}
			if asked.prev != nil {
				took, allocations := fastest(asked.prev, today, nextFor(r.sizes))
				figures = append(figures, figure{name: "previous", unit: "ns", value: took, less: true},
					figure{name: "previous, allocations", value: allocations, less: true})
			}
			return figures, nil
		},
	}
}

// endedMeasure uses a new series for each call, because a series caches its answers.
func endedMeasure(rule calendarRule, zone string) measure {
	return measure{
		name:  fmt.Sprintf("calendar ended %s %s", rule.name, path.Base(zone)),
		group: "calendar",
		slow:  true,
		about: fmt.Sprintf("the first answer that nothing comes, and what the rule takes to compile: %s in %s, a rule whose start is %d years back", rule.about, zone, yearsBack),
		peers: []peer{chimePeer},
		run: func(context.Context, *testbed, peer) ([]figure, error) {
			start, today, err := startOf(zone, yearsBack)
			if err != nil {
				return nil, err
			}
			var compiled, first []time.Duration
			for range 101 {
				began := time.Now()
				series, err := rule.series(start)
				if err != nil {
					return nil, err
				}
				asked := time.Now()
				next, some := series.Next(today)
				if some {
					return nil, fmt.Errorf("%s: there is a run at %v", rule.about, next)
				}
				first, compiled = append(first, time.Since(asked)), append(compiled, asked.Sub(began))
			}
			slices.Sort(compiled)
			slices.Sort(first)
			return []figure{
				{name: "first answer", unit: "µs", value: first[len(first)/2].Seconds() * 1e6, less: true},
				{name: "compile", unit: "ms", value: compiled[len(compiled)/2].Seconds() * 1e3, less: true},
			}, nil
		},
	}
}

// everyTwelfthWorkday returns n instants at 09:00, on every twelfth day from Monday to Friday from the beginning of 2024 on.
func everyTwelfthWorkday(n int) []time.Time {
	var all []time.Time
	at, passed := time.Date(2024, time.January, 1, 9, 0, 0, 0, time.UTC), 0
	for ; len(all) < n; at = at.AddDate(0, 0, 1) {
		if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
			continue
		}
		if passed++; passed%12 == 0 {
			all = append(all, at)
		}
	}
	return all
}

// texts returns the dates of instants in the form of a filter.
func texts(instants []time.Time) []string {
	all := make([]string, len(instants))
	for i, at := range instants {
		all[i] = at.Format(time.DateOnly)
	}
	return all
}
