package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Each kind of data that may be on a queue stops its deletion, and does not change; without it the queue is deleted.
func TestAQueueIsDeletedOnlyWhereNothingIsOnIt(t *testing.T) {
	later := storesuite.Job("later")
	later.In = time.Hour
	settled := func(b *bench, s protocol.Settlement) {
		b.Enqueue(storesuite.Job(s.ID))
		s.Fence = b.Take("s", 1)[0].Fence
		if !b.Settle("s", s) {
			b.Fatal("refused")
		}
		if err := b.store.CloseSession(b.Context(), storesuite.DefaultPartition, "s", nil); err != nil {
			b.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		put  func(b *bench)
		want string
		free func(b *bench) // removes it
	}{
		"waiting": {func(b *bench) { b.Enqueue(storesuite.Job("a"), storesuite.Job("b")) }, "2 waiting jobs", func(b *bench) { b.Cancel("a"); b.Cancel("b") }},
		"purged": {func(b *bench) {
			b.Enqueue(storesuite.Job("a"), storesuite.Job("void"))
			b.Cancel("void")
			if _, err := b.store.BeginPurge(b.Context(), storesuite.DefaultPartition); err != nil {
				b.Fatal(err)
			}
		}, "1 waiting job", func(b *bench) {
			if _, err := b.store.PurgeStep(b.Context(), storesuite.DefaultPartition); err != nil {
				b.Fatal(err)
			}
		}},
		"delayed": {func(b *bench) { b.Enqueue(later) }, "1 delayed or retrying job", func(b *bench) { b.Cancel("later") }},
		"held": {func(b *bench) { b.Enqueue(storesuite.Job("a")); b.Take("s", 1) }, "1 worker that holds jobs", func(b *bench) {
			fence := b.Repeat("s", protocol.WorkCall{Take: 1}).Taken[0].Fence
			b.Settle("s", protocol.Settlement{ID: "a", Fence: fence, Kind: protocol.SettleDone})
			if err := b.store.CloseSession(b.Context(), storesuite.DefaultPartition, "s", nil); err != nil {
				b.Fatal(err)
			}
		}},
		"parked": {func(b *bench) { settled(b, protocol.Settlement{ID: "a", Kind: protocol.SettlePark, Name: "mail"}) }, "1 job name with parked jobs", func(b *bench) { b.Cancel("a") }},
		"dead": {func(b *bench) { settled(b, protocol.Settlement{ID: "a", Kind: protocol.SettleDead}) }, "1 dead job", func(b *bench) {
			b.bulk(b.store.DeleteJobs(b.Context(), "default", []string{"a"}))
		}},
		"result": {func(b *bench) {
			settled(b, protocol.Settlement{ID: "a", Kind: protocol.SettleDone, Result: &protocol.Result{Keep: time.Hour, Body: []byte("r")}})
		}, "1 kept result", func(b *bench) { b.client.ZAdd(b.Context(), b.keys().kept, redisZ(1, "a")) }}, // its time is over
		"schedule": {func(b *bench) { b.Declare("s", "skip", dailyBody) }, "1 schedule", func(b *bench) {
			if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
				b.Fatal(err)
			}
		}},
		"a schedule that moves away": {func(b *bench) {
			from := b.Scheduled("s", "skip", storesuite.Ago(-time.Hour))
			if from.Err != nil {
				b.Fatal(from.Err)
			}
			b.interruptMove("s", "default", "mail", 2)
		}, "1 schedule", func(b *bench) { b.DeclareOn("mail", "s", "skip", dailyBody) }},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				c.put(b)
				before := b.kept("s", "mail")
				remains, err := b.store.DeleteQueue(b.Context(), "default")
				if err != nil || remains.String() != c.want {
					b.Fatalf("deleting: %q, %v; want %q", remains, err, c.want)
				}
				b.Want("after a refused deletion", b.kept("s", "mail"), before)
				c.free(b)
				if remains, err := b.store.DeleteQueue(b.Context(), "default"); err != nil || remains != (protocol.QueueRemains{}) {
					b.Fatalf("deleting: %q, %v; want that it is done", remains, err)
				}
				if left := b.left("default", 1); left != "" || b.queues()["default"] != 0 {
					b.Errorf("left are %s, the registry has %v", left, b.queues())
				}
				if _, err := b.store.DeleteQueue(b.Context(), "default"); !errors.Is(err, protocol.ErrNotFound) {
					b.Errorf("deleting it again: %v, want ErrNotFound", err)
				}
			})
		})
	}
}

const dailyBody = `{"job":"j","recurrence":{"cron":"@daily"}}`

// left names the existing keys of a queue, except those that remain for some time on purpose and then expire.
func (b *bench) left(queue string, partitions int) string {
	b.Helper()
	var left []string
	for i := range partitions {
		k := b.store.keys.partition(protocol.Partition{Queue: queue, Index: i})
		for key := range k.types() {
			switch n := b.client.Exists(b.Context(), key).Val(); {
			case n == 0:
			case key == k.callers || key == k.idle || key == k.gone || key == k.owners || key == k.inbox:
				if ttl := b.client.TTL(b.Context(), key).Val(); ttl <= 0 || ttl > 7*24*time.Hour {
					b.Errorf("%s lasts for %v", key, ttl)
				}
			default:
				left = append(left, key)
			}
		}
	}
	return strings.Join(left, " ")
}

