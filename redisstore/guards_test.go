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

// Each of these tests checks one guard of a script. If the guard were removed, the other tests would still pass.

// The clock stepped back an hour: a lapse that far ahead is set to the longest TTL of a session.
func TestALapseTooFarAheadIsCorrected(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		b.Work("s", protocol.WorkCall{Take: 1, TTL: 12 * time.Second})
		b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(float64(time.Now().Add(time.Hour).UnixMilli()), "s"))
		poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: storesuite.DefaultPartition, Worker: "w"}})[0]
		if ahead := poll.Lapse.Sub(poll.Now); ahead > 12*time.Second {
			b.Errorf("lapse in %v, want at most 12s", ahead)
		}
	})
}

// A process that was stopped in the middle of a move continues after the schedule has moved back.
func TestAStaleMoveChangesNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		b.interruptMove("s", "default", "mail", 1)
		mark := b.client.HGet(b.Context(), b.keys().schedules, "s").Val()
		b.DeclareOn("mail", "s", "skip", `{"job":"j"}`)
		b.DeclareOn("default", "s", "skip", `{"job":"j"}`)
		mail := b.store.keys.partition(protocol.Partition{Queue: "mail"})
		before := b.client.HGet(b.Context(), mail.schedules, "s").Val()
		b.arrive("s", "mail", mark, "", "default")
		b.Want("definition in mail", b.client.HGet(b.Context(), mail.schedules, "s").Val(), before)
		b.Want("owed in mail", fmt.Sprint(b.client.ZRange(b.Context(), mail.owed, 0, -1).Val()), "[]")
	})
}

func TestANewerLayoutIsRefused(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.Declare("s", "skip", `{"job":"j"}`)
		b.Enqueue(storesuite.Job("held"))
		b.Work("gone", protocol.WorkCall{Take: 1, TTL: time.Millisecond})
		lapsed := b.UntilLapsed()
		b.client.HSet(b.Context(), b.keys().state, "layout", 99)
		_, reaped := b.ReapStep(protocol.ReapCall{Partition: storesuite.DefaultPartition, Session: lapsed.Session, Seen: lapsed.Lapse})
		_, swept := b.sweep()
		item := []protocol.EnqueueItem{storesuite.Job("a")}
		for act, err := range map[string]error{
			"reap":    reaped,
			"sweep":   swept,
			"enqueue": b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: storesuite.DefaultPartition, Caller: "c", Number: 1, Items: item}})[0].Err,
			"work":    b.Try("s", protocol.WorkCall{Take: 1}).Err,
			"poll":    b.store.Poll(b.Context(), []protocol.PollCall{{Partition: storesuite.DefaultPartition, Worker: "w"}})[0].Err,
			"declare": b.store.Declare(b.Context(), []protocol.Declaration{{Name: "t", Queue: "default", Overlap: "skip", Body: []byte(`{"job":"j"}`)}})[0].Err,
			"report":  b.store.Report(b.Context(), []protocol.ProgressReport{{Partition: storesuite.DefaultPartition, Session: "s", ID: "a", Fence: 1, Progress: []byte("p")}}),
			"place":   b.store.Place(b.Context(), []protocol.Placement{{Partition: storesuite.DefaultPartition, Name: "s", Revision: declared.Revision, Instants: []time.Time{storesuite.Ago(0)}}})[0].Err,
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
			b.Sleeping(session)
		}
		b.client.ZAdd(b.Context(), b.keys().idle, redisZ(float64(time.Now().Add(-14*time.Second).UnixMilli()), "w-dead"))
		b.Enqueue(storesuite.Job("a"))
		if !b.asleepSince("dead").IsZero() || !b.asleepSince("alive").IsZero() || b.asleepSince("later").IsZero() {
			b.Errorf("asleep since %v, %v, %v; want only the third still asleep", b.asleepSince("dead"), b.asleepSince("alive"), b.asleepSince("later"))
		}
	})
}

// A program that does not know the layout changes nothing in the partition: also calls that only few programs make are refused.
func TestANewerLayoutRefusesEveryChange(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		k, at := b.keys(), b.registered("s")
		b.client.HSet(b.Context(), k.state, "layout", "99")
		calls := map[string]func() error{
			"pause":        func() error { return b.store.PauseQueue(b.Context(), "default", true, protocol.Note{}) },
			"remove":       func() error { _, err := b.store.removeAt(b.Context(), "s", at, ""); return err },
			"begin a move": func() error { _, err := b.store.beginMove(b.Context(), "s", at, "mail", 0, nil); return err },
			"announce": func() error {
				return b.store.Announce(b.Context(), "w", []protocol.Handled{{Queue: "default", Name: "j"}})
			},
		}
		before := b.everything()
		for name, call := range calls {
			if err := call(); !errors.Is(err, protocol.ErrUnfit) {
				b.Errorf("%s: %v, want ErrUnfit", name, err)
			}
		}
		if after := b.everything(); after != before {
			b.Errorf("the partition has changed:\n%s\n%s", before, after)
		}
	})
}
