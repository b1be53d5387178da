package redisstore

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A killed worker is not shown any more after three announcements, and is removed with those of others.
func TestWorkersThatAreSilentForThreeAnnouncementsGo(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		key := b.store.keys.workers()
		silent := b.serverTime().Add(-protocol.WorkerRetention - time.Second).UnixMilli()
		for i := range 250 {
			b.client.HSet(b.Context(), key, fmt.Sprint("gone", i), fmt.Sprintf(`{"seen_ms":%d,"since_ms":1,"host":"h","pid":1,"version":"","queues":{},"slots":1}`, silent))
		}
		b.client.HSet(b.Context(), key, "hand", "written by hand")
		if workers, err := b.store.Workers(b.Context()); err != nil || len(workers) != 0 {
			b.Errorf("%d workers, %v; want none", len(workers), err)
		}
		for i := range 4 {
			if err := b.store.AnnounceWorker(b.Context(), protocol.WorkerEntry{Name: strings.Repeat("W", i+1)}); err != nil {
				b.Fatal(err)
			}
		}
		if left := b.client.HLen(b.Context(), key).Val(); left != 4 {
			b.Errorf("%d entries are left, want the 4 of the live workers", left)
		}
	})
}

// Jobs taken ahead count, and returned ones do not.
func TestWhatAWorkerHoldsIsCountedOnAllQueues(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"), storesuite.Job("d"))
		b.Work("s1", protocol.WorkCall{Take: 2, Ahead: 1, TTL: time.Minute})
		b.Work("s2", protocol.WorkCall{Take: 1, TTL: time.Minute})
		call := protocol.WorkCall{Partition: storesuite.DefaultPartition, Worker: "w-s1", Session: "s3", Number: 1, Take: 1, TTL: time.Minute}
		if err := b.store.Work(b.Context(), []protocol.WorkCall{call})[0].Err; err != nil {
			b.Fatal(err)
		}
		b.client.HSet(b.Context(), b.keys().inflight("s4"), "hand", "written")
		b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(float64(time.Now().Add(time.Hour).UnixMilli()), "s4"))
		got, err := b.store.Held(b.Context(), []string{"default", "unknown"})
		if want := map[string]int{"w-s1": 3, "w-s2": 1}; err != nil || !reflect.DeepEqual(got, want) {
			b.Errorf("held %v, %v; want %v", got, err, want)
		}
		if got, err := b.store.Held(b.Context(), nil); err != nil || len(got) != 0 {
			b.Errorf("on no queue: %v, %v", got, err)
		}
	})
}
