package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Each of these tests holds one check of a script. If the check were removed, the other tests would still pass.

// Two changes within a second leave the same cursor and differ in the revision only.
func TestPlacingForAnEarlierRevisionIsLost(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.declare("s", "skip", `{"job":"0"}`)
		for n := 1; n < 200; n += 2 {
			first := b.declare("s", "skip", fmt.Sprintf(`{"job":"%d"}`, n))
			second := b.declare("s", "skip", fmt.Sprintf(`{"job":"%d"}`, n+1))
			if first.Owed.Cursor != second.Owed.Cursor {
				continue // a second has passed between them
			}
			if placed := b.place(*first.Owed, first.Revision, 0, ago(-time.Hour)); !placed.Lost {
				b.Errorf("placed %+v for the earlier revision, want lost", placed)
			}
			return
		}
		b.Fatal("no two changes were within a second")
	})
}

func TestNothingIsPlacedForAPausedSchedule(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.declare("s", "skip", `{"job":"j"}`)
		if _, err := pauseSchedule(b.Context(), b.store, "s", true); err != nil {
			b.Fatal(err)
		}
		if placed := b.place(*declared.Owed, declared.Revision, 0, ago(-time.Hour)); !placed.Lost {
			b.Errorf("placed %+v, want lost", placed)
		}
	})
}

// A session that was extended after it was seen and has lapsed again is not reaped for the lapse that was seen.
func TestReapingNeedsTheLapseThatWasSeen(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"))
		b.work("s", protocol.WorkCall{Take: 1, TTL: time.Millisecond})
		seen := b.untilLapsed()
		latest := seen
		for latest.Lapse.Equal(seen.Lapse) {
			b.work("s", protocol.WorkCall{TTL: time.Millisecond})
			latest = b.untilLapsed()
		}
		b.reap(seen, 1)
		if s := b.stats(); s.Running != 1 {
			b.Errorf("in flight %d, want 1: it was extended since it was seen", s.Running)
		}
	})
}

// A session with more jobs than one call reaps is refused from the first call on.
func TestAHalfReapedSessionIsRefused(t *testing.T) {
	onServersWith(t, listening, func(b *bench) {
		const jobs = 700
		for range jobs / 100 {
			var items []protocol.EnqueueItem
			for range 100 {
				items = append(items, job(fmt.Sprintf("j%d-%d", b.callers, len(items))))
			}
			b.enqueue(items...)
		}
		b.work("s", protocol.WorkCall{Take: 400, TTL: 50 * time.Millisecond})
		b.work("s", protocol.WorkCall{Take: 400, TTL: 50 * time.Millisecond})
		lapsed := b.untilLapsed()
		call := protocol.ReapCall{Partition: defaultPartition, Session: lapsed.Session, Seen: lapsed.Lapse}
		if done, err := b.reapStep(call); done || err != nil {
			b.Fatalf("first call: done %v, %v; want more to do", done, err)
		}
		if answer := b.try("s", protocol.WorkCall{Take: 1}); !errors.Is(answer.Err, protocol.ErrSessionLost) {
			b.Errorf("its own call: %v, want ErrSessionLost", answer.Err)
		}
		listener := b.store.Listen("w")
		defer listener.Close()
		extended := listener.Extend(b.Context(), []protocol.ExtendCall{{Partition: defaultPartition, Session: "s", TTL: time.Minute}})[0]
		if !errors.Is(extended.Err, protocol.ErrSessionLost) {
			b.Errorf("its heartbeat: %v, want ErrSessionLost", extended.Err)
		}
		if done, err := b.reapStep(call); !done || err != nil {
			b.Fatalf("second call: done %v, %v; want done", done, err)
		}
		if s := b.stats(); s.Running != 0 || s.Waiting != jobs {
			b.Errorf("stats %+v, want all %d waiting", s, jobs)
		}
	})
}

// The clock stepped back an hour: a lapse that far ahead is set to the longest TTL of a session.
func TestALapseTooFarAheadIsCorrected(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.enqueue(job("a"))
		b.work("s", protocol.WorkCall{Take: 1, TTL: 12 * time.Second})
		b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(float64(time.Now().Add(time.Hour).UnixMilli()), "s"))
		poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: defaultPartition, Worker: "w"}})[0]
		if ahead := poll.Lapse.Sub(poll.Now); ahead > 12*time.Second {
			b.Errorf("lapse in %v, want at most 12s", ahead)
		}
	})
}

