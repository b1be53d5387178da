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

// Find a job and its state. It may have ended since: a job that is done is not found.
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
			fmt.Println(err) // an error of the store: the list ends here
			return
		}
		if err != nil {
			fmt.Println(job.ID, err) // this program cannot read the job; the list continues
		}
		n++
	}
	fmt.Println(n, "exports are delayed")
	// Output: 2 exports are delayed
}

// Read one page at a time, for a web page with a link to the next one.
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

// List the live workers and their jobs. Here no worker runs; in production the store is one of redisstore.New.
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

// A user cancels a job: a waiting job never starts.
func ExampleJobs_Cancel() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	if _, err := enqueuer.Enqueue(ctx, "export", "customer 7", chime.ID("export:7"), chime.In(time.Hour)); err != nil {
		fmt.Println(err)
	}

	result, err := chime.NewJobs(server.Store()).Cancel(ctx, "default", "export:7")
	if err != nil {
		fmt.Println(err)
	}
	switch result {
	case chime.CancelDone:
		fmt.Println("it never starts")
	case chime.CancelAsked:
		fmt.Println("it runs, and was asked to end")
	case chime.CancelTooLate:
		fmt.Println("it has ended")
	}
	// Output: it never starts
}

// Run all delayed jobs now.
func ExampleJobs_Requeue() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	for n := range 3 {
		if _, err := enqueuer.Enqueue(ctx, "mail", n, chime.In(time.Hour)); err != nil {
			fmt.Println(err)
		}
	}

	all, err := chime.NewJobs(server.Store()).Requeue(ctx, chime.JobFilter{Queue: "default", State: chime.JobDelayed, Name: "mail"},
		func(so chime.BulkResult) { fmt.Println(so.Changed, "of", so.Looked) })
	fmt.Println(all.Changed, "requeued,", all.Gone, "gone", err)
	// Output:
	// 3 of 3
	// 3 requeued, 0 gone <nil>
}

// Delete the waiting jobs of a customer who has left. Nobody is notified, and nothing is kept of them.
func ExampleJobs_Delete() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	for _, id := range []string{"mail:7", "export:7"} {
		if _, err := enqueuer.Enqueue(ctx, "work", nil, chime.ID(id), chime.In(time.Hour)); err != nil {
			fmt.Println(err)
		}
	}

	all, err := chime.NewJobs(server.Store()).Delete(ctx, chime.JobFilter{Queue: "default", IDs: []string{"mail:7", "export:7", "report:7"}}, nil)
	fmt.Println(all.Changed, "deleted", err)
	// Output: 2 deleted <nil>
}

// Wait for the result of a job. With Keep, the job may end before or after the call of Wait.
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

// A handler reports its progress, and everybody who reads the job can see it while the job runs.
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
	for percent == 0 { // a page that shows it would poll once a second
		job, err := jobs.Get(ctx, "default", "export:7")
		if err == nil {
			err = chime.Decode(job.Progress, &percent) // empty before the first report: percent remains 0
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

// A chain: when the picture is resized, publish it; when it is published, notify its owner. Each job gets the job before it, with what that returned.
func ExampleOnDone() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
	worker.Handle("resize", func(_ context.Context, job *chime.Job) error { return job.Return("small.png") })
	worker.Handle("publish", func(_ context.Context, job *chime.Job) error {
		var file string
		if err := chime.Decode(job.Prior.Result, &file); err != nil {
			return err
		}
		return job.Return("https://cdn.example.com/" + file)
	})
	notified := make(chan bool)
	worker.Handle("notify", func(_ context.Context, job *chime.Job) error {
		var owner, address string
		if err := errors.Join(job.Decode(&owner), chime.Decode(job.Prior.Result, &address)); err != nil {
			return err
		}
		fmt.Printf("to %s: %s\n", owner, address)
		close(notified)
		return nil
	})
	ran := make(chan error, 1)
	go func() { ran <- worker.Run(ctx) }()

	notify := chime.Item{Name: "notify", Args: "ada"}
	publish := chime.Item{Name: "publish", Options: []chime.EnqueueOption{chime.OnDone(notify)}}
	if _, err := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{}).Enqueue(ctx, "resize", "big.png", chime.OnDone(publish)); err != nil {
		fmt.Println(err)
	}
	<-notified
	stop()
	<-ran
	// Output: to ada: https://cdn.example.com/small.png
}

// When a payment is dead, send an alert: its job is added in the same step, and gets the dead job.
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

