package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// A pruning lists first and deletes then: between the two another process may declare a schedule again.
func TestAScheduleDeclaredAgainMeanwhileIsNotPruned(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Owns("default", "s", protocol.Owner{Name: "a", Version: 1})
		done := false
		beside := b.hooked(func(cmd redis.Cmder) error {
			if isCallOf(cmd, &removeScript) && !done {
				done = true
				b.Owns("default", "s", protocol.Owner{Name: "a", Version: 2})
			}
			return nil
		})
		_, pruned, err := beside.Prune(b.Context(), protocol.Owner{Name: "a", Version: 2}, "")
		found, _ := b.store.Find(b.Context(), []string{"s"})
		if err != nil || len(pruned) > 0 || !done || found[0].Owner.Version != 2 {
			b.Errorf("pruned %v, %v; found %+v, want the schedule that was declared again", pruned, err, found[0])
		}
	})
}

// A lower version that starts again does not restore a pruned schedule, in any queue in which the schedule has lived, and leaves no entry
// in the registry. After the retention the pruning is forgotten.
func TestWhatWasPrunedIsNotBroughtBackByALowerVersion(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Owns("default", "s", protocol.Owner{Name: "a", Version: 1})
		b.Owns("mail", "s", protocol.Owner{Name: "a", Version: 2}) // it moves
		if found, _ := b.store.Find(b.Context(), []string{"s"}); found[0].Owner != (protocol.Owner{Name: "a", Version: 2}) || found[0].Partition.Queue != "mail" {
			b.Errorf("moved: %+v, want it in mail, version 2", found[0])
		}
		b.Want("pruned", b.Prune(protocol.Owner{Name: "a", Version: 3}), "[s]")
		for _, queue := range []string{"mail", "default"} {
			if answer := b.Owns(queue, "s", protocol.Owner{Name: "a", Version: 2}); !answer.Outdated || answer.New || answer.Revision != 0 {
				b.Errorf("declared on %s by a lower version: %+v, want outdated", queue, answer)
			}
			b.Want("registry", fmt.Sprint(b.client.ZRange(b.Context(), b.store.keys.registry(), 0, -1).Val()), "[]")
		}
		for pruned := b.serverTime(); b.serverTime().Sub(pruned) < 2*time.Millisecond; { // what was created until the next millisecond is pruned too
		}
		if answer := b.Owns("mail", "other", protocol.Owner{Name: "a", Version: 2}); !answer.New {
			b.Errorf("another schedule: %+v, want it created", answer)
		}
		forgets := newStore(b.client, Options{Namespace: string(b.store.keys), ParkedRetention: time.Nanosecond})
		partitions := []protocol.Partition{{Queue: "default"}, {Queue: "mail"}}
		for range 2 {
			for _, p := range partitions {
				k := b.store.keys.partition(p)
				b.client.HDel(b.Context(), k.state, "swept")
				for _, z := range b.client.ZRangeWithScores(b.Context(), k.gone, 0, -1).Val() {
					b.client.ZAdd(b.Context(), k.gone, redisZ(z.Score-1e9, z.Member.(string)))
				}
			}
			for _, answer := range forgets.Sweep(b.Context(), partitions, 0) {
				if answer.Err != nil {
					b.Fatal(answer.Err)
				}
			}
		}
		for _, p := range partitions {
			if owners := b.client.HGetAll(b.Context(), b.store.keys.partition(p).owners).Val(); owners["s"] != "" || p.Queue == "mail" && owners["other"] != "a 2" {
				b.Errorf("%s remembers %v after the retention, want only other", p.Queue, owners)
			}
		}
		if answer := b.Owns("mail", "s", protocol.Owner{Name: "a", Version: 2}); !answer.New {
			b.Errorf("declared after the retention: %+v, want it created", answer)
		}
	})
}

// A declaration for a revision creates nothing, not even in the registry.
func TestWhatIsNotThereIsNotCreatedForARevision(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for range 2 {
			declared := protocol.Declaration{Name: "s", Queue: "default", Overlap: "skip", Body: []byte(`{"job":"j"}`), Revision: 7}
			err := b.store.Declare(b.Context(), []protocol.Declaration{declared})[0].Err
			b.Want("error", fmt.Sprint(err), `redisstore: schedule "s": not found`)
			b.client.ZAdd(b.Context(), b.store.keys.registry(), redisZ(0, home{"default", 5}.member("s"))) // as after an interrupted creation
			if n := b.client.HLen(b.Context(), b.keys().schedules).Val(); n != 0 {
				b.Errorf("%d definitions, want none", n)
			}
		}
	})
}

// A pruning that was interrupted before the registry's entry was removed, and that another process finishes, does not count as a deletion:
// another owner that has declared the schedule treats it as lost. A deletion still counts as one, whichever process finishes it.
func TestAPruningThatAnotherProcessFinishesIsNoDeletion(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for name, removal := range map[string]protocol.Removal{
			"pruned":  {Name: "pruned", Owner: protocol.Owner{Name: "a", Version: 2}},
			"deleted": {Name: "deleted"},
		} {
			other := b.Owns("default", name, protocol.Owner{Name: "b", Version: 1})
			b.Owns("default", name, protocol.Owner{Name: "a", Version: 1})
			b.Owns("default", "kept", protocol.Owner{Name: "a", Version: 1})
			beside := b.hooked(func(cmd redis.Cmder) error {
				if isCallOf(cmd, &changeRegistryScript) {
					return errors.New("the process ends here")
				}
				return nil
			})
			if _, err := beside.Remove(b.Context(), removal); err == nil {
				b.Fatal("it was removed completely")
			}
			at := b.registered(name)
			if err := b.store.finishRemoval(b.Context(), name, at); err != nil {
				b.Fatal(err)
			}
			standings, err := b.store.Standings(b.Context(), []protocol.Address{{Partition: other.Partition, Name: name}})
			if err != nil || standings[0].Revision != 0 || standings[0].Deleted.IsZero() != (name == "pruned") {
				b.Errorf("%s: %+v, %v; want it gone, and deleted only if it was not pruned", name, standings[0], err)
			}
			if answer := b.Owns("mail", name, protocol.Owner{Name: "b", Version: 1}); !answer.New {
				b.Errorf("%s: declared again by the other owner: %+v, want it created", name, answer)
			}
		}
	})
}
