package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A slot is a part of the keys that a cluster may have on a node of its own: it goes back alone.
var lossSlots = []struct {
	name string
	has  func(key string) bool
}{
	{"default", func(key string) bool { return strings.Contains(key, ":{default}:") }},
	{"mail", func(key string) bool { return strings.Contains(key, ":{mail}:") }},
	{"registry", func(key string) bool { return strings.HasSuffix(key, ":schedules") && !strings.Contains(key, "{") }},
	{"both queues", func(key string) bool { return strings.Contains(key, ":{") }},
	{"default and registry", func(key string) bool {
		return strings.Contains(key, ":{default}:") || strings.HasSuffix(key, ":schedules") && !strings.Contains(key, "{")
	}},
	{"mail and registry", func(key string) bool {
		return strings.Contains(key, ":{mail}:") || strings.HasSuffix(key, ":schedules") && !strings.Contains(key, "{")
	}},
}

// A slotSnapshot is the state of some keys: hashes, sorted sets and lists. Streams have only past runs.
type slotSnapshot struct {
	hashes map[string]map[string]string
	sets   map[string][]redis.Z
	lists  map[string][]any
}

func (b *bench) slotSnapshot(has func(key string) bool) slotSnapshot {
	b.Helper()
	s := slotSnapshot{map[string]map[string]string{}, map[string][]redis.Z{}, map[string][]any{}}
	for _, key := range b.keysLike(string(b.store.keys) + ":*") {
		if !has(key) {
			continue
		}
		switch b.client.Type(b.Context(), key).Val() {
		case "hash":
			s.hashes[key] = b.client.HGetAll(b.Context(), key).Val()
		case "zset":
			s.sets[key] = b.client.ZRangeWithScores(b.Context(), key, 0, -1).Val()
		case "list":
			for _, member := range b.client.LRange(b.Context(), key, 0, -1).Val() {
				s.lists[key] = append(s.lists[key], member)
			}
		}
	}
	return s
}

// goBack brings the keys of a slot back to a slotSnapshot.
func (b *bench) goBack(has func(key string) bool, to slotSnapshot) {
	b.Helper()
	for _, key := range b.keysLike(string(b.store.keys) + ":*") {
		if has(key) {
			b.client.Del(b.Context(), key)
		}
	}
	for key, fields := range to.hashes {
		if err := b.client.HSet(b.Context(), key, fields).Err(); err != nil {
			b.Fatal(err)
		}
	}
	for key, members := range to.sets {
		if err := b.client.ZAdd(b.Context(), key, members...).Err(); err != nil {
			b.Fatal(err)
		}
	}
	for key, members := range to.lists {
		if err := b.client.RPush(b.Context(), key, members...).Err(); err != nil {
			b.Fatal(err)
		}
	}
}

// lossSteps are the operations that span several slots. Each begins with a schedule s in the queue default.
var lossSteps = []struct {
	name    string
	deletes bool
	ready   func(b *bench)
	do      func(b *bench, s *store)
}{
	{"create", false, nil, func(b *bench, s *store) { lossDeclare(b, s, "new", "default", 1) }},
	{"change", false, nil, func(b *bench, s *store) { lossDeclare(b, s, "s", "default", 2) }},
	{"move", false, nil, func(b *bench, s *store) { lossDeclare(b, s, "s", "mail", 1) }},
	{"move and change", false, nil, func(b *bench, s *store) { lossDeclare(b, s, "s", "mail", 2) }},
	{"move back", false, func(b *bench) { lossDeclare(b, b.store, "s", "mail", 1) }, func(b *bench, s *store) { lossDeclare(b, s, "s", "default", 1) }},
	{"refused deletion", false, nil, func(b *bench, s *store) {
		_, _ = s.Remove(b.Context(), protocol.Removal{Name: "s", Revision: 1})
	}},
	{"deletion", true, nil, func(b *bench, s *store) { _, _ = s.Remove(b.Context(), protocol.Removal{Name: "s"}) }},
	{"deletion after a move", true, func(b *bench) { lossDeclare(b, b.store, "s", "mail", 1) }, func(b *bench, s *store) {
		_, _ = s.Remove(b.Context(), protocol.Removal{Name: "s"})
	}},
	{"pruning", true, nil, func(b *bench, s *store) {
		owner := protocol.Owner{Name: "o", Version: 2}
		for cursor, begun := "", false; cursor != "" || !begun; begun = true {
			var err error
			if cursor, _, err = s.Prune(b.Context(), owner, cursor); err != nil {
				return
			}
		}
	}},
}

