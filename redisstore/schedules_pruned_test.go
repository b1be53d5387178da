package redisstore

import (
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
)

// The record of a pruning keeps the highest version, also one that is written late by a slow process.
func TestALatePruningDoesNotLowerTheRecordedVersion(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, c := range []struct{ noted, want int64 }{{2, 2}, {9, 9}, {3, 9}, {1 << 60, 1 << 60}, {1<<60 - 1, 1 << 60}} {
			if err := b.store.notePruned(b.Context(), protocol.Owner{Name: "o", Version: c.noted}); err != nil {
				b.Fatal(err)
			}
			if got, err := b.store.prunedVersion(b.Context(), "o"); err != nil || got != c.want {
				b.Errorf("after version %d has pruned: %d, %v; want %d", c.noted, got, err, c.want)
			}
		}
	})
}

// If the new queue of a move is deleted meanwhile, the move lists that queue again. Otherwise no process would serve or sweep the schedule there.
func TestAMoveListsItsNewQueueAgain(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		if _, err := b.store.queues.register(b.Context(), "mail"); err != nil {
			b.Fatal(err)
		}
		b.interruptMove("s", "default", "mail", 1)
		b.client.HDel(b.Context(), b.store.keys.queues(), "mail")
		mark := b.client.HGet(b.Context(), b.keys().schedules, "s").Val()
		if err := b.store.settleMark(b.Context(), "s", "default", mark); err != nil {
			b.Fatal(err)
		}
		b.Want("registry", b.registered("s").queue, "mail")
		b.Want("the entry of the queue", b.client.HGet(b.Context(), b.store.keys.queues(), "mail").Val(), "1")
	})
}