// A form that is sent twice sends one mail, even if the first mail was already sent.
func ExampleOnce() {
	server := embedded.StartInMemory()
	defer server.Close()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	for range 2 {
		receipt, err := enqueuer.Enqueue(context.Background(), "welcome", "ada@example.com", chime.ID("welcome:7"), chime.Once(24*time.Hour))
		if err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%s: existing %v, state %q\n", receipt.ID, receipt.Existing, receipt.State)
	}
	// Output:
	// welcome:7: existing false, state ""
	// welcome:7: existing true, state "waiting"
}

// Equal arguments are one job, without an ID of your own.
func ExampleArgsID() {
	server := embedded.StartInMemory()
	defer server.Close()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	for _, customer := range []int{7, 7, 8} {
		receipt, err := enqueuer.Enqueue(context.Background(), "export", customer, chime.ArgsID())
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println(customer, receipt.Existing)
	}
	// Output:
	// 7 false
	// 7 true
	// 8 false
}

// A document that is saved repeatedly is indexed once, ten seconds after the last time.
func ExampleReplace() {
	server := embedded.StartInMemory()
	defer server.Close()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	for version := range 3 {
		receipt, err := enqueuer.Enqueue(context.Background(), "index", version, chime.ID("index:7"), chime.Replace(), chime.In(10*time.Second))
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println("in place of an earlier one:", receipt.Replaced)
	}
	job, err := chime.NewJobs(server.Store()).Get(context.Background(), "default", "index:7")
	if err != nil {
		fmt.Println(err)
	}
	var version int
	if err := job.Decode(&version); err != nil {
		fmt.Println(err)
	}
	fmt.Println(job.State, "version", version)
	// Output:
	// in place of an earlier one: false
	// in place of an earlier one: true
	// in place of an earlier one: true
	// delayed version 2
}

// An import: a job for each line, and a summary when all of them are done.
func ExampleEnqueuer_EnqueueBatch() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	store := server.Store()
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
	worker.Handle("line", func(context.Context, *chime.Job) error { return nil })
	worker.Handle("summary", func(_ context.Context, job *chime.Job) error {
		fmt.Println(job.BatchInfo.Done, "lines of", job.BatchInfo.ID, "are imported")
		stop()
		return nil
	})

	lines := []string{"anna,7", "ben,3", "cleo,5"}
	_, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).EnqueueBatch(ctx, chime.Batch{
		ID: "may.csv",
		Items: func(yield func(chime.Item, error) bool) {
			for _, line := range lines {
				if !yield(chime.Item{Name: "line", Args: line}, nil) {
					return
				}
			}
		},
		Done: chime.Item{Name: "summary"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := chime.Run(ctx, worker); err != nil {
		fmt.Println(err)
	}
	// Output: 3 lines of may.csv are imported
}

// A handler adds members to the batch of its job: here a folder adds its files.
func ExampleInBatch() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	store := server.Store()
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: slog.New(slog.DiscardHandler)})
	worker.Handle("folder", func(ctx context.Context, job *chime.Job) error {
		_, err := enqueuer.EnqueueMany(ctx, []chime.Item{
			{Name: "file", Args: "a.txt", Options: []chime.EnqueueOption{chime.InBatch(job), chime.ID(job.ID + "/a.txt")}},
			{Name: "file", Args: "b.txt", Options: []chime.EnqueueOption{chime.InBatch(job), chime.ID(job.ID + "/b.txt")}},
		})
		return err
	})
	worker.Handle("file", func(context.Context, *chime.Job) error { return nil })
	worker.Handle("report", func(_ context.Context, job *chime.Job) error {
		fmt.Println(job.BatchInfo.Total, "members are done")
		stop()
		return nil
	})

	_, err := enqueuer.EnqueueBatch(ctx, chime.Batch{
		ID:    "backup",
		Items: func(yield func(chime.Item, error) bool) { yield(chime.Item{Name: "folder", Args: "home"}, nil) },
		Done:  chime.Item{Name: "report"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := chime.Run(ctx, worker); err != nil {
		fmt.Println(err)
	}
	// Output: 3 members are done
}

// How far a batch is, and how to stop it.
func ExampleBatches_Cancel() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	store := server.Store()
	_, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).EnqueueBatch(ctx, chime.Batch{ID: "letters", Items: func(yield func(chime.Item, error) bool) {
		for n := range 10 {
			if !yield(chime.Item{Name: "letter", Args: n, Options: []chime.EnqueueOption{chime.In(time.Hour)}}, nil) {
				return
			}
		}
	}})
	if err != nil {
		fmt.Println(err)
		return
	}

	batches := chime.NewBatches(store)
	batch, err := batches.Get(ctx, "letters")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(batch.State, batch.Left, "of", batch.Total, "left")
	if batch, err = batches.Cancel(ctx, "letters"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(batch.State)
	// Output:
	// running 10 of 10 left
	// cancelled
}
