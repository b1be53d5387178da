package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// mebibyte is about what one call carries, unless a single one is larger.
const mebibyte = 1 << 20

// A body that grew when its job failed (an error and a stack are kept in it) counts like one that was enqueued so.
func TestBodiesThatGrewAreLookedAtBeforeTheyAreTaken(t *testing.T) {
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
			answer := b.work("s", protocol.WorkCall{Take: 500})
			bytes := 0
			for _, taken := range answer.Taken {
				bytes += len(taken.Body)
			}
			if bytes > mebibyte || len(answer.Taken) == 0 && answer.More {
				b.Fatalf("a call took %d jobs with %d bytes", len(answer.Taken), bytes)
			}
			all, more = all+len(answer.Taken), answer.More || all == 0
		}
		if all != n {
			b.Errorf("%d taken again, want %d", all, n)
		}
	})
}

// An occurrence comes with its definition, and so does what it makes owed; who asks for what is owed gets the same.
func TestDefinitionsAreLookedAtBeforeTheyAreTaken(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const schedules, length = 30, 100 << 10
		for i := range schedules {
			declared := b.declare(fmt.Sprintf("s%02d", i), "skip", `{"job":"j","payload":"`+strings.Repeat("p", length)+`"}`)
			if placed := b.place(*declared.Owed, declared.Revision, 0, declared.Created); placed.Placed != 1 {
				b.Fatalf("placed %+v", placed)
			}
		}
		all := 0
		for more := true; more; {
			answer := b.work("s", protocol.WorkCall{Take: 500})
			bytes := 0
			for _, taken := range answer.Taken {
				bytes += len(taken.Definition)
			}
			for _, owed := range answer.Owed {
				bytes += len(owed.Definition)
			}
			if bytes > mebibyte || len(answer.Taken) == 0 {
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
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{line0})
		if err != nil || len(owed) == 0 || len(owed) > mebibyte/length {
			b.Errorf("%d are told to be owed, %v; want about ten", len(owed), err)
		}
	})
}

// A session with thousands of jobs is reaped a step at a time, none of which reads all of them.
func TestAVastSessionIsReapedInSteps(t *testing.T) {
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
			if done, err = b.store.Reap(b.Context(), protocol.ReapCall{Partition: line0, Session: lapsed.Session, Seen: lapsed.Lapse}); err != nil {
				b.Fatal(err)
			}
		}
		if s := b.stats(); s.Waiting != n || s.Running != 0 || steps < n/500 {
			b.Errorf("%d steps, %d wait, %d in flight; want all of %d back in steps of 500", steps, s.Waiting, s.Running, n)
		}
		seen := map[string]bool{}
		for len(seen) < n {
			taken := b.take("t", 500)
			if len(taken) == 0 {
				b.Fatalf("%d came back, want %d", len(seen), n)
			}
			for _, job := range taken {
				if seen[job.ID] || job.Crashes != 1 {
					b.Fatalf("%s came back with %d crashes, or twice", job.ID, job.Crashes)
				}
				seen[job.ID] = true
			}
		}
	})
}