func lossDeclare(b *bench, s *store, name, queue string, version int) {
	declared := protocol.Declaration{
		Name: name, Queue: queue, Overlap: "skip", Body: []byte(moveBody(version)), Owner: protocol.Owner{Name: "o", Version: 1},
	}
	for range 3 {
		answer := s.Declare(b.Context(), []protocol.Declaration{declared})[0]
		if answer.Err != nil || !answer.Recount {
			return
		}
		declared.Change = &protocol.Change{Revision: answer.Revision, Cursor: answer.Cursor, Until: answer.Now.Truncate(time.Second)}
	}
}

// Each operation on several slots is interrupted before each of its commands, or not at all. Then each slot, or two of them, return to their state
// before it, and the operation continues or its process is gone. After that, when sweeps and Verify have run, a schedule
// has one home, which the registry names, and one that was deleted has none. Only the whole deletion counts: one that was interrupted may have
// happened or not.
func TestAScheduleHasOneHomeWhateverGoesBack(t *testing.T) {
	stride := long.Seeds(9, 1) // every ninth command, with another first one for each slot; with -tags long every command
	for _, step := range lossSteps {
		for i, slot := range lossSlots {
			t.Run(step.name+", "+slot.name+" goes back", func(t *testing.T) {
				onServersWith(t, hookedCalls, func(b *bench) {
					for at, more := 1+i%stride, true; more; at += stride {
						for _, continues := range []bool{true, false} {
							b.flush()
							for _, queue := range []string{"default", "mail"} {
								if _, err := b.store.queues.register(b.Context(), queue); err != nil {
									b.Fatal(err)
								}
							}
							lossDeclare(b, b.store, "s", "default", 1)
							if step.ready != nil {
								step.ready(b)
							}
							before, commands, gone := b.slotSnapshot(slot.has), 0, false
							acting := b.hooked(func(redis.Cmder) error {
								if commands++; commands == at {
									b.goBack(slot.has, before)
									gone = !continues
								}
								if gone {
									return errStopped
								}
								return nil
							})
							step.do(b, acting)
							if more = commands >= at; !more {
								b.goBack(slot.has, before) // after the last command
							}
							b.wantOneHome(fmt.Sprintf("before command %d, the process continues: %v", at, continues), step.name == "create", step.deletes, step.deletes && !more)
						}
					}
				})
			})
		}
	}
}

// wantOneHome lets sweeps and a repair run, and checks where the schedules live.
func (b *bench) wantOneHome(when string, creates, mayBeDeleted, deleted bool) {
	b.Helper()
	partitions := []protocol.Partition{{Queue: "default"}, {Queue: "mail"}}
	b.repairHomes(when, partitions)
	for _, name := range []string{"s", "new"} {
		if name == "new" && !creates {
			continue
		}
		var lives []home
		for _, p := range partitions {
			if h, ok := parseHead(b.client.HGet(b.Context(), b.store.keys.partition(p).schedules, name).Val()); ok && h.movedTo == "" {
				lives = append(lives, home{p.Queue, h.generation})
			}
		}
		entry := b.registered(name)
		switch {
		case len(lives) > 1:
			b.Errorf("%s: %s lives in %v", when, name, lives)
		case len(lives) == 1 && deleted:
			b.Errorf("%s: %s was deleted and lives in %v", when, name, lives)
		case len(lives) == 1 && entry != lives[0]:
			if entry.queue != lives[0].queue || entry.generation < lives[0].generation {
				b.Errorf("%s: %s lives in %v, and the registry has %v", when, name, lives[0], entry)
			}
		case len(lives) == 0 && name == "s" && !mayBeDeleted:
			b.Errorf("%s: %s is lost", when, name)
		case len(lives) == 0 && entry.queue != "":
			b.Errorf("%s: %s lives nowhere, and the registry has %v", when, name, entry)
		}
	}
}

