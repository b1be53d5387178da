package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// With any use of the queue between two steps of its deletion, the queue is listed in the end, with the new data on it. If the deletion was
// refused, every partition is paused.
func TestWhatComesWhileAQueueIsDeletedIsOnAListedQueue(t *testing.T) {
	caller := int64(0)
	enqueue := func(b *bench, s *store, index int, items ...protocol.EnqueueItem) {
		caller++
		call := protocol.EnqueueCall{Partition: protocol.Partition{Queue: "hot", Index: index}, Caller: fmt.Sprint("c", caller), Number: 1, Items: items}
		if err := s.Enqueue(b.Context(), []protocol.EnqueueCall{call})[0].Err; err != nil {
			b.Fatal(err)
		}
	}
	uses := map[string]func(b *bench, s *store){
		"a job": func(b *bench, s *store) { enqueue(b, s, 2, storesuite.Job("a")) },
		"a delayed job": func(b *bench, s *store) {
			enqueue(b, s, 1, protocol.EnqueueItem{ID: "a", In: time.Hour, Body: []byte("\x01a")})
		},
		"a replacement": func(b *bench, s *store) {
			if _, err := s.Replace(b.Context(), protocol.ReplaceCall{Partition: protocol.Partition{Queue: "hot", Index: 1}, Token: "t", Item: storesuite.Own("a")}); err != nil {
				b.Fatal(err)
			}
		},
		"a schedule": func(b *bench, s *store) {
			d := protocol.Declaration{Name: "s", Queue: "hot", Overlap: "skip", Body: []byte(dailyBody)}
			if err := s.Declare(b.Context(), []protocol.Declaration{d})[0].Err; err != nil {
				b.Fatal(err)
			}
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			onServersWith(t, namespaces, func(b *bench) {
				deleted, refused := 0, 0
				for at := 0; ; at++ {
					b := b.again()
					user := newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: map[string]int{"hot": 3}})
					if _, err := user.Partitions(b.Context(), "hot"); err != nil {
						b.Fatal(err)
					}
					if err := b.store.PauseQueue(b.Context(), "hot", true, protocol.Note{Text: "why"}); err != nil {
						b.Fatal(err)
					}
					n := 0
					remains, err := b.hooked(func(cmd redis.Cmder) error {
						if n++; n == at+1 {
							use(b, user)
						}
						return nil
					}).DeleteQueue(b.Context(), "hot")
					if err != nil {
						b.Fatal(err)
					}
					if n <= at {
						break
					}
					stats, err := b.store.QueueStats(b.Context(), []string{"hot"})
					if err != nil || stats[0].Partitions != 3 || stats[0].Waiting+stats[0].Delayed+stats[0].Schedules != 1 {
						b.Fatalf("used before command %d of the deletion: %+v, %v; want it listed, with the new data", at, stats, err)
					}
					paused := 0
					for i := range 3 {
						if b.client.HExists(b.Context(), b.store.keys.partition(protocol.Partition{Queue: "hot", Index: i}).state, "paused").Val() {
							paused++
						}
					}
					if remains != (protocol.QueueRemains{}) {
						refused++
						if paused != 3 {
							b.Errorf("refused before command %d: %d partitions are paused, want all", at, paused)
						}
					} else if deleted++; paused != 0 {
						b.Errorf("deleted, used before command %d: %d partitions are paused, want none", at, paused)
					}
				}
				if deleted == 0 || refused == 0 {
					b.Errorf("deleted %d times, refused %d times; want both", deleted, refused)
				}
			})
		})
	}
}

// A queue that is deleted while a schedule is declared on it is listed in the end, unless the deletion came first.
func TestAScheduleThatIsDeclaredOnADeletedQueueListsIt(t *testing.T) {
	onServersWith(t, namespaces, func(b *bench) {
		for at := 0; ; at++ {
			b, n := b.again(), 0
			d := protocol.Declaration{Name: "s", Queue: "default", Overlap: "skip", Body: []byte(dailyBody)}
			answer := b.hooked(func(redis.Cmder) error {
				if n++; n == at+1 {
					if _, err := b.store.DeleteQueue(b.Context(), "default"); err != nil {
						b.Fatal(err)
					}
				}
				return nil
			}).Declare(b.Context(), []protocol.Declaration{d})[0]
			if answer.Err != nil {
				b.Fatal(answer.Err)
			}
			if s := b.Stats(); s.Partitions != 1 || s.Schedules != 1 {
				b.Errorf("deleted before command %d of the declaration: %+v, want the queue listed with the schedule", at, s)
			}
			if n <= at {
				return
			}
		}
	})
}

