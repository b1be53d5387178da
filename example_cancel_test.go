package chime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A user changes his mind: what waits never starts.
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
		fmt.Println("it runs, and was told to end")
	case chime.CancelTooLate:
		fmt.Println("it has ended")
	}
	// Output: it never starts
}

// Everything that was to run later runs now.
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
	fmt.Println(all.Changed, "requeued,", all.Gone, "had gone", err)
	// Output:
	// 3 of 3
	// 3 requeued, 0 had gone <nil>
}

// What waits for a customer who has left is deleted. It is not told to anybody, and nothing is kept of it.
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
