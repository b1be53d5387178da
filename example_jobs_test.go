package chime_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// Where is the job? It may have ended since: a job that ended well is not found.
func ExampleJobs_Get() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	if _, err := enqueuer.Enqueue(ctx, "export", "customer 7", chime.ID("export:7"), chime.In(time.Hour)); err != nil {
		fmt.Println(err)
	}

	jobs := chime.NewJobs(server.Store())
	job, err := jobs.Get(ctx, "default", "export:7")
	if err != nil {
		fmt.Println(err)
		return
	}
	var args string
	if err := job.Decode(&args); err != nil {
		fmt.Println(err)
	}
	fmt.Println(job.Name, "of", args, "is", job.State, "and due in an hour:", job.Due.Sub(job.Enqueued).Round(time.Second) == time.Hour)

	_, err = jobs.Get(ctx, "default", "export:8")
	fmt.Println("another one is not found:", errors.Is(err, chime.ErrNotFound))
	// Output:
	// export of customer 7 is delayed and due in an hour: true
	// another one is not found: true
}

// All delayed jobs of one name, however many there are on the queue.
func ExampleJobs_List() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	for _, name := range []string{"export", "mail", "export"} {
		if _, err := enqueuer.Enqueue(ctx, name, nil, chime.In(time.Hour)); err != nil {
			fmt.Println(err)
		}
	}

	n := 0
	for job, err := range chime.NewJobs(server.Store()).List(ctx, chime.JobFilter{Queue: "default", State: chime.JobDelayed, Name: "export"}) {
		if job == nil {
			fmt.Println(err) // of the store: the list ends here
			return
		}
		if err != nil {
			fmt.Println(job.ID, err) // this program cannot read the job; the list goes on
		}
		n++
	}
	fmt.Println(n, "exports are delayed")
	// Output: 2 exports are delayed
}

// A page at a time, for a web page with a link to the next one.
func ExampleJobs_Page() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	for i := range 5 {
		if _, err := enqueuer.Enqueue(ctx, "mail", nil, chime.ID(fmt.Sprint("mail", i))); err != nil {
			fmt.Println(err)
		}
	}

	jobs := chime.NewJobs(server.Store())
	filter := chime.JobFilter{Queue: "default", State: chime.JobWaiting, Limit: 2}
	for {
		page, err := jobs.Page(ctx, filter)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, job := range page.Jobs {
			fmt.Print(job.ID, " ")
		}
		if filter.After = page.Next; page.Next == "" {
			break
		}
		fmt.Println("and more")
	}
	// Output:
	// mail0 mail1 and more
	// mail2 mail3 and more
	// mail4
}

// Who works on what. Here nobody does; in a program for production the store is one of redisstore.New.
func ExampleWorkers_List() {
	server := embedded.StartInMemory()
	defer server.Close()

	workers, err := chime.NewWorkers(server.Store()).List(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range workers {
		fmt.Println(w.Name, w.Host, w.PID, w.Version, "runs", w.Busy, "of", w.Slots)
		for _, job := range w.Running {
			fmt.Println("\t", job.Name, job.ID, "since", job.Started)
		}
	}
	fmt.Println(len(workers), "workers live")
	// Output: 0 workers live
}