// A late second copy of a call removes nothing that was set since.
func TestACopyOfADeletionTakesNothingAway(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		call := func() reply {
			values, err := b.store.runOne(b.Context(), "delete queue", "default", newCall(&deleteQueueScript, b.keys().deleting(), []any{"token", 60}))
			if err != nil {
				b.Fatal(err)
			}
			return values[1:]
		}
		first := fmt.Sprint(call())
		b.pause(true)
		b.Want("the copy's answer", fmt.Sprint(call()), first)
		if b.stateField("paused") == "" {
			b.Error("a copy has deleted a pause that came later")
		}
	})
}

// An enqueuer whose single jobs use the short path also learns that the queue is gone, and a lost reply changes nothing.
func TestTheNextJobOfABusyEnqueuerListsADeletedQueue(t *testing.T) {
	for lost := range 4 {
		onEveryServer(t, func(b *bench) {
			client := newClient(b.client)
			b.Cleanup(func() { client.Close() })
			left := -1
			client.AddHook(lossy{&left})
			busy := newStore(client, Options{Namespace: string(b.store.keys)})
			call := protocol.EnqueueCall{Partition: storesuite.DefaultPartition, Caller: "busy"}
			send := func() (err error) {
				for range 5 {
					answer := busy.Enqueue(b.Context(), []protocol.EnqueueCall{call})[0]
					if err = answer.Err; err == nil {
						call.Ticket = answer.Ticket
						return nil
					}
				}
				return err
			}
			for i := range 3 {
				call.Number, call.Items = int64(i+1), []protocol.EnqueueItem{storesuite.Job(fmt.Sprint("a", i))}
				if err := send(); err != nil {
					b.Fatal(err)
				}
				b.Cancel(fmt.Sprint("a", i))
			}
			if remains, err := b.store.DeleteQueue(b.Context(), "default"); err != nil || remains != (protocol.QueueRemains{}) {
				b.Fatal(remains, err)
			}
			left = lost
			call.Number, call.Items = 4, []protocol.EnqueueItem{storesuite.Job("b")}
			if err := send(); err != nil {
				b.Fatal(err)
			}
			if s := b.Stats(); s.Partitions != 1 || s.Waiting != 1 {
				b.Errorf("reply %d lost: %+v, want the queue listed with one job", lost, s)
			}
		})
	}
}

// If several enqueuers have used the queue within the last seconds, the next job of any of them lists it again.
func TestTheNextJobOfEachOfManyEnqueuersListsADeletedQueue(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const enqueuers = protocol.MaxItems + 20
		calls := make([]protocol.EnqueueCall, enqueuers)
		for i := range calls {
			calls[i] = protocol.EnqueueCall{Partition: storesuite.DefaultPartition, Caller: fmt.Sprintf("c%04d", i), Number: 1, Items: []protocol.EnqueueItem{storesuite.Job(fmt.Sprint("a", i))}}
			answer := b.store.Enqueue(b.Context(), calls[i:i+1])[0]
			if answer.Err != nil {
				b.Fatal(answer.Err)
			}
			calls[i].Ticket = answer.Ticket
		}
		for _, i := range []int{enqueuers - 1, 0, enqueuers - 20} {
			if _, err := b.store.BeginPurge(b.Context(), storesuite.DefaultPartition); err != nil {
				b.Fatal(err)
			}
			for more := true; more; {
				done, err := b.store.PurgeStep(b.Context(), storesuite.DefaultPartition)
				if more = done.More; err != nil {
					b.Fatal(err)
				}
			}
			if remains, err := b.store.DeleteQueue(b.Context(), "default"); err != nil || remains != (protocol.QueueRemains{}) {
				b.Fatal(remains, err)
			}
			calls[i].Number, calls[i].Items = 2, []protocol.EnqueueItem{storesuite.Job(fmt.Sprint("b", i))}
			if err := b.store.Enqueue(b.Context(), calls[i:i+1])[0].Err; err != nil {
				b.Fatal(err)
			}
			if s := b.Stats(); s.Partitions != 1 || s.Waiting != 1 {
				b.Errorf("enqueuer %d: %+v, want the queue listed with one job", i, s)
			}
			if closed := b.client.ZScore(b.Context(), b.keys().idle, "#closed").Err(); closed == nil {
				b.Error("the gate is closed, so each job of the queue costs two calls")
			}
		}
	})
}

