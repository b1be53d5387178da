package recurrence_test

import (
	"fmt"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

func ExampleParse() {
	rule, err := recurrence.Parse([]byte(`{
		"startTime": "2026-03-02T00:00:00Z",
		"frequency": "week",
		"schedule": {"weekDays": ["monday", "friday"], "hours": [10]}
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	series, err := rule.Series(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) // when it was created
	if err != nil {
		fmt.Println(err)
		return
	}
	next := time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
	for range 3 {
		next, _ = series.Next(next)
		fmt.Println(next.Format(time.RFC1123))
	}
	// Output:
	// Fri, 06 Mar 2026 10:00:00 UTC
	// Mon, 09 Mar 2026 10:00:00 UTC
	// Fri, 13 Mar 2026 10:00:00 UTC
}

// On 29 March 2026 the clocks in Berlin skip 02:30, so that day the job runs at 03:30.
func ExampleCron() {
	rule, err := recurrence.Cron("CRON_TZ=Europe/Berlin 30 2 * * *")
	if err != nil {
		fmt.Println(err)
		return
	}
	series, err := rule.Series(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		fmt.Println(err)
		return
	}
	next := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	for range 3 {
		next, _ = series.Next(next)
		fmt.Println(next)
	}
	// Output:
	// 2026-03-28 02:30:00 +0100 CET
	// 2026-03-29 03:30:00 +0200 CEST
	// 2026-03-30 02:30:00 +0200 CEST
}

// The last working day of the month, at 18:00. Prev searches backwards from an instant, Next forwards.
func ExampleSeries_Prev() {
	rule := recurrence.Recurrence{
		StartTime: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Frequency: recurrence.Month, Positions: []int{-1}, Hours: []int{18}, Minutes: []int{0},
		Except: []recurrence.Filter{{WeekDays: []time.Weekday{time.Saturday, time.Sunday}}, {Dates: []string{"12-25", "12-31"}}},
	}
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	series, err := rule.Series(now)
	if err != nil {
		fmt.Println(err)
		return
	}
	last, _ := series.Prev(now)
	next, _ := series.Next(now)
	fmt.Println("last:", last.Format(time.RFC1123))
	fmt.Println("next:", next.Format(time.RFC1123))
	// Output:
	// last: Mon, 30 Nov 2026 18:00:00 UTC
	// next: Wed, 30 Dec 2026 18:00:00 UTC
}

func ExampleFromRRule() {
	rule, err := recurrence.FromRRule("DTSTART;TZID=Europe/Berlin:20260105T090000\n" +
		"RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH\n" +
		"EXDATE;TZID=Europe/Berlin:20260119T090000")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rule)

	_, err = recurrence.FromRRule("DTSTART:20260105T090000Z\nRRULE:FREQ=YEARLY;BYWEEKNO=20")
	fmt.Println(err)
	// Output:
	// Every 2 weeks on Monday and Thursday at 09:00 Europe/Berlin time, starting on 5 January 2026; not on 19 January 2026 at 09:00:00
	// recurrence: BYWEEKNO has no counterpart here: write positions of days, or dates in only, got "BYWEEKNO=20" (no_recurrence)
}

func ExampleFromQuartz() {
	rule, err := recurrence.FromQuartz("0 15 10 LW * ?")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rule)
	// Output:
	// Every month on the last open day at 10:15 UTC; not on Saturday and Sunday
}

func ExampleFromSpring() {
	rule, err := recurrence.FromSpring("*/10 * 9-17 * * MON-FRI")
	if err != nil {
		fmt.Println(err)
		return
	}
	rule.TimeZone = "Asia/Tokyo"
	fmt.Println(rule)
	// Output:
	// Every week on Monday to Friday, every minute from 09:00 to 17:59 Asia/Tokyo time, every 10 seconds of the minute
}
