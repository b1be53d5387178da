package recurrence_test

import (
	"flag"
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

	_, err = recurrence.FromRRule("DTSTART:20260105T090000Z\nRRULE:FREQ=YEARLY;BYEASTER=0")
	fmt.Println(err)
	// Output:
	// Every 2 weeks on Monday and Thursday at 09:00 Europe/Berlin time, starting on 5 January 2026; not on 19 January 2026 at 09:00:00
	// recurrence: BYEASTER has no counterpart here: it is not in RFC 5545: write frequency day with only: [{"dates": ["easter"]}], got "BYEASTER=0" (no_recurrence)
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

// The runs until July, and back to February.
func ExampleSeries_After() {
	rule := recurrence.MustParse(`{"startTime": "2026-01-01T09:00", "frequency": "month", "schedule": {"monthDays": -1}}`)
	now := time.Date(2026, 5, 15, 0, 0, 0, 0, time.UTC)
	series, err := rule.Series(now)
	if err != nil {
		fmt.Println(err)
		return
	}
	for run := range series.After(now) {
		fmt.Println(run.Format(time.RFC1123))
		if run.Month() == time.July {
			break
		}
	}
	fmt.Println("backward:")
	for run := range series.Backward(now) {
		fmt.Println(run.Format(time.RFC1123))
		if run.Month() == time.February {
			break
		}
	}
	// Output:
	// Sun, 31 May 2026 09:00:00 UTC
	// Tue, 30 Jun 2026 09:00:00 UTC
	// Fri, 31 Jul 2026 09:00:00 UTC
	// backward:
	// Thu, 30 Apr 2026 09:00:00 UTC
	// Tue, 31 Mar 2026 09:00:00 UTC
	// Sat, 28 Feb 2026 09:00:00 UTC
}

// Whether the shop is open at an instant: a rule of each minute between its hours.
func ExampleSeries_Matches() {
	hours := recurrence.MustParse(`{"cron": "* * * * *", "timeZone": "Europe/Berlin", "only": {"weekDays": ["monday", "saturday"], "times": "09:00/17:59"}}`)
	series, err := hours.Series(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, at := range []string{"2026-01-05T08:30:00Z", "2026-01-05T17:00:00Z"} {
		t, _ := time.Parse(time.RFC3339, at)
		fmt.Println(at, series.Matches(t.Truncate(time.Minute)))
	}
	// Output:
	// 2026-01-05T08:30:00Z true
	// 2026-01-05T17:00:00Z false
}

func ExampleRecurrence_NextN() {
	rule := recurrence.Recurrence{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"}
	runs, err := rule.NextN(time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC), 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, run := range runs {
		fmt.Println(run)
	}
	// Output:
	// 2026-03-28 02:30:00 +0100 CET
	// 2026-03-29 03:30:00 +0200 CEST
	// 2026-03-30 02:30:00 +0200 CEST
}

// A program with robfig/cron keeps its scheduler and takes its rules from this package: c.Schedule(series.Schedule(), job).
func ExampleSeries_Schedule() {
	rule := recurrence.MustParse(`{
		"startTime": "2026-01-01", "frequency": "month", "count": 2, "schedule": {"monthDays": 25, "hours": 9},
		"except": {"weekDays": ["saturday", "sunday"]}, "shift": "previous"
	}`)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	series, err := rule.Series(now)
	if err != nil {
		fmt.Println(err)
		return
	}
	schedule := series.Schedule()
	for next := schedule.Next(now); !next.IsZero(); next = schedule.Next(next) {
		fmt.Println(next.Format(time.RFC1123))
	}
	// Output:
	// Fri, 23 Jan 2026 09:00:00 UTC
	// Wed, 25 Feb 2026 09:00:00 UTC
}

// A column of database/sql: with a database, Value and Scan are called by its Exec and Scan.
func ExampleRecurrence_Value() {
	rule := recurrence.Recurrence{Frequency: recurrence.Week, WeekDays: []time.Weekday{time.Friday}, Hours: []int{9}, Minutes: []int{0}}
	stored, err := rule.Value() // db.Exec("INSERT INTO reports (rule) VALUES ($1)", rule)
	fmt.Println(stored, err)

	var read recurrence.Recurrence
	err = read.Scan(stored) // rows.Scan(&read)
	fmt.Println(read.Equal(rule), err)
	// Output:
	// {"frequency":"week","schedule":{"minutes":[0],"hours":[9],"weekDays":["friday"]}} <nil>
	// true <nil>
}

func ExampleRecurrence_Set() {
	rule := recurrence.Recurrence{Cron: "0 3 * * *"} // the default
	flags := flag.NewFlagSet("backup", flag.ContinueOnError)
	flags.Var(&rule, "at", "when the backup runs, as `JSON or cron text`")
	if err := flags.Parse([]string{"-at", "CRON_TZ=Europe/Berlin 30 2 * * 1-5"}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rule)
	// Output:
	// Every week on Monday to Friday at 02:30 Europe/Berlin time (cron "30 2 * * 1-5")
}
