package chime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A report that is new is made for the days of last June too.
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
