package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// owns declares a schedule of an owner.
func (b *bench) owns(queue, name string, owner protocol.Owner) protocol.DeclareAnswer {
	b.Helper()
	declared := protocol.Declaration{Name: name, Queue: queue, Overlap: "skip", Body: []byte(`{"job":"j"}`), Owner: owner}
	answer := b.store.Declare(b.Context(), []protocol.Declaration{declared})[0]
	if answer.Err != nil {
		b.Fatal(answer.Err)
	}
	return answer
}

func (b *bench) prune(owner protocol.Owner) string {
	b.Helper()
	var all []string
	for cursor := ""; ; {
		next, pruned, err := b.store.Prune(b.Context(), owner, cursor)
		if err != nil {
			b.Fatal(err)
		}
		if all, cursor = append(all, pruned...), next; next == "" {
			return fmt.Sprint(all)
		}
	}
}

// Who prunes lists first and deletes then: between the two another process may declare a schedule anew.
func TestAScheduleDeclaredAgainMeanwhileIsNotPruned(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.owns("default", "s", protocol.Owner{Name: "a", Version: 1})
		done := false
		beside := b.hooked(func(cmd redis.Cmder) error {
			if isCallOf(cmd, &removeScript) && !done {
				done = true
				b.owns("default", "s", protocol.Owner{Name: "a", Version: 2})
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

// Once a version has pruned, no process of it or of a lower one looks again; versions have up to 19 digits.
func TestAVersionPrunesOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const nine = 9007199254740993 // more than a number of Lua holds
		b.owns("default", "old", protocol.Owner{Name: "a", Version: 999})
		b.owns("mail", "one less", protocol.Owner{Name: "a", Version: nine})
		b.owns("mail", "kept", protocol.Owner{Name: "a", Version: nine + 1})
		b.owns("mail", "another's", protocol.Owner{Name: "b", Version: 1})
		b.declareOn("mail", "nobody's", "skip", `{"job":"j"}`)
		if answer := b.owns("mail", "kept", protocol.Owner{Name: "a", Version: nine}); !answer.Outdated {
			b.Errorf("declared in a version that is lower by one: %+v, want outdated", answer)
		}
		got := b.prune(protocol.Owner{Name: "a", Version: nine + 1})
		if got != "[old one less]" && got != "[one less old]" {
			b.Errorf("pruned %s, want the two of lower versions", got)
		}
		b.owns("default", "late", protocol.Owner{Name: "a", Version: 5})
		b.want("pruned again", b.prune(protocol.Owner{Name: "a", Version: nine + 1}), "[]")
		b.want("pruned by a lower version", b.prune(protocol.Owner{Name: "a", Version: nine}), "[]")
		b.want("pruned by a higher one", b.prune(protocol.Owner{Name: "a", Version: nine + 2}), "[late kept]")
	})
}

// A lower version that starts again does not bring back what was pruned, in no queue in which the schedule has lived; and leaves no entry
// in the registry. After the retention that is forgotten.
func TestWhatWasPrunedIsNotBroughtBackByALowerVersion(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.owns("default", "s", protocol.Owner{Name: "a", Version: 1})
		b.owns("mail", "s", protocol.Owner{Name: "a", Version: 2}) // it moves
		if found, _ := b.store.Find(b.Context(), []string{"s"}); found[0].Owner != (protocol.Owner{Name: "a", Version: 2}) || found[0].Partition.Queue != "mail" {
			b.Errorf("moved: %+v, want it in mail, version 2", found[0])
		}
		b.want("pruned", b.prune(protocol.Owner{Name: "a", Version: 3}), "[s]")
		for _, queue := range []string{"mail", "default"} {
			if answer := b.owns(queue, "s", protocol.Owner{Name: "a", Version: 2}); !answer.Outdated || answer.New || answer.Revision != 0 {
				b.Errorf("declared on %s by a lower version: %+v, want outdated", queue, answer)
			}
			b.want("registry", fmt.Sprint(b.client.ZRange(b.Context(), b.store.keys.registry(), 0, -1).Val()), "[]")
		}
		if answer := b.owns("mail", "other", protocol.Owner{Name: "a", Version: 2}); !answer.New {
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
				b.Errorf("%s remembers %v after the retention, want other alone", p.Queue, owners)
			}
		}
		if answer := b.owns("mail", "s", protocol.Owner{Name: "a", Version: 2}); !answer.New {
			b.Errorf("declared after the retention: %+v, want it created", answer)
		}
	})
}