// A queue went back to a state in which it had a schedule that had been moved away since. When the schedule moves back there, before a sweep has found
// the old copy, the arrival replaces this copy, whose counts moved with the schedule: they count once.
func TestAnArrivalDoesNotCountTheCopyThatItReplaces(t *testing.T) {
	onServersWith(t, hookedCalls, func(b *bench) {
		for _, queue := range []string{"default", "mail"} {
			if _, err := b.store.queues.register(b.Context(), queue); err != nil {
				b.Fatal(err)
			}
		}
		k := b.keys()
		missed := func() string { return b.client.HGet(b.Context(), k.counters, "s/missed").Val() }
		lossDeclare(b, b.store, "s", "default", 1)
		b.client.HSet(b.Context(), k.counters, "s/missed", 20)
		lossDeclare(b, b.store, "s", "mail", 1)
		lossDeclare(b, b.store, "s", "default", 1) // its list of queues has both
		isDefault := lossSlots[0].has
		before := b.slotSnapshot(isDefault)
		lossDeclare(b, b.store, "s", "mail", 1)
		b.goBack(isDefault, before)
		if got := missed(); got != "20" {
			b.Fatalf("the copy has counted %q, want 20", got)
		}
		lossDeclare(b, b.store, "s", "default", 1)
		if got, at := missed(), b.registered("s"); got != "20" || at.queue != "default" {
			b.Errorf("%+v has counted %q, want 20", at, got)
		}
	})
}

// repairHomes lets sweeps and a repair of schedules run, when no process is under way.
func (b *bench) repairHomes(when string, partitions []protocol.Partition) {
	b.Helper()
	for range 3 {
		for _, answer := range b.store.Sweep(b.Context(), partitions, 0) {
			if answer.Err != nil {
				b.Fatalf("%s: sweep: %v", when, answer.Err)
			}
		}
		for _, p := range partitions {
			k := b.store.keys.partition(p)
			for name, text := range b.client.HGetAll(b.Context(), k.schedules).Val() {
				if owed := b.client.ZScore(b.Context(), k.owed, name).Val(); owed > 0 {
					if err := b.store.settleMark(b.Context(), name, p.Queue, text); err != nil {
						b.Fatalf("%s: settle: %v", when, err)
					}
				}
			}
		}
	}
	v := &verifier{store: b.store, repair: true, found: func(protocol.Finding) {}, marks: map[string][]protocol.Address{}, hasty: true}
	for _, p := range partitions {
		if err := v.schedules(b.Context(), p); err != nil {
			b.Fatalf("%s: verify: %v", when, err)
		}
	}
	if err := v.registry(b.Context()); err != nil {
		b.Fatalf("%s: verify: %v", when, err)
	}
}

// The registry goes back to a state before a schedule was created, and a program puts the schedule in another queue before a sweep has run. No call knows
// the first copy then: the schedule is created again, and the same occurrence is placed in both queues. The next sweep leaves the copy that the registry
// names, and withdraws the occurrence of the other one.
func TestAScheduleThatTheRegistryHasLostMayRunInTwoQueuesUntilTheSweep(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		queues := []string{"default", "mail"}
		for _, queue := range queues {
			if _, err := b.store.queues.register(b.Context(), queue); err != nil {
				b.Fatal(err)
			}
		}
		isRegistry, at := lossSlots[2].has, storesuite.Ago(-time.Hour)
		before := b.slotSnapshot(isRegistry)
		put := func(queue string) {
			answer := b.DeclareOn(queue, "s", "allow", `{"job":"j"}`)
			if placed := b.Place(*answer.Owed, answer.Revision, 0, at); !answer.New || placed.Placed != 1 {
				b.Fatalf("put in %s: %+v, placed %+v, want a new schedule", queue, answer, placed)
			}
		}
		placed := func() (in string) {
			for _, queue := range queues {
				due := b.store.keys.partition(protocol.Partition{Queue: queue}).due
				if b.client.ZScore(b.Context(), due, "s@"+at.UTC().Format(time.RFC3339)).Err() == nil {
					in += queue + " "
				}
			}
			return in
		}
		put("default")
		b.goBack(isRegistry, before)
		put("mail")
		b.Want("placed before the sweep", placed(), "default mail ")
		b.wantOneHome("after the sweep", false, false, false)
		b.Want("placed after the sweep", placed(), "mail ")
		b.Want("the home after the sweep", b.registered("s").queue, "mail")
	})
}
