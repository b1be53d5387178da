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
