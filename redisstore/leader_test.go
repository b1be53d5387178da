package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestOneLeaderAtATime(t *testing.T) {
	onServersWith(t, listening, func(b *bench) {
		leads := func(want protocol.Leadership) {
			b.Helper()
			got, err := b.store.Leader(b.Context())
			if left := got.Left; (left > 0) != (want.Leader != "") || left > time.Minute {
				b.Errorf("the lease lasts %s", left)
			}
			if got.Left = 0; got != want || err != nil {
				b.Errorf("leads %+v, %v; want %+v", got, err, want)
			}
		}
		leads(protocol.Leadership{})
		first, err := b.store.Lead(b.Context(), "one", time.Minute)
		if err != nil || !first.Leading || first.Term != 1 {
			b.Fatalf("first %+v, %v", first, err)
		}
		if again, _ := b.store.Lead(b.Context(), "one", time.Minute); !again.Leading || again.Term != 1 {
			b.Errorf("again %+v, want the same term", again)
		}
		if other, _ := b.store.Lead(b.Context(), "two", time.Minute); other.Leading || other.Leader != "one" || other.Left <= 0 {
			b.Errorf("another %+v, want one leading", other)
		}
		leads(protocol.Leadership{Leader: "one", Term: 1})
		listener := b.store.Listen("two")
		defer listener.Close()
		receive(b, listener, func(s protocol.Signal) bool { return s.Connected })
		if err := b.store.Resign(b.Context(), "one"); err != nil {
			b.Fatal(err)
		}
		receive(b, listener, func(s protocol.Signal) bool { return s.Elect })
		leads(protocol.Leadership{Term: 1})
		if other, _ := b.store.Lead(b.Context(), "two", time.Minute); !other.Leading || other.Term != 2 {
			b.Errorf("another %+v, want it leading in term 2", other)
		}
		leads(protocol.Leadership{Leader: "two", Term: 2})
		b.client.HSet(b.Context(), b.store.keys.leader(), "until", b.serverTime().UnixMilli()) // not renewed
		leads(protocol.Leadership{Term: 2})
	})
}

// Manual edits of the leader's hash are treated like an empty hash: a candidate leads, and the term grows.
func TestGarbageInTheLeadersHashStopsNoElection(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		leader := b.store.keys.leader()
		for i, garbage := range []map[string]any{
			{"id": "somebody", "term": "abc", "until": "abc"},
			{"id": "somebody", "term": "", "until": ""},
			{"id": "", "term": "-5", "until": "-5"},
			{"id": "somebody", "term": "1e400", "until": "1e400"},
			{"id": "somebody", "term": "nan", "until": "nan"},
			{"id": "somebody", "term": "9223372036854775807", "until": "9223372036854775807"},
			{"id": "somebody", "term": "1.5", "until": "1.5"},
			{"term": "7"},
			{"until": time.Now().Add(time.Hour).UnixMilli()},
			{"id": "me" + fmt.Sprint(8), "until": "abc"},
		} {
			b.client.Del(b.Context(), leader)
			b.client.HSet(b.Context(), leader, garbage)
			if got, err := b.store.Leader(b.Context()); err != nil || got.Term < 0 || got.Left > time.Hour {
				b.Errorf("%v: leads %+v, %v", garbage, got, err)
			}
			me := fmt.Sprint("me", i)
			for range 2 {
				led, err := b.store.Lead(b.Context(), me, time.Minute)
				if err != nil || !led.Leading || led.Leader != me || led.Term < 1 || led.Left != time.Minute || led.Epoch == "" {
					b.Errorf("%v: %+v, %v; want the candidate leading for a minute", garbage, led, err)
				}
			}
			if other, err := b.store.Lead(b.Context(), "other", time.Minute); err != nil || other.Leading || other.Leader != me || other.Left <= 0 {
				b.Errorf("%v: then %+v, %v for another; want %s leading", garbage, other, err, me)
			}
		}
	})
}
