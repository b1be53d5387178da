package redisstore

import (
	"fmt"
	"testing"
	"time"

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

// Old records of owners are removed, wherever they are in the hash.
func TestOldRecordsOfPruningAreRemoved(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const n = 30_000 // so that the hash has more buckets than one call of HSCAN reads
		key, fields := b.store.keys.pruned(), []any{}
		for i := range n {
			fields = append(fields, fmt.Sprint("owner", i), "1 1000000000000")
		}
		b.client.HSet(b.Context(), key, fields...)
		const calls = 100
		for i := range calls {
			if err := b.store.notePruned(b.Context(), protocol.Owner{Name: fmt.Sprint("new", i), Version: 1}); err != nil {
				b.Fatal(err)
			}
		}
		if left := b.client.HLen(b.Context(), key).Val(); left != calls {
			b.Errorf("%d records are left, want the %d new ones", left, calls)
		}
	})
}

// The mark of a move that has ended is the last copy if the new queue loses the schedule. The schedule gets back its note, its owner, and the queues that
// it has left, whose marks a deletion has to remove.
func TestAScheduleThatIsRestoredFromAnEndedMarkIsComplete(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		k := b.keys()
		for key, value := range map[string]string{k.notes: "1700000000000 closed", k.owners: "billing 7", k.origins: "first second"} {
			b.client.HSet(b.Context(), key, "s", value)
		}
		if _, err := b.store.queues.register(b.Context(), "mail"); err != nil {
			b.Fatal(err)
		}
		b.interruptMove("s", "default", "mail", 4)
		mail := b.store.keys.partition(protocol.Partition{Queue: "mail"})
		for _, key := range []string{mail.schedules, mail.cursors, mail.owed, mail.gone, mail.state, mail.origins, mail.notes, mail.owners, mail.last, mail.history} {
			b.client.Del(b.Context(), key)
		}
		mark := b.client.HGet(b.Context(), k.schedules, "s").Val()
		if err := b.store.settleMark(b.Context(), "s", "default", mark); err != nil {
			b.Fatal(err)
		}
		if !b.client.HExists(b.Context(), mail.schedules, "s").Val() {
			b.Fatal("the schedule is not restored")
		}
		b.Want("note", b.client.HGet(b.Context(), mail.notes, "s").Val(), "1700000000000 closed")
		b.Want("owner", b.client.HGet(b.Context(), mail.owners, "s").Val(), "billing 7")
		b.Want("queues that it has left", b.client.HGet(b.Context(), mail.origins, "s").Val(), "first second default")
		old := b.clock().Add(-100 * 24 * time.Hour).UnixMicro()
		b.client.ZAdd(b.Context(), k.gone, redisZ(float64(old), "s"))
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		for _, key := range []string{k.schedules, k.notes, k.owners, k.origins} {
			if b.client.HExists(b.Context(), key, "s").Val() {
				b.Errorf("%s still has the schedule after its mark was swept", key)
			}
		}
	})
}
