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

// Why did the invoices not go out since yesterday? Their runs say what became of each occurrence: it failed, was missed while no worker ran,
// or was skipped because the one before still ran. If there is none, the schedule was paused, see Schedule.Note, or had none to come.
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
