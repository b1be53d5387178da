package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
	"github.com/chimejobs/chime/internal/wire"
)

// marks returns the jobs in flight of a session: ID -> "-" if the job is marked as not begun, else "".
func (b *bench) marks(session string) map[string]string {
	b.Helper()
	marks := b.client.HGetAll(b.Context(), b.keys().inflight(session)).Val()
	delete(marks, "\x01")
	for id, fence := range marks {
		marks[id] = fence[:len(fence)-len(strings.TrimLeft(fence, "-"))]
	}
	return marks
}

func named(id, name string) protocol.EnqueueItem {
	item := storesuite.Job(id)
	envelope := wire.Envelope{Name: name, MaxAttempts: 3}
	item.Body = envelope.Encode()
	return item
}

// A job that gathers has not begun until the worker names it: whatever happens before counts nothing. A job that has crashed, or that a limit counts,
// has begun with its take.
func TestATakeMarksJobsThatGather(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		expiring := wire.Envelope{Name: "bulk", MaxAttempts: 3, Expires: time.Now().Add(time.Hour)}
		item := storesuite.Job("expires")
		item.Body = expiring.Encode()
		long := strings.Repeat("long", 25) // of another form
		b.Enqueue(named("l", long), named("m", long[1:]), named("a", "bulk"), named("b", "bul"), named("c", "bulk2"), named("d", "mail"), named("crashed", "bulk"), named("once", "bulk"), item)
		b.crashed(1, "crashed")
		b.client.HSet(b.Context(), b.keys().crashes, "once", "v")
		call := protocol.WorkCall{Take: 20, Gathers: []string{"bulk", long, "mail"}}
		first := b.Work("s", call)
		want := map[string]string{"l": "-", "m": "", "a": "-", "b": "", "c": "", "d": "-", "crashed": "", "once": "", "expires": "-"}
		if got := b.marks("s"); !maps.Equal(got, want) {
			b.Errorf("marked %v, want %v", got, want)
		}
		for _, job := range first.Taken {
			if job.Ordered || job.Full {
				b.Errorf("%s is said to be of a group: %+v", job.ID, job)
			}
		}
		begun := first.Taken[slices.IndexFunc(first.Taken, func(job protocol.TakenJob) bool { return job.ID == "a" })]
		b.Work("s", protocol.WorkCall{Begun: []protocol.BegunJob{{ID: "a", Fence: begun.Fence}}})
		if want["a"] = ""; !maps.Equal(b.marks("s"), want) {
			b.Errorf("after the begin of a: marked %v, want %v", b.marks("s"), want)
		}
	})
}

func TestAQueueWithALimitCountsJobsThatGatherAsBegun(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		if err := b.store.LimitQueue(b.Context(), "default", protocol.QueueLimit{Running: 5}); err != nil {
			b.Fatal(err)
		}
		b.Enqueue(named("a", "bulk"), named("b", "bulk"))
		b.Work("s", protocol.WorkCall{Take: 10, Gathers: []string{"bulk"}})
		if got, want := b.marks("s"), (map[string]string{"a": "", "b": ""}); !maps.Equal(got, want) {
			b.Errorf("marked %v, want %v", got, want)
		}
	})
}

// Only jobs of groups without a limit and order are marked. The answer shows which groups run in order, and which may start no more jobs.
func TestAnAnswerShowsOrderedAndFullGroups(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for group, rule := range map[string]protocol.GroupRule{"ordered": {Ordered: 1}, "two": {Running: 2}, "three": {Running: 3}, "starts": {Starts: 1, Per: time.Hour}, "heavy": {Weight: 5}} {
			if err := b.store.SetGroup(b.Context(), "default", group, rule); err != nil {
				b.Fatal(err)
			}
		}
		for _, group := range []string{"ordered", "two", "three", "starts", "heavy", "none", ""} {
			for i := range 2 {
				item := named(fmt.Sprint(group, i), "bulk")
				if item.Group = group; group != "" {
					envelope := wire.Envelope{Name: "bulk", MaxAttempts: 3, Details: &wire.Details{Group: group}}
					item.Body = envelope.Encode()
				}
				b.Enqueue(item)
			}
		}
		answer := b.Work("s", protocol.WorkCall{Take: 100, Gathers: []string{"bulk"}})
		want := map[string]string{"ordered0": " o", "two0": " f", "two1": " f", "three0": " ", "three1": " ", "starts0": " f",
			"heavy0": "- ", "heavy1": "- ", "none0": "- ", "none1": "- ", "0": "- ", "1": "- "}
		got := b.marks("s")
		for _, job := range answer.Taken {
			got[job.ID] += " "
			if job.Ordered {
				got[job.ID] += "o"
			}
			if job.Full {
				got[job.ID] += "f"
			}
		}
		if !maps.Equal(got, want) {
			b.Errorf("got %v\nwant %v", got, want)
		}
		if len(answer.Skipped) > 0 || len(answer.PausedSchedules) > 0 || answer.Limit != protocol.Unlimited {
			b.Errorf("the answer has %q skipped, %v paused and limit %v, want none", answer.Skipped, answer.PausedSchedules, answer.Limit)
		}
	})
}
