package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A body that grew when its job failed (it keeps the error and a stack) counts like one that was enqueued with that length.
func TestATakeCountsTheBytesOfBodiesThatGrew(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const n, length = 400, 6 << 10
		for first := 0; first < n; first += 200 {
			var items []protocol.EnqueueItem
			for i := first; i < first+200; i++ {
				items = append(items, job(fmt.Sprintf("j%03d", i)))
			}
			b.enqueue(items...)
		}
		var settle []protocol.Settlement
		for _, taken := range b.take("s", n) {
			settle = append(settle, protocol.Settlement{
				ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleLater, Failed: true, Body: []byte("\x01" + strings.Repeat("s", length)),
			})
		}
		for len(settle) > 0 {
			b.work("s", protocol.WorkCall{Settle: settle[:40]})
			settle = settle[40:]
		}
		all := 0
		for more := true; more; {
			answer := b.work("s", protocol.WorkCall{Take: protocol.MaxTake})
			bytes := 0
			for _, taken := range answer.Taken {
				bytes += len(taken.Body)
			}
			if bytes > protocol.MaxBytes || len(answer.Taken) == 0 && answer.More {
				b.Fatalf("a call took %d jobs with %d bytes", len(answer.Taken), bytes)
			}
			all, more = all+len(answer.Taken), answer.More || all == 0
		}
		if all != n {
			b.Errorf("%d taken again, want %d", all, n)
		}
	})
}

// A taken occurrence comes with its definition, and so does each schedule in Owed. A list of owed schedules is bounded too.
func TestATakeCountsTheBytesOfDefinitions(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const schedules, length = 15, 100 << 10
		for i := range schedules {
			declared := b.declare(fmt.Sprintf("team@s%02d", i), "skip", `{"job":"j","payload":"`+strings.Repeat("p", length)+`"}`)
			if placed := b.place(*declared.Owed, declared.Revision, 0, declared.Created); placed.Placed != 1 {
				b.Fatalf("placed %+v", placed)
			}
		}
		all := 0
		for more := true; more; {
			answer := b.work("s", protocol.WorkCall{Take: protocol.MaxTake})
			bytes := 0
			for _, taken := range answer.Taken {
				bytes += len(taken.Definition)
			}
			for _, owed := range answer.Owed {
				bytes += len(owed.Definition)
			}
			if bytes > protocol.MaxBytes || len(answer.Taken) == 0 {
				b.Fatalf("a call took %d occurrences with %d bytes", len(answer.Taken), bytes)
			}
			all, more = all+len(answer.Taken), answer.More
		}
		if all != schedules {
			b.Errorf("%d taken, want %d", all, schedules)
		}
		for _, name := range b.client.ZRange(b.Context(), b.keys().owed, 0, -1).Val() {
			b.client.ZAdd(b.Context(), b.keys().owed, redisZ(float64(ago(time.Minute).UnixMilli()), name))
		}
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{defaultPartition})
		if err != nil || len(owed) == 0 || len(owed) > protocol.MaxBytes/length {
			b.Errorf("%d owed, %v; want about ten", len(owed), err)
		}
	})
}

// A session with thousands of jobs is reaped in several calls, none of which reads all of them.
func TestALargeSessionIsReapedInSteps(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const n = 5200
		for first := 0; first < n; first += 400 {
			var items []protocol.EnqueueItem
			for i := first; i < first+400; i++ {
				items = append(items, job(fmt.Sprintf("j%05d", i)))
			}
			b.enqueue(items...)
			b.work("s", protocol.WorkCall{Take: 400, TTL: time.Millisecond})
		}
		lapsed := b.untilLapsed()
		steps := 0
		for done := false; !done; steps++ {
			var err error
			if done, err = b.reapStep(protocol.ReapCall{Partition: defaultPartition, Session: lapsed.Session, Seen: lapsed.Lapse}); err != nil {
				b.Fatal(err)
			}
		}
		if s := b.stats(); s.Waiting != n || s.Running != 0 || steps < n/500 {
			b.Errorf("%d calls, %d wait, %d in flight; want all of %d returned, 500 a call", steps, s.Waiting, s.Running, n)
		}
		seen := map[string]bool{}
		for len(seen) < n {
			taken := b.take("t", 500)
			if len(taken) == 0 {
				b.Fatalf("%d returned, want %d", len(seen), n)
			}
			for _, job := range taken {
				if seen[job.ID] || job.Crashes != 1 {
					b.Fatalf("%s returned with %d crashes, or twice", job.ID, job.Crashes)
				}
				seen[job.ID] = true
			}
		}
	})
}

