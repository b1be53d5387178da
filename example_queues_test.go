package chime_test

import (
	"context"
	"errors"
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

type ExportArgs struct{ Tenant, File string }

// Each export belongs to the group of its tenant, so that nobody forgets it.
var Export = chime.Define[ExportArgs]("export", chime.Queue("exports"), chime.GroupBy(func(args ExportArgs) string { return args.Tenant }))

// One tenant has enqueued three exports, then another one enqueues one: a single worker takes turns.
func ExampleGroup() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	for _, job := range []struct{ tenant, file string }{{"big", "a.csv"}, {"big", "b.csv"}, {"big", "c.csv"}, {"small", "d.csv"}} {
		if _, err := enqueuer.Enqueue(ctx, "export", job.file, chime.Group(job.tenant)); err != nil {
			log.Fatal(err)
		}
	}

	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Concurrency: 1})
	left := 4
	worker.Handle("export", func(_ context.Context, job *chime.Job) error {
		fmt.Println(job.Group)
		if left--; left == 0 {
			stop()
		}
		return nil
	})
	if err := worker.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// big
	// small
	// big
	// big
}

// The group of each job is made of its arguments.
func ExampleGroupBy() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	receipt, err := Export.Enqueue(ctx, enqueuer, ExportArgs{Tenant: "tenant-42", File: "a.csv"})
	if err != nil {
		log.Fatal(err)
	}

	job, err := Export.Get(ctx, chime.NewJobs(server.Store()), receipt.ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Group)
	// Output: tenant-42
}

// A third party allows each account two calls at once, and one customer has bought more.
func ExampleQueues_SetGroups() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, queues := context.Background(), chime.NewQueues(server.Store())
	if err := queues.SetGroups(ctx, "exports", chime.GroupRule{Running: 2, Starts: 100, Per: time.Minute}); err != nil {
		log.Fatal(err)
	}
	if err := queues.SetGroup(ctx, "exports", "tenant-42", chime.GroupRule{Weight: 5, Running: 10}); err != nil {
		log.Fatal(err)
	}

	for group, err := range queues.Groups(ctx, "exports", chime.GroupFilter{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d at once, %d per %v\n", group.Key, group.Effective.Running, group.Effective.Starts, group.Effective.Per)
	}
	// Output: tenant-42: 10 at once, 100 per 1m0s
}

// One customer gets five times the share of another one.
func ExampleQueues_SetGroup() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, queues := context.Background(), chime.NewQueues(server.Store())
	err := queues.SetGroup(ctx, "exports", "tenant-42", chime.GroupRule{Weight: 5})
	fmt.Println(errors.Is(err, chime.ErrNotFound)) // the queue has to exist: a worker or an enqueuer has used it

	if _, err := Export.Enqueue(ctx, chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{}), ExportArgs{Tenant: "tenant-42"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(queues.SetGroup(ctx, "exports", "tenant-42", chime.GroupRule{Weight: 5}))
	// Output:
	// true
	// <nil>
}

// A customer's system is down: its jobs wait, and those of the others run.
func ExampleQueues_PauseGroup() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, queues := context.Background(), chime.NewQueues(server.Store())
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Queue: "webhooks"})
	for _, endpoint := range []string{"example.com", "example.org"} {
		if _, err := enqueuer.Enqueue(ctx, "deliver", nil, chime.Group(endpoint)); err != nil {
			log.Fatal(err)
		}
	}

	if err := queues.PauseGroup(ctx, "webhooks", "example.org", chime.Note{Text: "they have an incident", By: "anna"}); err != nil {
		log.Fatal(err)
	}
	for group, err := range queues.Groups(ctx, "webhooks", chime.GroupFilter{Paused: true}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %d waiting, paused by %s: %s\n", group.Key, group.Waiting, group.Note.By, group.Note.Text)
	}
	fmt.Println(queues.ResumeGroup(ctx, "webhooks", "example.org"))
	// Output:
	// example.org: 1 waiting, paused by anna: they have an incident
	// <nil>
}

// Webhooks of one endpoint are delivered in the order in which they were enqueued.
func ExampleGroupRule() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	if err := chime.NewQueues(server.Store()).SetGroups(ctx, "webhooks", chime.GroupRule{Ordered: chime.On, Waiting: 2}); err != nil {
		log.Fatal(err)
	}

	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Queue: "webhooks"})
	for n := range 3 {
		_, err := enqueuer.Enqueue(ctx, "deliver", n, chime.Group("example.com"))
		fmt.Println(errors.Is(err, chime.ErrGroupFull))
	}
	// Output:
	// false
	// false
	// true
}

// A customer has left: its jobs are deleted, and its rule too.
func ExampleQueues_PurgeGroup() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, queues := context.Background(), chime.NewQueues(server.Store())
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	for range 3 {
		if _, err := Export.Enqueue(ctx, enqueuer, ExportArgs{Tenant: "tenant-42"}); err != nil {
			log.Fatal(err)
		}
	}
	if err := queues.SetGroup(ctx, "exports", "tenant-42", chime.GroupRule{Weight: 5}); err != nil {
		log.Fatal(err)
	}

	purged, err := queues.PurgeGroup(ctx, "exports", "tenant-42", nil)
	fmt.Println(purged.Changed, "deleted", err, queues.ResetGroup(ctx, "exports", "tenant-42"))
	// Output: 3 deleted <nil> <nil>
}
