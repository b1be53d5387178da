package chime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A form that is sent twice sends one mail, also when the first one has been sent by then.
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

// Equal arguments are one job: nobody has to think of an ID.
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

// A document that is saved again and again is indexed once, ten seconds after the last time.
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
