package redisstore

import (
	"testing"
	"time"
)

func TestOneLeaderAtATime(t *testing.T) {
	onEveryServer(t, func(b *bench) {
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
		listener := b.store.Listen("two")
		defer listener.Close()
		if s := <-listener.Signals(); !s.Connected {
			b.Fatalf("signal %+v, want connected", s)
		}
		if err := b.store.Resign(b.Context(), "one"); err != nil {
			b.Fatal(err)
		}
		if s := <-listener.Signals(); !s.Elect {
			b.Errorf("signal %+v, want an election", s)
		}
		if other, _ := b.store.Lead(b.Context(), "two", time.Minute); !other.Leading || other.Term != 2 {
			b.Errorf("another %+v, want it leading in term 2", other)
		}
	})
}
