package chime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// Delete a schedule and its waiting jobs: retries, manual runs and dead jobs.
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

// Resume a schedule that was created paused.
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

// Find the next runs of all schedules.
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

// Change the rule of a schedule, and keep the settings of its jobs.
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

// Run a new report also for the days of last June.
func ExampleSchedules_Backfill() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	schedules := chime.NewSchedules(server.Store())
	if _, err := schedules.Put(ctx, "report", recurrence.Recurrence{Cron: "0 3 * * *"}); err != nil {
		fmt.Println(err)
	}
	first, last := make(chan time.Time), make(chan time.Time)
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{})
	worker.Handle("report", func(_ context.Context, job *chime.Job) error {
		switch job.Planned.Format("01-02") {
		case "06-01":
			first <- job.Planned
		case "06-30":
			last <- job.Planned
		}
		return nil
	})
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(ctx) }()

	from, to := time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 7, 1, 0, 0, 0, 0, time.UTC)
	for !from.IsZero() {
		filled, err := schedules.Backfill(ctx, "report", from, to)
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(filled.Placed, "days")
		from = filled.Next
	}
	fmt.Println("from", <-first, "to", <-last)
	stop()
	<-ran
	// Output:
	// 30 days
	// from 2024-06-01 03:00:00 +0000 UTC to 2024-06-30 03:00:00 +0000 UTC
}

// Show a calendar of the last five weeks, as far as they are known: a square for each day, the darker the more attempts failed.
func ExampleSchedules_Days() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	schedules := chime.NewSchedules(server.Store())
	if _, err := schedules.Put(ctx, "report", recurrence.Recurrence{Cron: "0 3 * * *"}); err != nil {
		fmt.Println(err)
	}
	days, err := schedules.Days(ctx, "report")
	if err != nil {
		fmt.Println(err)
	}
	for _, day := range days {
		fmt.Printf("%s: %d done, %d failed, %d skipped, %d missed\n", day.Day.Format("2 Jan"), day.Done, day.Failed, day.Skipped, day.Missed)
	}
	fmt.Println(len(days), "days are known of a schedule that has not run yet")
	// Output: 0 days are known of a schedule that has not run yet
}

// If the target of an export is gone, the export must not fail every night until somebody notices it. After the first dead occurrence the
// schedule is paused, and its note has the reason. Resume it after you have repaired the target.
func ExamplePauseAfter() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
	tried := make(chan bool, 1)
	worker.Handle("export", func(context.Context, *chime.Job) error {
		tried <- true
		return chime.Discard(errors.New("no such bucket"))
	})
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(ctx) }()
	schedules := chime.NewSchedules(server.Store())
	if _, err := schedules.Put(ctx, "export", recurrence.Recurrence{Frequency: recurrence.Day, Interval: 1}, chime.PauseAfter(1)); err != nil { // runs once when created
		fmt.Println(err)
	}
	<-tried
	stop()
	<-ran

	export, err := schedules.Get(context.Background(), "export")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s by %s: %s\n", export.State, export.Note.By, export.Note.Text)
	if err := schedules.Resume(context.Background(), "export"); err != nil {
		fmt.Println(err)
	}
	// Output: paused by chime: 1 occurrence ended dead
}

// Why were no invoices sent since yesterday? The runs show the result of each occurrence: it failed, was missed while no worker ran, or was
// skipped because the one before still ran. If there are no runs, the schedule was paused, see Schedule.Note, or no occurrence was due.
func ExampleSchedules_Runs() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
	tried := make(chan bool, 1)
	worker.Handle("invoices", func(context.Context, *chime.Job) error {
		tried <- true
		return chime.Discard(errors.New("mail server: no such user"))
	})
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(ctx) }()
	schedules := chime.NewSchedules(server.Store())
	if _, err := schedules.Put(ctx, "invoices", recurrence.Recurrence{Frequency: recurrence.Day, Interval: 1}); err != nil { // runs once when created
		fmt.Println(err)
	}
	<-tried
	stop()
	<-ran

	yesterday := time.Now().AddDate(0, 0, -1)
	for run, err := range schedules.Runs(context.Background(), "invoices") {
		if err != nil {
			fmt.Println(err)
			break
		}
		if run.Planned.Before(yesterday) {
			break // the newest come first
		}
		fmt.Printf("attempt %d: %s: %s\n", run.Attempt, run.Outcome, run.Error)
	}
	// Output: attempt 1: dead: mail server: no such user
}

// Run the nightly report now, for one customer, and wait for it.
func ExampleSchedules_Trigger() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	schedules := chime.NewSchedules(server.Store())
	if _, err := schedules.Put(ctx, "report", recurrence.Recurrence{Cron: "0 3 * * *"}, chime.Args("everybody")); err != nil {
		fmt.Println(err)
	}
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{})
	worker.Handle("report", func(_ context.Context, job *chime.Job) error {
		var whose string
		if err := job.Decode(&whose); err != nil {
			return err
		}
		return job.Return("the report of " + whose + ", for " + job.Header["by"])
	})
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(ctx) }()

	receipt, err := schedules.Trigger(ctx, "report", chime.Args("Ada"), chime.Header("by", "anna"), chime.Keep(time.Hour))
	if err != nil {
		fmt.Println(err)
	}
	var made string
	err = chime.NewJobs(server.Store()).Wait(ctx, receipt.Queue, receipt.ID, &made)
	fmt.Println(made, err)
	stop()
	<-ran
	// Output: the report of Ada, for anna <nil>
}
