package chime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A schedule is deleted, and what waits of it: retries, manual runs and dead jobs.
func ExampleSchedules_Delete() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, schedules := context.Background(), chime.NewSchedules(server.Store())
	if _, err := schedules.Put(ctx, "report", recurrence.Recurrence{Cron: "@daily"}); err != nil {
		fmt.Println(err)
	}

	if err := schedules.Delete(ctx, "report", chime.DeleteWaiting()); err != nil {
		fmt.Println(err)
	}
	_, err := schedules.Get(ctx, "report")
	fmt.Println("gone:", errors.Is(err, chime.ErrNotFound))
	// Output: gone: true
}

// A schedule that was put as paused begins.
func ExampleSchedules_Resume() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, schedules := context.Background(), chime.NewSchedules(server.Store())
	rule := recurrence.Recurrence{Frequency: recurrence.Day, Interval: 1, StartTime: time.Date(2096, 1, 1, 9, 0, 0, 0, time.UTC)}
	if _, err := schedules.Put(ctx, "report", rule, chime.Paused(chime.Note{Text: "until the contract is signed", By: "anna"})); err != nil {
		fmt.Println(err)
	}

	if err := schedules.Resume(ctx, "report"); err != nil {
		fmt.Println(err)
	}
	report, err := schedules.Get(ctx, "report")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.State, "and next at", report.Next)
	// Output: live and next at 2096-01-01 09:00:00 +0000 UTC
}

// What runs next, of all schedules.
func ExampleSchedules_Soonest() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, schedules := context.Background(), chime.NewSchedules(server.Store())
	for day, name := range []string{"invoices", "backup", "report"} {
		rule := recurrence.Recurrence{StartTime: time.Date(2096, 1, 3-day, 9, 0, 0, 0, time.UTC)}
		if _, err := schedules.Put(ctx, name, rule); err != nil {
			fmt.Println(err)
		}
	}

	soonest, err := schedules.Soonest(ctx, 2)
	if err != nil {
		fmt.Println(err)
	}
	for _, s := range soonest {
		fmt.Println(s.Name, "on", s.Next.Format(time.DateOnly))
	}
	// Output:
	// report on 2096-01-01
	// backup on 2096-01-02
}

// A schedule gets another rule, and keeps all that was said of its jobs.
func ExampleSchedule_Options() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, schedules := context.Background(), chime.NewSchedules(server.Store())
	report, err := schedules.Put(ctx, "report", recurrence.Recurrence{Cron: "0 9 * * *"}, chime.Queue("late"), chime.Header("tenant", "c1"))
	if err != nil {
		fmt.Println(err)
		return
	}

	report, err = schedules.Put(ctx, "report", recurrence.Recurrence{Cron: "0 7 * * *"}, append(report.Options(), chime.IfRevision(report.Revision))...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Recurrence.Cron, report.Queue, report.Header)
	// Output: 0 7 * * * late map[tenant:c1]
}
