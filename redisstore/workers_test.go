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

// A worker that sends beats is shown until it has been silent for as long as its sessions live. One that sends none, because it is of an older
// version, is shown for three announcements.
func TestAWorkerIsShownForItsSessionAfterItsLastBeat(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		key, now := b.store.keys.workers(), b.serverTime()
		for name, c := range map[string]struct {
			announced, beat time.Duration // ago; beat 0: none
			lives           time.Duration // 0: an older version
			shown           bool
		}{
			"beats":            {announced: 3 * time.Minute, beat: 5 * time.Second, lives: 2 * time.Minute, shown: true},
			"silent":           {announced: 3 * time.Minute, beat: 30 * time.Second, lives: 12 * time.Second},
			"lost its beats":   {announced: 3 * time.Minute, lives: 12 * time.Second},
			"just announced":   {announced: 5 * time.Second, beat: 3 * time.Minute, lives: 2 * time.Minute, shown: true},
			"long session":     {announced: 3 * time.Minute, beat: time.Minute, lives: 2 * time.Minute, shown: true},
			"old version":      {announced: 8 * time.Minute, shown: true},
			"old version gone": {announced: 13 * time.Minute},
		} {
			form := fmt.Sprintf(`{"seen_ms":%d,"since_ms":1,"host":"h","pid":1,"version":"","queues":{},"slots":1,"lives_ms":%d}`, now.Add(-c.announced).UnixMilli(), c.lives.Milliseconds())
			b.client.HSet(b.Context(), key, name, form)
			seen := now.Add(-c.announced)
			if c.beat > 0 {
				if _, _, err := b.store.Beat(b.Context(), name, now.Add(-c.beat)); err != nil {
					b.Fatal(err)
				}
				seen = newest(seen, now.Add(-c.beat))
			}
			workers, err := b.store.Workers(b.Context())
			if err != nil || len(workers) > 1 || (len(workers) == 1) != c.shown {
				b.Errorf("%s: %d workers, %v; want it shown: %v", name, len(workers), err, c.shown)
			}
			if len(workers) == 1 && (workers[0].Seen.UnixMilli() != seen.UnixMilli() || workers[0].Lives != c.lives) {
				b.Errorf("%s: seen %v with a life of %v, want %v and %v", name, workers[0].Seen, workers[0].Lives, seen, c.lives)
			}
			if err := b.store.RetireWorker(b.Context(), name); err != nil {
				b.Fatal(err)
			}
			if left := b.client.Exists(b.Context(), key, b.store.keys.beats()).Val(); left != 0 {
				b.Errorf("%s: %d keys are left after its end", name, left)
			}
		}
	})
}

// The set of beats is bounded by the first beat of each worker, which removes those of workers that vanished without an end. A beat reports that
// the store has lost the worker.
func TestABeatReportsALossAndRemovesOldBeats(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		key, now := b.store.keys.beats(), b.serverTime()
		beat := func(name string, at time.Time) (time.Time, bool) {
			clock, lost, err := b.store.Beat(b.Context(), name, at)
			if err != nil {
				b.Fatal(err)
			}
			return clock, lost
		}
		for i := range 100 {
			beat(fmt.Sprint("gone", i), now.Add(-protocol.WorkerRetention-time.Minute))
		}
		if left := b.client.ZCard(b.Context(), key).Val(); left > 1 {
			b.Errorf("%d beats of vanished workers are left, want one at most", left)
		}
		clock, lost := beat("w", time.Time{})
		if at := b.client.ZScore(b.Context(), key, "w").Val(); !lost || clock.Before(now.Truncate(time.Second)) || int64(at) < now.UnixMilli() {
			b.Errorf("the first beat is at %.0f, lost %v, clock %v; want it at %d or later, and reported", at, lost, clock, now.UnixMilli())
		}
		if _, lost = beat("w", clock); lost {
			b.Error("the second beat reports a loss")
		}
		b.client.Del(b.Context(), key)
		if _, lost = beat("w", clock); !lost {
			b.Error("a beat after a loss does not report it")
		}
	})
}

func newest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A job whose session has lapsed has the last sign of life of its worker, until a role returns it.
func TestAJobOfAVanishedWorkerIsShownWithItsLastSignOfLife(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"))
		lives, gone := protocol.NewSession(time.Minute), protocol.NewSession(12*time.Second)
		b.Work(lives, protocol.WorkCall{Take: 1, TTL: time.Minute})
		b.Work(gone, protocol.WorkCall{Take: 1, TTL: time.Minute})
		lapse := b.serverTime().Add(-time.Hour).Truncate(time.Millisecond)
		b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(float64(lapse.UnixMilli()), gone))
		page, err := b.store.PageJobs(b.Context(), protocol.JobPageCall{Queue: "default", State: protocol.JobRunning, Limit: 10})
		if err != nil {
			b.Fatal(err)
		}
		found, err := b.store.FindJobs(b.Context(), "default", []string{"a", "b"})
		if err != nil {
			b.Fatal(err)
		}
		for from, jobs := range map[string][]protocol.FoundJob{"page": page.Jobs, "find": found} {
			if len(jobs) != 2 {
				b.Fatalf("%s: %d jobs, want 2", from, len(jobs))
			}
			for _, job := range jobs {
				want := map[string]time.Time{"b": lapse.Add(-12 * time.Second)}[job.ID]
				if !job.Vanished.Equal(want) {
					b.Errorf("%s: job %s vanished %v, want %v", from, job.ID, job.Vanished, want)
				}
			}
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