// The guards of a deleted queue expire. If the queue is used again, those that its new jobs and schedules rely on do not.
func TestWhatAQueueThatIsUsedAgainReliesOnDoesNotExpire(t *testing.T) {
	schedule := protocol.Declaration{Name: "s", Queue: "default", Overlap: "skip", Body: []byte(dailyBody), Owner: protocol.Owner{Name: "app", Version: 1}}
	for name, use := range map[string]func(b *bench) error{
		"a job": func(b *bench) error { b.Enqueue(storesuite.Job("a")); return nil },
		"a job of a paused queue": func(b *bench) error {
			if _, err := b.store.queues.register(b.Context(), "default"); err != nil {
				return err
			}
			b.pause(true)
			b.Enqueue(storesuite.Job("a"))
			return nil
		},
		"a limit": func(b *bench) error {
			if err := b.store.LimitQueue(b.Context(), "default", protocol.QueueLimit{Running: 1}); err != nil {
				return err
			}
			b.Enqueue(storesuite.Job("a"))
			return nil
		},
		"a replacement": func(b *bench) error {
			_, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: storesuite.Own("a")})
			return err
		},
		"a schedule": func(b *bench) error { return b.store.Declare(b.Context(), []protocol.Declaration{schedule})[0].Err },
		"a schedule after a job": func(b *bench) error {
			b.Enqueue(storesuite.Job("a"))
			return b.store.Declare(b.Context(), []protocol.Declaration{schedule})[0].Err
		},
		"a schedule that moves here": func(b *bench) error {
			other, moves := schedule, schedule
			other.Queue, moves.Body = "other", []byte(dailyBody)
			if err := b.store.Declare(b.Context(), []protocol.Declaration{other})[0].Err; err != nil {
				return err
			}
			return b.store.Declare(b.Context(), []protocol.Declaration{moves})[0].Err
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.Enqueue(storesuite.Job("x"))
				b.Cancel("x")
				k := b.keys()
				if err := b.store.Declare(b.Context(), []protocol.Declaration{schedule})[0].Err; err != nil {
					b.Fatal(err)
				}
				if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
					b.Fatal(err)
				}
				if remains, err := b.store.DeleteQueue(b.Context(), "default"); err != nil || remains != (protocol.QueueRemains{}) {
					b.Fatal(remains, err)
				}
				guards := map[string]string{"callers": k.callers, "idle": k.idle}
				if strings.HasPrefix(name, "a schedule") {
					guards["gone"], guards["owners"] = k.gone, k.owners
				}
				for guard, key := range guards {
					if ttl := b.client.TTL(b.Context(), key).Val(); ttl <= 0 {
						b.Errorf("deleted: the time to live of %s is %v, want some", guard, ttl)
					}
				}
				if err := use(b); err != nil {
					b.Fatal(err)
				}
				for guard, key := range guards {
					if ttl := b.client.TTL(b.Context(), key).Val(); ttl > 0 {
						b.Errorf("used again: %s expires in %v", guard, ttl)
					}
				}
			})
		})
	}
}

