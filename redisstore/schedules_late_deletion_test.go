package redisstore

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore/internal/script"
)

// registerQueues registers the queues default and mail.
func (b *bench) registerQueues() {
	b.Helper()
	for _, queue := range []string{"default", "mail"} {
		if _, err := b.store.queues.register(b.Context(), queue); err != nil {
			b.Fatal(err)
		}
	}
}

// movedAheadOfTheClock creates the schedule s, whose creation is ahead of the clock, on the queue default and moves it to mail. It returns which keys
// are of default, and their values: those of a mark.
func (b *bench) movedAheadOfTheClock() (isDefault func(key string) bool, marked slotSnapshot) {
	b.Helper()
	b.registerQueues()
	for range 3 { // each creation is in a later second than the deletion before it
		lossDeclare(b, b.store, "s", "default", 1)
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
			b.Fatal(err)
		}
	}
	lossDeclare(b, b.store, "s", "default", 1)
	lossDeclare(b, b.store, "s", "mail", 1)
	isDefault = lossSlots[0].has
	return isDefault, b.slotSnapshot(isDefault)
}

// A schedule that is created in the second in which one of its name was deleted has a creation in the next second. If it is deleted before that second,
// and another process completes this deletion, the recorded instant is later than the creation too. So a mark that comes back is dead.
func TestADeletionThatAnotherProcessCompletesIsLaterThanTheCreation(t *testing.T) {
	onServersWith(t, hookedCalls, func(b *bench) {
		isDefault, marked := b.movedAheadOfTheClock()
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
		b.repairHomes("after the deletion", []protocol.Partition{{Queue: "default"}, {Queue: "mail"}})
		if at := b.registered("s"); at.queue != "" {
			b.Fatalf("the deletion was not completed: %+v", at)
		}
		b.goBack(isDefault, marked)
		b.wantOneHome("after default went back", false, true, true)
	})
}

// A pruning records no deletion of the schedule, only its completion for the owner. The record is later than the creation of each pruned schedule, also
// if that is ahead of the clock, and if another process, of this or of a later version, completes the pruning. So a mark that comes back is dead.
func TestAPruningIsLaterThanTheCreationsOfThePrunedSchedules(t *testing.T) {
	for _, c := range []struct {
		stopped   string
		before    *script.Script // a call of it is not carried out, nor is any later command; nil: none
		calls     int            // how many calls of it are carried out before
		completes int64          // the version that completes the pruning
	}{
		{"not at all", nil, 0, 2},
		{"before the deletion", &removeScript, 0, 2},
		{"after the deletion", &notePrunedScript, 1, 2},
		{"after the deletion, completed by a later version", &notePrunedScript, 1, 3},
		{"before the registry", &changeRegistryScript, 0, 2},
		{"before the registry, completed by a later version", &changeRegistryScript, 0, 3},
		{"before the record", &notePrunedScript, 2, 2},
		{"before the record, completed by a later version", &notePrunedScript, 2, 3},
	} {
		t.Run(c.stopped, func(t *testing.T) {
			onServersWith(t, hookedCalls, func(b *bench) {
				isDefault, marked := b.movedAheadOfTheClock()
				for _, known := range []*script.Script{&removeScript, &notePrunedScript, &changeRegistryScript} { // so that each call is one command
					b.client.ScriptLoad(b.Context(), known.Text)
				}
				calls := 0
				stopped := b.hooked(func(cmd redis.Cmder) error {
					if c.before != nil && isCallOf(cmd, c.before) {
						calls++
					}
					if calls > c.calls {
						return errStopped
					}
					return nil
				})
				if err := pruneAll(b, stopped, 2); (err == nil) != (c.before == nil) {
					b.Fatalf("pruned: %v", err)
				}
				if err := pruneAll(b, b.store, c.completes); err != nil {
					b.Fatal(err)
				}
				b.goBack(isDefault, marked)
				b.wantOneHome("after default went back", false, true, true)
			})
		})
	}
}

// pruneAll prunes the schedules of an owner in all queues.
func pruneAll(b *bench, s *store, version int64) error {
	for cursor, begun := "", false; cursor != "" || !begun; begun = true {
		var err error
		if cursor, _, err = s.Prune(b.Context(), protocol.Owner{Name: "o", Version: version}, cursor); err != nil {
			return err
		}
	}
	return nil
}

// A process that has read an entry and is slow completes no deletion that another process has completed: the name may belong to a new schedule.
func TestALateCompletionOfADeletionLeavesANewSchedule(t *testing.T) {
	onServersWith(t, hookedCalls, func(b *bench) {
		b.registerQueues()
		lossDeclare(b, b.store, "s", "default", 1)
		old := b.registered("s")
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
			b.Fatal(err)
		}
		lossDeclare(b, b.store, "s", "mail", 1)
		before, err := b.store.lookUpRemoved(b.Context(), []string{"s"})
		if err != nil {
			b.Fatal(err)
		}
		if err := b.store.finishRemoval(b.Context(), "s", old); err != nil {
			b.Fatal(err)
		}
		if after, err := b.store.lookUpRemoved(b.Context(), []string{"s"}); err != nil || after[0] != before[0] {
			b.Errorf("the record of the deletion is %v after %v, %v; want no change: it would delete the new schedule", after, before, err)
		}
	})
}