// A call takes a bounded number of occurrences, because one costs the server as much as several jobs. Neither due nor ready waits
// for the other.
func TestACallTakesAtMost150Occurrences(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const schedules = 450
		for first := 0; first < schedules; first += 50 {
			var declared []protocol.Declaration
			for i := first; i < first+50; i++ {
				declared = append(declared, protocol.Declaration{Name: fmt.Sprintf("s%03d", i), Queue: "default", Overlap: "skip", Body: []byte(`{"job":"j"}`)})
			}
			var placements []protocol.Placement
			for _, answer := range b.store.Declare(b.Context(), declared) {
				placements = append(placements, protocol.Placement{
					Partition: defaultPartition, Name: answer.Owed.Name, Revision: answer.Revision, Cursor: answer.Owed.Cursor, Instants: []time.Time{answer.Created},
				})
			}
			for _, placed := range b.store.Place(b.Context(), placements) {
				if placed.Placed != 1 {
					b.Fatalf("placed %+v", placed)
				}
			}
		}
		var items []protocol.EnqueueItem
		for i := range 30 {
			items = append(items, job(fmt.Sprintf("job%02d", i)))
		}
		b.enqueue(items...)
		first := b.work("w", protocol.WorkCall{Take: protocol.MaxTake})
		b.want("taken first", kindsOf(first.Taken), "150 occurrences, 30 jobs")
		if !first.More {
			b.Error("more is false, and there is more")
		}
		// given back, they are in ready, and the others are in due
		var back []protocol.Settlement
		for _, taken := range first.Taken {
			back = append(back, protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleBack})
		}
		b.work("w", protocol.WorkCall{Settle: back})
		second := b.work("w", protocol.WorkCall{Take: protocol.MaxTake})
		due := 0
		for _, taken := range second.Taken {
			if !slices.ContainsFunc(first.Taken, func(job protocol.TakenJob) bool { return job.ID == taken.ID }) {
				due++
			}
			if name, _, ok := strings.Cut(taken.ID, "@"); ok == (taken.Body != nil) || !ok && string(taken.Body) != "\x01"+name {
				b.Fatalf("took %+v", taken)
			}
		}
		if due < 75 || len(second.Taken)-due < 75 {
			b.Errorf("taken second: %d that were due and %d that were ready, want half of each", due, len(second.Taken)-due)
		}
		all := second.Taken
		for more := true; more; {
			answer := b.work("w", protocol.WorkCall{Take: protocol.MaxTake})
			if len(answer.Taken) == 0 {
				b.Fatalf("%d taken, the answer said more, and the next call took none", len(all))
			}
			all, more = append(all, answer.Taken...), answer.More
		}
		b.want("taken then", kindsOf(all), "450 occurrences, 30 jobs")
	})
}

func kindsOf(taken []protocol.TakenJob) string {
	occurrences, seen := 0, map[string]bool{}
	for _, job := range taken {
		if strings.Contains(job.ID, "@") {
			occurrences++
		}
		seen[job.ID] = true
	}
	if len(seen) != len(taken) {
		return "some twice"
	}
	return fmt.Sprintf("%d occurrences, %d jobs", occurrences, len(taken)-occurrences)
}
