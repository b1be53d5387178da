package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// everything returns all data of schedules in the queue default and the registry.
func (b *bench) everything() string {
	b.Helper()
	k := b.keys()
	return fmt.Sprint(b.client.HGetAll(b.Context(), k.schedules).Val(), b.client.HGetAll(b.Context(), k.cursors).Val(),
		b.client.ZRangeWithScores(b.Context(), k.owed, 0, -1).Val(), b.client.ZRangeWithScores(b.Context(), k.due, 0, -1).Val(),
		b.client.ZRange(b.Context(), b.store.keys.registry(), 0, -1).Val(), b.client.ZRangeWithScores(b.Context(), b.store.keys.deleted(), 0, -1).Val())
}

// lookers find what the registry has lost: a program that declared schedules, and the sweep.
var lookers = map[string]func(b *bench, asked ...protocol.Address) error{
	"standings": func(b *bench, asked ...protocol.Address) error {
		_, err := b.store.Standings(b.Context(), asked)
		return err
	},
	"sweep": func(b *bench, _ ...protocol.Address) error { _, err := b.sweep(); return err },
}

func onEveryLooker(t *testing.T, test func(b *bench, look func(b *bench, asked ...protocol.Address) error)) {
	for name, look := range lookers {
		t.Run(name, func(t *testing.T) { onEveryServer(t, func(b *bench) { test(b, look) }) })
	}
}

// The registry is deleted, or goes back to before a move, while its schedules still run. It is restored unchanged, and nothing else
// changes: nothing is placed again, no revision is drawn.
func TestALostRegistryIsWrittenAgain(t *testing.T) {
	onEveryLooker(t, func(b *bench, look func(b *bench, asked ...protocol.Address) error) {
		var asked []protocol.Address
		for i := range 250 { // more than a page
			name := fmt.Sprintf("s%d", i)
			answer := b.Declare(name, "skip", `{"job":"j"}`)
			asked = append(asked, protocol.Address{Partition: answer.Partition, Name: name})
			if i%2 == 0 {
				b.Place(*answer.Owed, answer.Revision, 0, storesuite.Ago(-time.Hour))
			}
		}
		if _, err := storesuite.PauseSchedule(b.Context(), b.store, "s1", true); err != nil {
			b.Fatal(err)
		}
		b.DeclareOn("mail", "moved", "skip", `{"job":"j"}`)
		earlier := b.client.ZRangeByLex(b.Context(), b.store.keys.registry(), &redis.ZRangeBy{Min: "[moved\t", Max: "(moved\n"}).Val()[0]
		moved := b.Declare("moved", "skip", `{"job":"j"}`)
		b.Place(*moved.Owed, moved.Revision, 0, storesuite.Ago(-time.Hour))
		asked = append(asked, protocol.Address{Partition: moved.Partition, Name: "moved"})
		before := b.everything()

		if err := look(b, asked...); err != nil {
			b.Fatal(err)
		}
		b.Want("with a registry that lacks nothing", b.everything(), before)
		b.client.Del(b.Context(), b.store.keys.registry())
		b.client.ZAdd(b.Context(), b.store.keys.registry(), redis.Z{Member: earlier})
		if err := look(b, asked...); err != nil {
			b.Fatal(err)
		}
		b.Want("afterwards", b.everything(), before)
		found, err := b.store.Find(b.Context(), []string{"s0", "moved"})
		if err != nil || found[0].Name == "" || found[1].Name == "" {
			b.Errorf("found %+v, %v", found, err)
		}
	})
}

// A program finds only the marks of its schedules, which have moved since, and no registry. The answer is that they have moved, so
// that it does not declare them a second time, and they are registered where they live now.
func TestAMovedScheduleIsFoundWithoutTheRegistry(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var asked []protocol.Address
		for _, name := range []string{"moved", "deleted", "lost"} {
			asked = append(asked, protocol.Address{Partition: b.Declare(name, "skip", `{"job":"j"}`).Partition, Name: name})
			b.DeclareOn("mail", name, "skip", `{"job":"j"}`)
			b.DeclareOn("other", name, "skip", `{"job":"j"}`)
		}
		before := b.client.ZRange(b.Context(), b.store.keys.registry(), 0, -1).Val()[2]
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "deleted"}); err != nil {
			b.Fatal(err)
		}
		other := b.store.keys.partition(protocol.Partition{Queue: "other"})
		b.client.HDel(b.Context(), other.schedules, "lost")
		b.client.Del(b.Context(), b.store.keys.registry())
		got, err := b.store.Standings(b.Context(), asked)
		if err != nil {
			b.Fatal(err)
		}
		if !got[0].Moved || got[1].Moved || got[1].Deleted.IsZero() || got[2] != (protocol.Standing{}) {
			b.Errorf("moved: %+v, deleted: %+v, lost: %+v", got[0], got[1], got[2])
		}
		b.Want("registered", strings.Join(b.client.ZRange(b.Context(), b.store.keys.registry(), 0, -1).Val(), " "), before)
	})
}

