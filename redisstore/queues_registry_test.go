package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A server that was restarted empty gets the number that a process has cached, not the number in the process's own options.
func TestAfterAnEmptyRestartTheNumberOfPartitionsThatWasLearnedIsWritten(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first := newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: map[string]int{"hot": 4}})
		second := newStore(b.client, Options{Namespace: string(b.store.keys)}) // learns the number from the registry
		for _, s := range []*store{first, second} {
			if n, err := s.Partitions(b.Context(), "hot"); n != 4 || err != nil {
				b.Fatalf("%d partitions, %v; want 4", n, err)
			}
		}
		b.client.Del(b.Context(), b.store.keys.queues())
		if err := second.Announce(b.Context(), "w", []protocol.Handled{{Queue: "hot", Name: "j"}}); err != nil {
			b.Fatal(err)
		}
		b.Want("written", b.client.HGet(b.Context(), b.store.keys.queues(), "hot").Val(), "4")
		again := newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: map[string]int{"hot": 4}})
		if n, err := again.Partitions(b.Context(), "hot"); n != 4 || err != nil {
			b.Errorf("a process that starts then reads %d partitions, %v; want 4", n, err)
		}
	})
}

// If a process without a cached number were the first to write after an empty restart, jobs would be split between two numbers of partitions.
func TestAProcessSaysThatTheNumberOfPartitionsIsNotTheOneItLearned(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		learned := newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: map[string]int{"hot": 4}})
		if _, err := learned.Partitions(b.Context(), "hot"); err != nil {
			b.Fatal(err)
		}
		b.client.HSet(b.Context(), b.store.keys.queues(), "hot", 1)
		err := learned.Announce(b.Context(), "w", []protocol.Handled{{Queue: "hot", Name: "j"}, {Queue: "default", Name: "j"}})
		if !errors.Is(err, protocol.ErrUnfit) || !strings.Contains(err.Error(), `queue "hot" has 1 partitions`) || !strings.Contains(err.Error(), "4") {
			b.Errorf("announcing: %v, want ErrUnfit that names the queue and both numbers", err)
		}
		if missing, err := learned.Unhandled(b.Context(), []protocol.Handled{{Queue: "default", Name: "j"}}); err != nil || len(missing) > 0 {
			b.Errorf("the handlers of the other queue are not announced: %v, %v", missing, err)
		}
	})
}

// unreadable are entries of the registry of queues that chime never writes.
var unreadable = map[string]any{
	"huge": 3_000_000, "beyond": "9000000000000000000", "word": "abc", "none": 0, "below": -1, "empty": "", "part": "1.5", "1025": 1025,
	"a}:b": 1, "no name": 1, strings.Repeat("x", 1<<16): 1,
}

func TestEntriesOfTheRegistryThatCannotBeReadAreSkippedAndSaidOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		log := logTo(b.store)
		b.client.HSet(b.Context(), b.store.keys.queues(), unreadable)
		b.client.HSet(b.Context(), b.store.keys.queues(), "wide", 1024)
		for range 3 {
			b.Want("queues", fmt.Sprint(b.queues()), "map[default:1 wide:1024]")
		}
		if n := strings.Count(log.String(), "event=store.unreadable"); n != len(unreadable) {
			b.Errorf("%d lines are logged in three readings, want one for each of %d entries:\n%s", n, len(unreadable), log.String())
		}
		if len(log.String()) > 8<<10 {
			b.Errorf("%d bytes are logged, want the names and values cut", len(log.String()))
		}
		for queue := range unreadable {
			if _, err := b.store.Partitions(b.Context(), queue); !errors.Is(err, protocol.ErrUnfit) {
				b.Errorf("%.20q: %v, want ErrUnfit for the queue itself", queue, err)
			}
			if _, err := b.store.QueueStats(b.Context(), []string{queue}); !errors.Is(err, protocol.ErrUnfit) {
				b.Errorf("%.20q: %v, want ErrUnfit for its counts", queue, err)
			}
		}
	})
}

// logTo makes a store log to the text that it returns.
func logTo(s *store) *strings.Builder {
	text := new(strings.Builder)
	s.options.Logger = slog.New(slog.NewTextHandler(text, nil))
	return text
}

// queues reads the whole registry.
func (b *bench) queues() map[string]int {
	b.Helper()
	all := map[string]int{}
	for cursor := ""; ; {
		page, next, err := b.store.Queues(b.Context(), cursor)
		if err != nil {
			b.Fatal(err)
		}
		for _, q := range page {
			all[q.Queue] = q.Partitions
		}
		if cursor = next; cursor == "" {
			return all
		}
	}
}

func TestServedReturnsTheQueuesOfLiveWorkersAndThoseAskedFor(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		keys := b.store.keys
		b.client.HSet(b.Context(), keys.queues(), "mail", 2, "idle", 1, "old", 1, "own", 3, "word", "abc")
		now, long := float64(time.Now().UnixMilli()), float64(storesuite.Ago(4*time.Hour).UnixMilli())
		b.client.ZAdd(b.Context(), keys.served(), redisZ(now, "mail"), redisZ(long, "old"), redisZ(now, "word"), redisZ(now, "gone"), redisZ(now, "a}:b"))
		if err := b.store.Announce(b.Context(), "w", []protocol.Handled{{Queue: "new", Name: "j"}, {Queue: "new", Name: "k"}}); err != nil {
			b.Fatal(err)
		}
		served, err := b.store.Served(b.Context(), []string{"own", "mail", "never"})
		if err != nil {
			b.Fatal(err)
		}
		b.Want("served", fmt.Sprint(served), "[{mail 2} {new 1} {own 3}]")

		// A server that was restarted empty knows it after the next announcement.
		b.client.Del(b.Context(), keys.queues())
		b.client.Del(b.Context(), keys.served())
		if err := b.store.Announce(b.Context(), "w", []protocol.Handled{{Queue: "new", Name: "j"}}); err != nil {
			b.Fatal(err)
		}
		served, err = b.store.Served(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Want("served after an empty restart", fmt.Sprint(served), "[{new 1}]")
	})
}