// Everything that was set on a queue, and its counts, are deleted with it; its number of partitions remains.
func TestADeletedQueueRestartsWithItsPartitions(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first := newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: map[string]int{"hot": 4}})
		if n, err := first.Partitions(b.Context(), "hot"); n != 4 || err != nil {
			b.Fatal(n, err)
		}
		b.Limit(protocol.QueueLimit{Running: 3})
		b.Enqueue(storesuite.Job("before"))
		b.Cancel("before")
		for _, queue := range []string{"hot", "default"} {
			if err := b.store.PauseQueue(b.Context(), queue, true, protocol.Note{Text: "why"}); err != nil {
				b.Fatal(err)
			}
			if err := first.Announce(b.Context(), "w", []protocol.Handled{{Queue: queue, Name: "j"}}); err != nil {
				b.Fatal(err)
			}
			if remains, err := b.store.DeleteQueue(b.Context(), queue); err != nil || remains != (protocol.QueueRemains{}) {
				b.Fatal(remains, err)
			}
			if left := b.left(queue, 4); left != "" {
				b.Errorf("left are %s", left)
			}
		}
		if served, err := b.store.Served(b.Context(), nil); err != nil || len(served) > 0 {
			b.Errorf("served are %v, %v", served, err)
		}
		b.Want("queues", fmt.Sprint(b.queues()), "map[]")
		second := newStore(b.client, Options{Namespace: string(b.store.keys)}) // this process does not know the four
		for _, s := range []*store{second, first} {
			if n, err := s.Partitions(b.Context(), "hot"); n != 4 || err != nil {
				b.Errorf("%d partitions, %v; want 4", n, err)
			}
		}
		b.Enqueue(storesuite.Job("a"))
		if b.gateClosed() {
			b.Error("single jobs do not use the short path any more")
		}
		s := b.Stats()
		if s.Partitions != 1 || s.Paused || s.Limit != (protocol.QueueLimit{}) || s.Enqueued != 1 || s.Waiting != 1 {
			b.Errorf("begun again: %+v", s)
		}
		b.Want("taken", storesuite.IDs(b.Take("s", 2)), "a")
	})
}

// A worker that holds no job of a queue does not stop its deletion, even while its session is open. The session ends with the queue: its
// next call, its heartbeat and a late copy of its first call are refused, it leaves nothing to reap, and a new session takes later jobs.
func TestASessionWithoutAJobKeepsNoQueue(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		taken := b.Take("s", 1)
		if remains, err := b.store.DeleteQueue(b.Context(), "default"); err != nil || remains.Sessions != 1 {
			b.Fatal(remains, err)
		}
		b.Settle("s", protocol.Settlement{ID: "a", Fence: taken[0].Fence, Kind: protocol.SettleDone})
		if remains, err := b.store.DeleteQueue(b.Context(), "default"); err != nil || remains != (protocol.QueueRemains{}) {
			b.Fatalf("deleting: %q, %v; want that it is done", remains, err)
		}
		k := b.keys()
		if left := b.left("default", 1); left != "" || b.client.Exists(b.Context(), k.inflight("s")).Val() != 0 {
			b.Errorf("left are %s, or its hash", left)
		}
		b.Enqueue(storesuite.Job("b"))
		if answer := b.Try("s", protocol.WorkCall{Take: 1}); !errors.Is(answer.Err, protocol.ErrSessionLost) {
			b.Errorf("its next call: %+v, want ErrSessionLost", answer)
		}
		b.Numbers["s"] = 1
		if answer := b.Repeat("s", protocol.WorkCall{Take: 1}); !errors.Is(answer.Err, protocol.ErrSessionLost) {
			b.Errorf("a copy of its first call: %+v, want ErrSessionLost", answer)
		}
		if err := b.store.CloseSession(b.Context(), storesuite.DefaultPartition, "s", nil); err != nil {
			b.Error(err)
		}
		if n := b.client.ZCard(b.Context(), k.sessions).Val(); n != 0 {
			b.Errorf("%d sessions, want none", n)
		}
		b.Want("taken by another", storesuite.IDs(b.Take("s2", 1)), "b")
	})
}

// Keys that outlive a deleted queue for some time become persistent once the queue is used again.
func TestASweepKeepsWhatADeletedQueueHasLeft(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.Cancel("a")
		b.Declare("s", "skip", dailyBody)
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
			b.Fatal(err)
		}
		b.Sleeping("w")
		if remains, err := b.store.DeleteQueue(b.Context(), "default"); err != nil || remains != (protocol.QueueRemains{}) {
			b.Fatal(remains, err)
		}
		k := b.keys()
		for _, key := range []string{k.callers, k.idle, k.gone} {
			if ttl := b.client.TTL(b.Context(), key).Val(); ttl <= 0 {
				b.Errorf("%s lasts for %v, want that it expires", key, ttl)
			}
		}
		b.Enqueue(protocol.EnqueueItem{ID: "b", In: time.Hour, Body: []byte("\x01b")}) // wakes no worker
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		for _, key := range []string{k.callers, k.idle, k.gone} {
			if ttl := b.client.TTL(b.Context(), key).Val(); ttl != -1 {
				b.Errorf("%s lasts for %v, want it persistent", key, ttl)
			}
		}
	})
}
