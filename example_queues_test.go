package chime_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// The mail provider has an incident: jobs wait until the queue is resumed.
func ExampleQueues_Pause() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, queues := context.Background(), chime.NewQueues(server.Store())
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Queue: "mail"})
	if _, err := enqueuer.Enqueue(ctx, "send", 1); err != nil {
		fmt.Println(err)
	}

	if err := queues.Pause(ctx, "mail", chime.Note{Text: "they have an incident", By: "anna"}); err != nil {
		fmt.Println(err)
	}
	if _, err := enqueuer.Enqueue(ctx, "send", 2); err != nil {
		fmt.Println(err)
	}
	mail, err := queues.Get(ctx, "mail")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d waiting, paused by %s: %s\n", mail.Waiting, mail.Note.By, mail.Note.Text)
	if err := queues.Resume(ctx, "mail"); err != nil {
		fmt.Println(err)
	}
	// Output: 2 waiting, paused by anna: they have an incident
}

// Count the waiting jobs of each queue.
func ExampleQueues_List() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	for _, queue := range []string{"mail", "exports", "mail"} {
		if _, err := enqueuer.Enqueue(ctx, "work", nil, chime.Queue(queue)); err != nil {
			fmt.Println(err)
		}
	}

	queues, err := chime.NewQueues(server.Store()).List(ctx)
	if err != nil {
		fmt.Println(err)
	}
	for _, queue := range queues {
		fmt.Println(queue.Name, queue.Waiting)
	}
	// Output:
	// exports 1
	// mail 2
}

// A mistake has filled a queue: delete all its jobs.
func ExampleQueues_Purge() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Queue: "mail"})
	for n := range 3 {
		if _, err := enqueuer.Enqueue(ctx, "send", n); err != nil {
			fmt.Println(err)
		}
	}
	if _, err := enqueuer.Enqueue(ctx, "send", 3, chime.In(time.Hour)); err != nil {
		fmt.Println(err)
	}

	all, err := chime.NewQueues(server.Store()).Purge(ctx, "mail", "mail", func(so chime.BulkResult) { fmt.Println(so.Changed, "deleted so far") })
	fmt.Println(all.Changed, "deleted", err)
	// Output:
	// 3 deleted so far
	// 4 deleted so far
	// 4 deleted <nil>
}

// Count the jobs of the last hour of a queue, and find how late the slowest hundredth of its occurrences began.
func ExampleQueues_Samples() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	if _, err := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{}).Enqueue(ctx, "resize", nil); err != nil {
		log.Fatal(err)
	}

	now := time.Now()
	samples, err := chime.NewQueues(server.Store()).Samples(ctx, "default", now.Add(-time.Hour), now, time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	var done int64
	var late chime.Histogram
	for _, s := range samples {
		done += s.Done
		late = late.Add(s.Lateness)
	}
	fmt.Printf("%d done, late p99 %v\n", done, late.Quantile(0.99))
	// Output: 0 done, late p99 0s
}

// A check for an operator or a nightly timer: it prints the damage of a store, and ends with an error if there is any.
func ExampleVerify() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	if _, err := enqueuer.Enqueue(ctx, "mail", nil, chime.ID("welcome/7")); err != nil {
		fmt.Println(err)
	}

	report, err := chime.Verify(ctx, server.Store(), chime.VerifyOptions{}) // Repair: true repairs
	if err != nil {
		fmt.Println(err)
	}
	for _, finding := range report.Findings {
		fmt.Println(finding)
	}
	fmt.Println(report.Jobs, "job read,", report.Total, "findings")
	if report.Total > report.Repaired {
		return // os.Exit(1)
	}
	// Output:
	// 1 job read, 0 findings
}
