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
