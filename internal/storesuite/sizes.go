package storesuite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func (s *Suite) TestATakeReturnsAboutAMebibyteAtMost(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		var items []protocol.EnqueueItem
		for i := range 20 {
			item := Job(fmt.Sprintf("j%02d", i))
			item.Body = append(item.Body, strings.Repeat("x", 100<<10)...)
			items = append(items, item)
		}
		b.Enqueue(items[:10]...)
		b.Enqueue(items[10:]...)
		answer := b.Work("s", protocol.WorkCall{Take: 20})
		if n := len(answer.Taken); n != 10 || !answer.More {
			b.Errorf("took %d of 20 jobs of 100 KiB, more %v; want 10 and more", n, answer.More)
		}
		b.Want("the rest", fmt.Sprint(len(b.Take("s", 20))), "10")
	})
}

func (s *Suite) TestLargeReadyJobsDoNotHoldUpDueJobs(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		for i := range 6 {
			large := Job(fmt.Sprint("r", i))
			large.Body = []byte("\x01" + strings.Repeat("x", 600<<10))
			b.Enqueue(large)
		}
		due := Job("d")
		due.At = time.Now().Add(-time.Second)
		b.Enqueue(due)
		if taken := IDs(b.Take("s", 10)) + " " + IDs(b.Take("s", 10)); !strings.Contains(taken, "d") {
			b.Errorf("taken in two calls: %s; want the due one among them", taken)
		}
	})
}

// A body that grew when its job failed (it keeps the error and a stack) counts like one enqueued with that length.
func (s *Suite) TestATakeCountsTheBytesOfBodiesThatGrew(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		const n, length = 400, 6 << 10
		for first := 0; first < n; first += 200 {
			var items []protocol.EnqueueItem
			for i := first; i < first+200; i++ {
				items = append(items, Job(fmt.Sprintf("j%03d", i)))
			}
			b.Enqueue(items...)
		}
		var settle []protocol.Settlement
		for _, taken := range b.Take("s", n) {
			settle = append(settle, protocol.Settlement{
				ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleLater, Failed: true, Body: []byte("\x01" + strings.Repeat("s", length)),
			})
		}
		for len(settle) > 0 {
			b.Work("s", protocol.WorkCall{Settle: settle[:40]})
			settle = settle[40:]
		}
		all := 0
		for more := true; more; {
			answer := b.Work("s", protocol.WorkCall{Take: protocol.MaxTake})
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

// A call takes a bounded number of occurrences, because one costs the server as much as several jobs. Neither due nor ready waits
// for the other.
func (s *Suite) TestACallTakesAtMost150Occurrences(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		const schedules = 450
		for first := 0; first < schedules; first += 50 {
			var declared []protocol.Declaration
			for i := first; i < first+50; i++ {
				declared = append(declared, protocol.Declaration{Name: fmt.Sprintf("s%03d", i), Queue: "default", Overlap: "skip", Body: []byte(`{"job":"j"}`)})
			}
			var placements []protocol.Placement
			for _, answer := range b.Store.Declare(b.Context(), declared) {
				placements = append(placements, protocol.Placement{
					Partition: DefaultPartition, Name: answer.Owed.Name, Revision: answer.Revision, Cursor: answer.Owed.Cursor, Instants: []time.Time{answer.Created},
				})
			}
			for _, placed := range b.Store.Place(b.Context(), placements) {
				if placed.Placed != 1 {
					b.Fatalf("placed %+v", placed)
				}
			}
		}
		var items []protocol.EnqueueItem
		for i := range 30 {
			items = append(items, Job(fmt.Sprintf("job%02d", i)))
		}
		b.Enqueue(items...)
		first := b.Work("w", protocol.WorkCall{Take: protocol.MaxTake})
		b.Want("taken first", kindsOf(first.Taken), "150 occurrences, 30 jobs")
		if !first.More {
			b.Error("more is false, and there is more")
		}
		// given back, they are in ready, and the others are in due
		var back []protocol.Settlement
		for _, taken := range first.Taken {
			back = append(back, protocol.Settlement{ID: taken.ID, Fence: taken.Fence, Kind: protocol.SettleBack})
		}
		b.Work("w", protocol.WorkCall{Settle: back})
		second := b.Work("w", protocol.WorkCall{Take: protocol.MaxTake})
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
			answer := b.Work("w", protocol.WorkCall{Take: protocol.MaxTake})
			if len(answer.Taken) == 0 {
				b.Fatalf("%d taken, the answer reported more, and the next call took none", len(all))
			}
			all, more = append(all, answer.Taken...), answer.More
		}
		b.Want("taken then", kindsOf(all), "450 occurrences, 30 jobs")
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
