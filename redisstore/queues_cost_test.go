package redisstore

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A page of a screen, which is refreshed every two seconds, costs few commands for each queue: none for data that do not exist.
func TestCountingQueuesAndWhatComesNextCostsFewCommandsAQueue(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const queues = 20
		var names []string
		for i := range queues {
			name := fmt.Sprintf("q%02d", i)
			names = append(names, name)
			if _, err := b.store.Partitions(b.Context(), name); err != nil {
				b.Fatal(err)
			}
		}
		sent := 0
		counting := b.hooked(func(redis.Cmder) error { sent++; return nil })
		for range 2 { // for the first call the server does not have the scripts
			sent = 0
			if _, err := counting.QueueStats(b.Context(), names); err != nil {
				b.Fatal(err)
			}
		}
		if most := queues + 10; sent > most { // the registry, the time, the beginning of a connection
			b.Errorf("%d empty queues cost %d commands to count, want at most %d", queues, sent, most)
		}
		for range 2 {
			sent = 0
			if _, err := counting.Soonest(b.Context(), 20, nil); err != nil {
				b.Fatal(err)
			}
		}
		if most := queues + 10; sent > most {
			b.Errorf("%d queues without schedules cost %d commands to find the next occurrences, want at most %d", queues, sent, most)
		}
		sent = 0
		if _, err := counting.QueueStats(b.Context(), names); err != nil {
			b.Fatal(err)
		}
		without := sent
		for _, name := range names {
			partition := protocol.Partition{Queue: name}
			for g := range 30 {
				item := storesuite.Job(fmt.Sprint("job", g))
				item.Group = fmt.Sprint("group", g)
				call := protocol.EnqueueCall{Partition: partition, Caller: "c", Number: int64(g + 1), Items: []protocol.EnqueueItem{item}}
				if answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{call})[0]; answer.Err != nil {
					b.Fatal(answer.Err)
				}
			}
		}
		sent = 0
		stats, err := counting.QueueStats(b.Context(), names)
		if err != nil {
			b.Fatal(err)
		}
		if since := stats[0].FirstInLine; since.IsZero() || stats[0].Groups.MayStart != 30 {
			b.Errorf("counted %+v, the oldest since %v; want 30 groups, and an instant", stats[0].Groups, since)
		}
		if sent > without {
			b.Errorf("%d queues with groups cost %d commands more to count, want none", queues, sent-without)
		}
	})
}
