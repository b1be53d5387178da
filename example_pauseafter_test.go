package chime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// An export whose target is gone does not fail every night until somebody sees it: after the first occurrence that ends dead the schedule is
// paused, and its note says why. Whoever has put the target right resumes it.
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
