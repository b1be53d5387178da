package redisstore

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Who waits for a cancelled job hears of its end also when reaping ends it.
func TestTheEndOfACancelledJobIsToldWhenItsSessionIsReaped(t *testing.T) {
	onServersWith(t, listening, func(b *bench) {
		b.enqueue(job("a"))
		b.work("gone", protocol.WorkCall{Take: 1, TTL: time.Millisecond})
		b.want("cancelled", b.cancel("a"), "asked")
		changed, stop := b.store.Await(b.Context(), "default", "a")
		defer stop()
		b.hears(changed, "the connection")
		b.reap(b.untilLapsed(), 1)
		b.hears(changed, "the end")
	})
}

func (b *bench) hears(changed <-chan struct{}, of string) {
	b.Helper()
	select {
	case <-changed:
	case <-time.After(10 * time.Second):
		b.Fatalf("nothing was heard of %s", of)
	}
}
