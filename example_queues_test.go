package chime_test

import (
	"context"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// The mail provider has an incident: what is enqueued waits until the queue is resumed.
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

// How much waits on each queue.
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