// A deletion that the definition's node has forgotten still holds: the restored schedule is not registered again. An unreadable entry does
// not change, and does not keep another from its place.
func TestWhatWasDeletedOrCannotBeReadIsNotRegisteredAgain(t *testing.T) {
	onEveryLooker(t, func(b *bench, look func(b *bench, asked ...protocol.Address) error) {
		var asked []protocol.Address
		for _, name := range []string{"deleted", "garbage", "lost"} {
			asked = append(asked, protocol.Address{Partition: b.Declare(name, "skip", `{"job":"j"}`).Partition, Name: name})
		}
		text := b.client.HGet(b.Context(), b.keys().schedules, "deleted").Val()
		for made := b.serverTime(); b.serverTime().Sub(made) < time.Millisecond; { // a deletion is recorded to the millisecond
			continue
		}
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "deleted"}); err != nil {
			b.Fatal(err)
		}
		b.client.HSet(b.Context(), b.keys().schedules, "deleted", text)
		b.client.Del(b.Context(), b.store.keys.registry())
		b.client.ZAdd(b.Context(), b.store.keys.registry(), redis.Z{Member: "garbage\tby hand"})
		if err := look(b, asked...); err != nil {
			b.Fatal(err)
		}
		var names []string
		for _, member := range b.client.ZRange(b.Context(), b.store.keys.registry(), 0, -1).Val() {
			name, rest, _ := strings.Cut(member, "\t")
			names = append(names, name+" "+rest[:2])
		}
		b.Want("registered", fmt.Sprint(names), "[garbage by lost de]")
	})
}

// A schedule is deleted or moved, or another one of that name is created, while another process searches for lost entries. With any
// order of their commands, the registry has the existing schedules afterwards, and nothing else.
func TestWhatIsDeletedOrMovedMeanwhileIsNotRegisteredAgain(t *testing.T) {
	for what, act := range map[string]func(b *bench, s *store){
		"deleted": func(b *bench, s *store) {
			if _, err := s.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
				b.Error(err)
			}
		},
		"moved": func(b *bench, s *store) {
			if a := s.Declare(b.Context(), []protocol.Declaration{{Name: "s", Queue: "mail", Overlap: "skip", Body: []byte(`{"job":"j"}`)}}); a[0].Err != nil {
				b.Error(a[0].Err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				for at := range 12 { // before which command of the search the other process acts, or the other way round
					for _, lookIsHooked := range []bool{true, false} {
						asked := []protocol.Address{{Partition: b.Declare("s", "skip", `{"job":"j"}`).Partition, Name: "s"}}
						commands := 0
						other := func() { act(b, b.store) }
						if !lookIsHooked {
							other = func() { _, _ = b.store.Standings(b.Context(), asked) }
						}
						hooked := b.hooked(func(redis.Cmder) error {
							if commands++; commands == at+1 {
								other()
							}
							return nil
						})
						if lookIsHooked {
							if _, err := hooked.Standings(b.Context(), asked); err != nil {
								b.Fatal(err)
							}
						} else {
							act(b, hooked)
						}
						if commands <= at {
							other()
						}
						members := strings.Join(b.client.ZRange(b.Context(), b.store.keys.registry(), 0, -1).Val(), " ")
						if what == "deleted" && members != "" || what == "moved" && (strings.Count(members, "\t") != 2 || !strings.HasPrefix(members, "s\tmail\t")) {
							b.Errorf("at command %d, look hooked %v: the registry has %q", at, lookIsHooked, members)
						}
						if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		})
	}
}