// A schedule that is put under the name of one that was deleted has no owner, and is not pruned.
func TestAScheduleThatWasPutIsNeverPruned(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.owns("default", "s", protocol.Owner{Name: "a", Version: 1})
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
			b.Fatal(err)
		}
		b.declare("s", "skip", `{"job":"j"}`)
		b.want("pruned", b.prune(protocol.Owner{Name: "a", Version: 2}), "[]")
	})
}

// A declaration for a revision creates nothing, also in the registry.
func TestWhatIsNotThereIsNotCreatedForARevision(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for range 2 {
			declared := protocol.Declaration{Name: "s", Queue: "default", Overlap: "skip", Body: []byte(`{"job":"j"}`), Revision: 7}
			err := b.store.Declare(b.Context(), []protocol.Declaration{declared})[0].Err
			b.want("error", fmt.Sprint(err), `redisstore: schedule "s": not found`)
			b.client.ZAdd(b.Context(), b.store.keys.registry(), redisZ(0, home{"default", 5}.member("s"))) // as after a creation that was interrupted
			if n := b.client.HLen(b.Context(), b.keys().schedules).Val(); n != 0 {
				b.Errorf("%d definitions, want none", n)
			}
		}
	})
}

// A pruning that was interrupted before the registry's entry was gone, and that another process finishes, is no deletion by somebody: another
// owner that has declared the schedule takes it for lost. One that was deleted is told from it, whoever finishes that.
func TestAPruningThatAnotherProcessFinishesIsNoDeletion(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for name, removal := range map[string]protocol.Removal{
			"pruned":  {Name: "pruned", Owner: protocol.Owner{Name: "a", Version: 2}},
			"deleted": {Name: "deleted"},
		} {
			other := b.owns("default", name, protocol.Owner{Name: "b", Version: 1})
			b.owns("default", name, protocol.Owner{Name: "a", Version: 1})
			b.owns("default", "kept", protocol.Owner{Name: "a", Version: 1})
			beside := b.hooked(func(cmd redis.Cmder) error {
				if isCallOf(cmd, &changeRegistryScript) {
					return errors.New("the process ends here")
				}
				return nil
			})
			if _, err := beside.Remove(b.Context(), removal); err == nil {
				b.Fatal("it was removed to the end")
			}
			at := b.registered(name)
			if err := b.store.finishRemoval(b.Context(), name, at); err != nil {
				b.Fatal(err)
			}
			standings, err := b.store.Standings(b.Context(), []protocol.Address{{Partition: other.Partition, Name: name}})
			if err != nil || standings[0].Revision != 0 || standings[0].Deleted.IsZero() != (name == "pruned") {
				b.Errorf("%s: %+v, %v; want it gone, and deleted only if it was not pruned", name, standings[0], err)
			}
			if answer := b.owns("mail", name, protocol.Owner{Name: "b", Version: 1}); !answer.New {
				b.Errorf("%s: declared again by the other owner: %+v, want it created", name, answer)
			}
		}
	})
}

// An owner's version that a higher one has succeeded takes over nothing, whether the schedule is to be changed, moved or only to be owned.
func TestASucceededVersionTakesOverNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.owns("default", "b's", protocol.Owner{Name: "b", Version: 1})
		b.declareOn("default", "nobody's", "skip", `{"job":"other"}`)
		b.owns("default", "kept", protocol.Owner{Name: "a", Version: 2})
		b.want("pruned", b.prune(protocol.Owner{Name: "a", Version: 2}), "[]")
		for _, name := range []string{"b's", "nobody's"} {
			for _, queue := range []string{"default", "mail"} {
				if answer := b.owns(queue, name, protocol.Owner{Name: "a", Version: 1}); !answer.Outdated || answer.Changed || answer.Revision == 0 {
					b.Errorf("%s, declared on %s: %+v, want outdated", name, queue, answer)
				}
			}
			found, _ := b.store.Find(b.Context(), []string{name})
			if found[0].Owner.Name == "a" || found[0].Partition.Queue != "default" {
				b.Errorf("%s is %+v, want it as it was", name, found[0])
			}
		}
		if answer := b.owns("mail", "b's", protocol.Owner{Name: "a", Version: 2}); answer.Outdated {
			b.Errorf("declared by the version that has pruned: %+v, want it taken over", answer)
		}
	})
}
