package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// The flood: acme enqueues many messages at once, and the other tenants a few, while acme's are being sent.
const (
	flooded   = 200
	sendTime  = 100 * time.Millisecond
	sendSlots = 5
)

var later = []struct {
	tenant string
	after  time.Duration // after the one before
	n      int
}{{"beta", 1030 * time.Millisecond, 2}, {"gamma", 500 * time.Millisecond, 3}, {"beta", 500 * time.Millisecond, 1}} // never when a slot becomes free

// flood sends the same messages twice, first without groups and then with each tenant as a group, and prints how long the messages waited.
func flood(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "acme enqueues %d messages at once, beta and gamma a few. %d are sent at once, and each takes %v.\n", flooded, sendSlots, sendTime)
	for _, groups := range []bool{false, true} {
		if groups {
			fmt.Fprintln(out, "\nEach tenant is a group:")
		} else {
			fmt.Fprintln(out, "\nWithout groups:")
		}
		waited, err := floodOnce(ctx, groups)
		if err != nil {
			return err
		}
		for _, tenant := range []string{"acme", "beta", "gamma"} {
			w := waited[tenant]
			fmt.Fprintf(out, "  %-6s %3d sent, the longest wait was %v\n", tenant, w.sent, w.longest.Round(sendTime))
		}
	}
	return nil
}

// A wait is how long the messages of a tenant have waited.
type wait struct {
	sent    int
	longest time.Duration
}

// floodOnce enqueues the messages, and returns when all are sent.
func floodOnce(ctx context.Context, groups bool) (map[string]wait, error) {
	server := embedded.StartInMemory()
	defer func() { _ = server.Close() }()
	store, quiet := server.Store(), slog.New(slog.DiscardHandler)
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Queue: messages})
	enqueue := func(tenant string, n int) error {
		m := message{Tenant: tenant, Text: time.Now().Format(time.RFC3339Nano)}
		item := chime.Item{Name: deliver.Name(), Args: m}
		if groups {
			item = deliver.Item(m)
		}
		items := slices.Repeat([]chime.Item{item}, n)
		_, err := enqueuer.EnqueueMany(ctx, items)
		return err
	}
	var mu sync.Mutex
	waited, left, done := map[string]wait{}, flooded, make(chan struct{})
	for _, l := range later {
		left += l.n
	}
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: quiet, Queues: map[string]int{messages: 1}, Concurrency: sendSlots})
	deliver.Handle(worker, func(_ context.Context, _ *chime.Job, m message) error {
		enqueued, err := time.Parse(time.RFC3339Nano, m.Text)
		if err != nil {
			return err
		}
		waits := time.Since(enqueued)
		time.Sleep(sendTime)
		mu.Lock()
		defer mu.Unlock()
		w := waited[m.Tenant]
		waited[m.Tenant] = wait{w.sent + 1, max(w.longest, waits)}
		if left--; left == 0 {
			close(done)
		}
		return nil
	})
	if err := enqueue("acme", flooded); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(running) }()
	for _, l := range later {
		time.Sleep(l.after)
		if err := enqueue(l.tenant, l.n); err != nil {
			stop()
			<-ended
			return nil, err
		}
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
	stop()
	return waited, <-ended
}
