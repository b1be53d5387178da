package chime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A mistake has filled a queue: all that is on it goes.
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
