package redisstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// countGroups returns the sum over all groups of the queue.
func (b *bench) countGroups() (sum protocol.GroupSum, calls int) {
	b.Helper()
	plus := func(t, more protocol.GroupTally) protocol.GroupTally {
		t.Groups += more.Groups
		if !more.Since.IsZero() && (t.Since.IsZero() || more.Since.Before(t.Since)) {
			t.Since, t.Key = more.Since, more.Key
		}
		return t
	}
	for after := ""; ; {
		some, err := b.store.CountGroups(b.Context(), "default", after)
		if err != nil {
			b.Fatal(err)
		}
		calls++
		sum = protocol.GroupSum{
			MayStart: plus(sum.MayStart, some.MayStart), Paused: plus(sum.Paused, some.Paused), Ordered: plus(sum.Ordered, some.Ordered),
			Running: plus(sum.Running, some.Running), Starts: plus(sum.Starts, some.Starts),
		}
		if after = some.Next; after == "" {
			return sum, calls
		}
	}
}

// wantCounted compares the counts with those of the list.
func (b *bench) wantCounted(when string) {
	b.Helper()
	var want protocol.GroupSum
	of := map[string]*protocol.GroupTally{
		"": &want.MayStart, protocol.GroupPaused: &want.Paused, protocol.GroupOrdered: &want.Ordered, protocol.GroupRunning: &want.Running, protocol.GroupStarts: &want.Starts,
	}
	for _, g := range b.listGroups(protocol.GroupPageCall{Limit: 100, Waiting: true}) {
		tally := of[g.Blocked]
		if tally.Groups++; !g.Since.IsZero() && (tally.Since.IsZero() || g.Since.Before(tally.Since)) {
			tally.Since, tally.Key = g.Since, g.Key
		}
	}
	if got, _ := b.countGroups(); got != want {
		b.Fatalf("%s: counted\n%+v\nbut the list has\n%+v", when, got, want)
	}
}

// Each group with jobs that wait is counted once, for what keeps it from starting one; its first job gives its age, unless that was requeued.
func TestGroupsAreCountedByWhatBlocksThem(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		b.setGroup("order", protocol.GroupRule{Ordered: protocol.OrderOn})
		b.setGroup("limit", protocol.GroupRule{Running: 1})
		b.setGroup("rate", protocol.GroupRule{Starts: 1, Per: time.Minute})
		for _, group := range []string{"order", "limit", "rate"} {
			b.Enqueue(several(group, 3)...)
		}
		b.Want("taken", fmt.Sprint(len(b.Take("s", 9))), "3")
		began := b.serverTime()
		b.SetClock(began.Add(time.Minute / 2))
		b.pauseGroup("pause", true, protocol.Note{})
		for _, group := range []string{"pause", "free1", "free2"} {
			b.Enqueue(several(group, 2)...)
		}
		late := inGroup("again", "again1")
		late.In = time.Hour
		b.Enqueue(late)
		b.requeue(protocol.RequeuedJob{ID: "again1"})
		sum, calls := b.countGroups()
		b.Want("counts", fmt.Sprint(sum.MayStart.Groups, sum.Paused.Groups, sum.Ordered.Groups, sum.Running.Groups, sum.Starts.Groups, calls), "3 1 1 1 1 1")
		b.Want("the oldest", fmt.Sprint(sum.MayStart.Key, sum.Paused.Key, sum.Ordered.Key, sum.Running.Key, sum.Starts.Key), "free1pauseorderlimitrate")
		if age := sum.MayStart.Since.Sub(sum.Ordered.Since); age < 29*time.Second || age > 31*time.Second {
			t.Errorf("between them passed %v, want 30 s", age)
		}
		b.wantCounted("at the end")
		for _, after := range []string{"\t", strings.Repeat("x", 201)} {
			if _, err := b.store.CountGroups(b.Context(), "default", after); !errors.Is(err, &protocol.InvalidError{}) {
				t.Errorf("after %.20q: %v, want an InvalidError", after, err)
			}
		}
		if _, err := b.store.CountGroups(b.Context(), "unknown", ""); !errors.Is(err, protocol.ErrNotFound) {
			t.Errorf("an unknown queue: %v, want ErrNotFound", err)
		}
	})
}

// Under fake time the clock shows the year 2000. The oldest job is known then too, and a requeued one has no instant.
func TestTheOldestJobOfAGroupIsKnownInTheYear2000(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		b.SetClock(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC))
		late := inGroup("again", "again1")
		late.In = time.Hour
		b.Enqueue(late)
		b.requeue(protocol.RequeuedJob{ID: "again1"})
		b.Enqueue(inGroup("a", "a1"))
		sum, err := b.store.CountGroups(b.Context(), "default", "")
		if err != nil {
			t.Fatal(err)
		}
		b.Want("the oldest of two groups", fmt.Sprint(sum.MayStart.Groups, " ", sum.MayStart.Key), "2 a")
	})
}

// A call counts at most 500 groups, and the next one continues after them.
func TestManyGroupsAreCountedInSteps(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const many = 2*protocol.MaxItems + 1
		for first := 0; first < many; first += protocol.MaxItems {
			var items []protocol.EnqueueItem
			for i := first; i < min(first+protocol.MaxItems, many); i++ {
				items = append(items, inGroup(fmt.Sprint("g", i), fmt.Sprint("j", i)))
			}
			b.Enqueue(items...)
		}
		sum, calls := b.countGroups()
		b.Want("counted", fmt.Sprint(sum.MayStart.Groups, " in ", calls, ", the oldest ", sum.MayStart.Key), fmt.Sprint(many, " in 3, the oldest g0"))
		rest, err := b.store.CountGroups(b.Context(), "default", "zzz")
		if err != nil || rest.MayStart != (protocol.GroupTally{}) || rest.Next != "" {
			t.Errorf("after the last group: %+v, %v", rest, err)
		}
	})
}

// The counts agree with the list, whatever has happened to the jobs and the rules.
func TestCountsOfGroupsAgreeWithTheList(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Own("first"))
		w := &groupWalk{bench: b, r: rand.New(rand.NewPCG(7, 31)), held: map[string][]protocol.TakenJob{}}
		rules := []protocol.GroupRule{{}, {Running: 1}, {Ordered: protocol.OrderOn}, {Starts: 2, Per: time.Minute}, {Weight: 3}}
		for i := range 40 {
			w.walk(5)
			switch group := string(rune('a' + i%4)); i % 3 {
			case 0:
				b.setGroup(group, rules[w.r.IntN(len(rules))])
			case 1:
				b.pauseGroup(group, w.r.IntN(2) == 0, protocol.Note{})
			}
			b.wantCounted(fmt.Sprint("after ", 5*(i+1), " calls"))
		}
	})
}
