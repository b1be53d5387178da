package redisstore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// The registry names a queue that has nothing of a schedule, because the queue has lost it, and another queue has, or gets back, the last copy. No
// process takes this for a deletion, even one that is stopped before its next step: the copy lives.
func TestAScheduleThatItsQueueHasLostIsNotDeleted(t *testing.T) {
	partitions := []protocol.Partition{{Queue: "default"}, {Queue: "mail"}, {Queue: "other"}}
	for _, c := range []struct {
		name    string
		barred  bool   // a process that found the copy was stopped after it had barred the queue
		queue   string // of the declaration; empty: Verify repairs, while no queue has the copy
		hasCopy bool
	}{
		{"a declaration in another queue", false, "other", true},
		{"a declaration in another queue, barred", true, "other", true},
		{"a declaration in the queue that has lost it", true, "mail", true},
		{"verify", false, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			onServersWith(t, hookedCalls, func(b *bench) {
				for _, p := range partitions {
					if _, err := b.store.queues.register(b.Context(), p.Queue); err != nil {
						b.Fatal(err)
					}
				}
				isDefault, isMail := lossSlots[0].has, lossSlots[1].has
				lossDeclare(b, b.store, "s", "default", 1)
				before := b.slotSnapshot(isDefault)
				lossDeclare(b, b.store, "s", "mail", 1)
				b.goBack(isMail, slotSnapshot{})
				b.goBack(isDefault, slotSnapshot{})
				if c.hasCopy {
					b.goBack(isDefault, before)
				}
				if mail := b.store.keys.partition(protocol.Partition{Queue: "mail"}); c.barred {
					call := newCall(&barScript, []string{mail.schedules, mail.gone, mail.state}, []any{"s", b.registered("s").generation})
					if barred, err := b.store.run(b.Context(), b.store.client, call)[0].Int64(); err != nil || barred != 1 {
						b.Fatalf("barred %d, %v", barred, err)
					}
				}
				if c.queue == "" {
					b.repairHomes("without a copy", partitions)
					b.goBack(isDefault, before)
				} else {
					reached := false
					stopped := b.hooked(func(cmd redis.Cmder) error {
						if reached = reached || isCallOf(cmd, &changeRegistryScript); reached {
							return errStopped
						}
						return nil
					})
					lossDeclare(b, stopped, "s", c.queue, 1)
					if !reached {
						b.Fatal("the declaration was not stopped")
					}
				}
				b.repairHomes("after the process has stopped", partitions)
				if at := b.registered("s"); at.queue != "default" {
					b.Errorf("the registry has %+v, want the queue of the last copy", at)
				}
				b.wantOneHome("after the process has stopped", false, false, false)
			})
		})
	}
}

// A pruning whose process was stopped after any command is finished by the next declaration of a program without an owner: the pruned schedule leaves no
// mark, no count and no occurrence.
func TestAPruningInterruptedAfterAnyCommandIsFinishedByADeclaration(t *testing.T) {
	for _, queue := range []string{"default", "mail", "other"} {
		onEveryServer(t, func(b *bench) {
			pruned := 0
			for commands := range 14 {
				name := fmt.Sprintf("s%d", commands)
				b.Declare(name, "allow", `{"job":"j"}`)
				b.client.HSet(b.Context(), b.keys().owners, name, "o 1")
				b.client.HSet(b.Context(), b.keys().counters, name+"/skipped", 7)
				b.DeclareOn("mail", name, "allow", `{"job":"j"}`)
				b.client.HSet(b.Context(), b.keys().counters, name+"/skipped", 5)
				left := commands
				stopped := b.hooked(func(redis.Cmder) error {
					if left--; left < 0 {
						return errStopped
					}
					return nil
				})
				removal := protocol.Removal{Name: name, Owner: protocol.Owner{Name: "o", Version: 2}}
				if _, err := stopped.Remove(b.Context(), removal); err != nil && !errors.Is(err, errStopped) {
					b.Fatal(err)
				}
				again := b.DeclareOn(queue, name, "allow", `{"job":"j"}`)
				if !again.New { // it was not pruned
					continue
				}
				pruned++
				if n := b.client.ZScore(b.Context(), b.store.keys.deleted(), removed(name)); n.Err() == nil {
					b.Errorf("after %d commands: a deletion is recorded", commands)
				}
				found, err := b.store.Find(b.Context(), []string{name})
				if err != nil || found[0].Skipped != 0 {
					b.Errorf("after %d commands: found %+v, %v; want nothing counted", commands, found, err)
				}
				for _, p := range []string{"default", "mail"} {
					k := b.store.keys.partition(protocol.Partition{Queue: p})
					if text := b.client.HGet(b.Context(), k.schedules, name).Val(); text != "" && p != queue {
						b.Errorf("after %d commands: %s still has %q", commands, p, text)
					}
				}
			}
			if pruned < 3 {
				b.Errorf("%d prunings were begun, want some that were interrupted", pruned)
			}
		})
	}
}