// A deletion with any lost reply is repeated, and then the queue is gone, whether the second call finds it or not.
func TestADeletionOfAQueueMayBeRepeated(t *testing.T) {
	onServersWith(t, namespaces, func(b *bench) {
		lost, replies := 0, 0
		for ; ; lost++ {
			b := b.again()
			wide := newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: map[string]int{"hot": 3}})
			if _, err := wide.Partitions(b.Context(), "hot"); err != nil {
				b.Fatal(err)
			}
			if err := b.store.PauseQueue(b.Context(), "hot", true, protocol.Note{}); err != nil {
				b.Fatal(err)
			}
			client := newClient(b.client)
			left := lost
			client.AddHook(lossy{&left})
			_, err := newStore(client, Options{Namespace: string(b.store.keys)}).DeleteQueue(context.WithoutCancel(b.Context()), "hot")
			client.Close()
			if left >= 0 {
				break
			}
			if err != nil {
				replies++
				if remains, err := b.store.DeleteQueue(b.Context(), "hot"); err != nil && !errors.Is(err, protocol.ErrNotFound) || remains != (protocol.QueueRemains{}) {
					b.Errorf("reply %d lost, repeated: %v, %v", lost, remains, err)
				}
			}
			if left := b.left("hot", 3); left != "" || b.queues()["hot"] != 0 {
				b.Errorf("reply %d lost: left are %s, the registry has %v", lost, left, b.queues())
			}
		}
		if replies < 5 {
			b.Errorf("%d replies were lost, want each", replies)
		}
	})
}

// The number of partitions of a deleted queue remains for an hour; a number above 1, which programs have set, remains permanently.
func TestDeletedQueuesLeaveTheRegistryAfterAnHour(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		key, now := b.store.keys.queues(), b.serverTime().Unix()
		old := func(n int) {
			fields := []any{"/wide", "4", "/recent", fmt.Sprint("1 ", now-3500)}
			for i := range n {
				fields = append(fields, fmt.Sprint("/old", i), fmt.Sprint("1 ", now-3700))
			}
			if err := b.client.HSet(b.Context(), key, fields...).Err(); err != nil {
				b.Fatal(err)
			}
		}
		left := func() string {
			all := b.client.HGetAll(b.Context(), key).Val()
			return strings.Join(slices.Sorted(maps.Keys(all)), " ")
		}
		old(30)
		b.Enqueue(storesuite.Job("a"))
		b.Cancel("a")
		if _, err := b.store.DeleteQueue(b.Context(), "default"); err != nil {
			b.Fatal(err)
		}
		b.Want("after a deletion", left(), "/default /recent /wide")
		if _, err := b.store.DeleteQueue(b.Context(), "recent"); !errors.Is(err, protocol.ErrNotFound) {
			b.Errorf("finishing a deletion: %v, want ErrNotFound, because nothing is left of it", err)
		}
		b.Enqueue(storesuite.Job("a"))
		old(300)
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		b.Want("after a sweep", left(), "/default /recent /wide default")
		if n, err := b.store.Partitions(b.Context(), "wide"); n != 4 || err != nil {
			b.Errorf("%d partitions, %v; want 4", n, err)
		}
	})
}

// An earlier version wrote the entry of a deleted queue without a time: it gets one, and is removed an hour later.
func TestAnEntryOfADeletedQueueWithoutATimeIsRemoved(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		key := b.store.keys.queues()
		b.client.HSet(b.Context(), key, "/old", "1", "/wide", "4", "used", "1")
		if err := b.store.unlist(b.Context(), "", 0, 100); err != nil {
			b.Fatal(err)
		}
		now := b.serverTime().Unix()
		var at int64
		if _, err := fmt.Sscanf(b.client.HGet(b.Context(), key, "/old").Val(), "1 %d", &at); err != nil || at < now-60 || at > now+60 {
			b.Errorf("the entry is %q, want 1 and the time: %v", b.client.HGet(b.Context(), key, "/old").Val(), err)
		}
		b.Want("a number from options", b.client.HGet(b.Context(), key, "/wide").Val(), "4")
		b.Want("a queue in use", b.client.HGet(b.Context(), key, "used").Val(), "1")
		b.client.HSet(b.Context(), key, "/old", fmt.Sprint("1 ", now-3700))
		if err := b.store.unlist(b.Context(), "", 0, 100); err != nil || b.client.HExists(b.Context(), key, "/old").Val() {
			b.Errorf("an hour later the entry is still there: %v", err)
		}
	})
}
