package redisstore

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// A schedule that is created in the second in which one of its name was deleted has a creation in the next second. If it is deleted before that second,
// and another process completes this deletion, the recorded instant is later than the creation too. So a mark that comes back is dead.
func TestADeletionThatAnotherProcessCompletesIsLaterThanTheCreation(t *testing.T) {
	onServersWith(t, hookedCalls, func(b *bench) {
		for _, queue := range []string{"default", "mail"} {
			if _, err := b.store.queues.register(b.Context(), queue); err != nil {
				b.Fatal(err)
			}
		}
		partitions := []protocol.Partition{{Queue: "default"}, {Queue: "mail"}}
		for range 3 { // each creation is in a later second than the deletion before it
			lossDeclare(b, b.store, "s", "default", 1)
			if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
				b.Fatal(err)
			}
		}
		lossDeclare(b, b.store, "s", "default", 1)
		lossDeclare(b, b.store, "s", "mail", 1)
		isDefault := lossSlots[0].has
		marked := b.slotSnapshot(isDefault)
		notes := 0
		stopped := b.hooked(func(cmd redis.Cmder) error {
			if isCallOf(cmd, &noteDeletedScript) {
				if notes++; notes == 2 { // the definition was deleted, and that is not recorded
					return errStopped
				}
			}
			return nil
		})
		if _, err := stopped.Remove(b.Context(), protocol.Removal{Name: "s"}); err == nil {
			b.Fatal("the deletion was not interrupted")
		}
		b.repairHomes("after the deletion", partitions)
		if at := b.registered("s"); at.queue != "" {
			b.Fatalf("the deletion was not completed: %+v", at)
		}
		b.goBack(isDefault, marked)
		b.wantOneHome("after default went back", false, true, true)
	})
}