func TestATakeReturnsAboutAMebibyteAtMost(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var items []protocol.EnqueueItem
		for i := range 20 {
			item := job(fmt.Sprintf("j%02d", i))
			item.Body = append(item.Body, strings.Repeat("x", 100<<10)...)
			items = append(items, item)
		}
		b.enqueue(items[:10]...)
		b.enqueue(items[10:]...)
		answer := b.work("s", protocol.WorkCall{Take: 20})
		if n := len(answer.Taken); n != 10 || !answer.More {
			b.Errorf("took %d of 20 jobs of 100 KiB, more %v; want 10 and more", n, answer.More)
		}
		b.want("the rest", fmt.Sprint(len(b.take("s", 20))), "10")
	})
}

// A process that was stopped in the middle of a move continues after the schedule has moved back.
func TestAStaleMoveChangesNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.declare("s", "skip", `{"job":"j"}`)
		b.interruptMove("s", "default", "mail", 1)
		mark := b.client.HGet(b.Context(), b.keys().schedules, "s").Val()
		b.declareOn("mail", "s", "skip", `{"job":"j"}`)
		b.declareOn("default", "s", "skip", `{"job":"j"}`)
		mail := b.store.keys.partition(protocol.Partition{Queue: "mail"})
		before := b.client.HGet(b.Context(), mail.schedules, "s").Val()
		b.arrive("s", "mail", mark, "", "default")
		b.want("definition in mail", b.client.HGet(b.Context(), mail.schedules, "s").Val(), before)
		b.want("owed in mail", fmt.Sprint(b.client.ZRange(b.Context(), mail.owed, 0, -1).Val()), "[]")
	})
}

func TestANewerLayoutIsRefused(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.declare("s", "skip", `{"job":"j"}`)
		b.client.HSet(b.Context(), b.keys().state, "layout", 99)
		item := []protocol.EnqueueItem{job("a")}
		for act, err := range map[string]error{
			"enqueue": b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: defaultPartition, Caller: "c", Number: 1, Items: item}})[0].Err,
			"work":    b.try("s", protocol.WorkCall{Take: 1}).Err,
			"poll":    b.store.Poll(b.Context(), []protocol.PollCall{{Partition: defaultPartition, Worker: "w"}})[0].Err,
			"declare": b.store.Declare(b.Context(), []protocol.Declaration{{Name: "t", Queue: "default", Overlap: "skip", Body: []byte(`{"job":"j"}`)}})[0].Err,
			"report":  b.store.Report(b.Context(), []protocol.ProgressReport{{Partition: defaultPartition, Session: "s", ID: "a", Fence: 1, Progress: []byte("p")}}),
			"place":   b.store.Place(b.Context(), []protocol.Placement{{Partition: defaultPartition, Name: "s", Revision: declared.Revision, Instants: []time.Time{ago(0)}}})[0].Err,
		} {
			if !errors.Is(err, protocol.ErrUnfit) || !strings.Contains(err.Error(), "99") {
				b.Errorf("%s: %v, want ErrUnfit that names the layout", act, err)
			}
		}
		if _, err := b.store.DeleteQueue(b.Context(), "default"); !errors.Is(err, protocol.ErrUnfit) {
			b.Errorf("delete queue: %v, want ErrUnfit", err)
		}
	})
}

// A worker that did not renew its registration is dead, or polls soon: the next one is woken.
func TestAWakeUpPassesOverWorkersThatDidNotRenew(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for _, session := range []string{"dead", "alive", "later"} {
			b.sleeping(session)
		}
		b.client.ZAdd(b.Context(), b.keys().idle, redisZ(float64(time.Now().Add(-14*time.Second).UnixMilli()), "w-dead"))
		b.enqueue(job("a"))
		if !b.asleepSince("dead").IsZero() || !b.asleepSince("alive").IsZero() || b.asleepSince("later").IsZero() {
			b.Errorf("asleep since %v, %v, %v; want only the third still asleep", b.asleepSince("dead"), b.asleepSince("alive"), b.asleepSince("later"))
		}
	})
}

// An occurrence that is taken again without a body is not new: lateness and overlap are not judged a second time.
func TestAnOccurrencePostponedWithoutABodyIsNotNew(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.scheduled("s", "skip", ago(time.Minute))
		first := b.take("one", 1)
		if len(first) != 1 || !first[0].New {
			b.Fatalf("took %+v, want a new occurrence", first)
		}
		b.settle("one", protocol.Settlement{ID: first[0].ID, Fence: first[0].Fence, Kind: protocol.SettleLater})
		var again []protocol.TakenJob
		for len(again) == 0 {
			again = b.take("two", 1)
		}
		if again[0].ID != first[0].ID || again[0].New {
			b.Errorf("took %+v, want %s again and not as a new one", again, first[0].ID)
		}
	})
}
