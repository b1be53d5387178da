package chime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// The nightly report is wanted now, for one customer; whoever asked for it waits.
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
