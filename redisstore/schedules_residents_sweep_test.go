//go:build real

package redisstore

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// With any number of schedules in a partition, a call reads some of them, and the next one continues: the caller keeps a lease meanwhile.
func TestSweepingLooksForLostEntriesInBoundedCalls(t *testing.T) {
	b := onRedis(t)
	// a page has about a hundred schedules
	const schedules, mostCommands = 5000, 8 * residentPages
	for first := 0; first < schedules; first += 100 {
		var some []protocol.Declaration
		for i := first; i < first+100; i++ {
			some = append(some, protocol.Declaration{Name: fmt.Sprint("s", i), Queue: "default", Overlap: "skip", Body: []byte(`{"job":"j"}`)})
		}
		for _, a := range b.store.Declare(b.Context(), some) {
			if a.Err != nil {
				b.Fatal(a.Err)
			}
		}
	}
	b.client.Del(b.Context(), b.store.keys.registry())
	commands, calls := 0, 0
	hooked := b.hooked(func(cmd redis.Cmder) error {
		switch cmd.Name() {
		case "hello", "client", "eval": // of a new connection, and a script that the server does not have yet
		default:
			commands++
		}
		return nil
	})
	for more := true; more; calls++ {
		commands = 0
		a := hooked.Sweep(b.Context(), []protocol.Partition{storesuite.DefaultPartition}, 0)[0]
		if a.Err != nil {
			b.Fatal(a.Err)
		}
		if commands > mostCommands {
			b.Errorf("a call made %d commands, want at most %d", commands, mostCommands)
		}
		more = a.More
	}
	if n := b.client.ZCard(b.Context(), b.store.keys.registry()).Val(); n != schedules || calls < 2 {
		b.Errorf("%d schedules are registered again after %d calls, want %d after some", n, calls, schedules)
	}
}
