package chime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// Somebody waits for what a job returns. With Keep it does not matter whether the job ends before he asks.
func ExampleJobs_Wait() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
	worker.Handle("quote", func(_ context.Context, job *chime.Job) error {
		var kilometres int
		if err := job.Decode(&kilometres); err != nil {
			return err
		}
		return job.Return(250 + 90*kilometres)
	})
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(ctx) }()

	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	receipt, err := enqueuer.Enqueue(ctx, "quote", 12, chime.Keep(time.Minute))
	if err != nil {
		fmt.Println(err)
	}
	var cents int
	if err := chime.NewJobs(server.Store()).Wait(ctx, receipt.Queue, receipt.ID, &cents); err != nil {
		fmt.Println(err)
	}
	fmt.Println(cents, "cents")
	stop()
	<-ran
	// Output: 1330 cents
}

// A handler says how far it is, and whoever looks at the job sees that while it runs.
func ExampleJob_Progress() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
	seen := make(chan bool)
	worker.Handle("export", func(_ context.Context, job *chime.Job) error {
		if err := job.Progress(40); err != nil { // percent
			return err
		}
		<-seen
		return nil
	})
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(ctx) }()
	if _, err := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{}).Enqueue(ctx, "export", nil, chime.ID("export:7")); err != nil {
		fmt.Println(err)
	}

	jobs, percent := chime.NewJobs(server.Store()), 0
	for percent == 0 { // a page that shows it would ask once a second
		job, err := jobs.Get(ctx, "default", "export:7")
		if err == nil {
			err = chime.Decode(job.Progress, &percent) // empty before the first: percent stays 0
		}
		if err != nil {
			fmt.Println(err)
			break
		}
	}
	fmt.Println(percent, "percent")
	close(seen)
	stop()
	<-ran
	// Output: 40 percent
}

// A payment that is given up alerts somebody: the job for that is added in the same step, and is told what died.
func ExampleOnDeath() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
	worker.Handle("pay", func(context.Context, *chime.Job) error { return chime.Discard(errors.New("the card is blocked")) })
	alerted := make(chan bool)
	worker.Handle("alert", func(_ context.Context, job *chime.Job) error {
		var channel string
		if err := job.Decode(&channel); err != nil {
			return err
		}
		fmt.Printf("to %s: %s is dead: %s\n", channel, job.Death.ID, job.Death.LastError)
		close(alerted)
		return nil
	})
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(ctx) }()

	alert := chime.OnDeath(chime.Item{Name: "alert", Args: "#billing"})
	if _, err := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{}).Enqueue(ctx, "pay", nil, chime.ID("invoice:7"), alert); err != nil {
		fmt.Println(err)
	}
	<-alerted
	stop()
	<-ran
	// Output: to #billing: invoice:7 is dead: the card is blocked
}
