// Holidays declares a schedule for the last working day of each month in England, and prints when it runs. The bank holidays of the next five
// years come from github.com/rickar/cal.
//
// The list of holidays is part of the rule. The program builds it again at each start: after a new year it has one more year, which is a new
// definition of the schedule and takes effect at once. On other days it is the same, and nothing changes.
//
//	go run .
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"
	_ "time/tzdata" // Europe/London, also where the system has no time zones

	"github.com/rickar/cal/v2/gb"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// yearsAhead is the number of years in a list of holidays, including the current one.
const yearsAhead = 5

func main() {
	if err := run(context.Background(), os.Stdout, time.Now().Year()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, year int) error {
	server, err := embedded.Start()
	if err != nil {
		return err
	}
	defer server.Close()
	schedules := chime.NewSchedules(server.Store())
	holidays := bankHolidays(year, yearsAhead)
	if _, err := schedules.Put(ctx, "payroll", payday(holidays)); err != nil {
		return err
	}
	stored, err := schedules.Get(ctx, "payroll")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d bank holidays, from %s to %s\n", len(holidays), holidays[0], stored.DatesUntil.Format(time.DateOnly))
	times, err := schedules.Upcoming(ctx, "payroll", 12)
	if err != nil {
		return err
	}
	for _, at := range times {
		fmt.Fprintln(out, at.Format("Monday 2 January 2006 15:04 MST"))
	}
	return nil
}

// payday is the last working day of each month at six in the evening.
func payday(holidays []string) recurrence.Recurrence {
	return recurrence.Recurrence{
		StartTime: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), Frequency: recurrence.Month, Positions: []int{-1}, Hours: []int{18}, Minutes: []int{0}, TimeZone: "Europe/London",
		Except: []recurrence.Filter{{WeekDays: []time.Weekday{time.Saturday, time.Sunday}}, {Dates: holidays}},
	}
}

// bankHolidays returns the days on which the bank holidays of some years are observed, in the form of a filter.
func bankHolidays(first, years int) (dates []string) {
	for year := first; year < first+years; year++ {
		for _, holiday := range gb.Holidays {
			if _, observed := holiday.Calc(year); !observed.IsZero() {
				dates = append(dates, observed.Format(time.DateOnly))
			}
		}
	}
	slices.Sort(dates)
	return slices.Compact(dates)
}
