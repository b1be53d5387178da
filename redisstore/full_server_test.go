//go:build real

package redisstore

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

func TestAtMaxmemoryLapsedSessionsAreReportedAndTheLeaderKeepsItsLease(t *testing.T) {
	b, client := onRedis(t), redisAdmin()
	defer client.ConfigSet(context.WithoutCancel(b.Context()), "maxmemory", "0")
	b.Enqueue(storesuite.Job("a"))
	b.Work("s", protocol.WorkCall{Take: 1, TTL: time.Millisecond})
	owed := b.Declare("report", "skip", `{"job":"report"}`).Owed
	b.UntilLapsed()
	client.ConfigSet(b.Context(), "maxmemory", "1")
	poll := b.store.Poll(b.Context(), []protocol.PollCall{{Partition: storesuite.DefaultPartition, Worker: "w", Sleep: true}})[0]
	if poll.Err != nil || len(poll.Lapsed) != 1 {
		b.Errorf("poll: error %v, lapsed %v; want the session", poll.Err, poll.Lapsed)
	}
	for range 2 {
		if answer, err := b.store.Lead(b.Context(), "me", time.Minute); err != nil || !answer.Leading {
			b.Errorf("lead: %+v, %v", answer, err)
		}
	}
	if err := b.store.Postpone(b.Context(), *owed); err != nil {
		b.Error(err)
	}
}

func TestAtMaxmemoryAShortCallWritesNothing(t *testing.T) {
	b, client := onRedis(t), redisAdmin()
	defer client.ConfigSet(context.WithoutCancel(b.Context()), "maxmemory", "0")
	p := newProducer(b)
	client.ConfigSet(b.Context(), "maxmemory", "1")
	before := snapshotOf(b)
	p.number++
	if answer := p.again("a"); answer.Err == nil || !strings.Contains(answer.Err.Error(), "OOM") {
		b.Errorf("%v, want that the server is full", answer.Err)
	}
	b.Want("the keys", snapshotOf(b), before)
	client.ConfigSet(b.Context(), "maxmemory", "0")
	if one := fmt.Sprint(p.one(p.number, "a")); one != "1" {
		b.Errorf("the same call when there is room: %s, want 1", one)
	}
}
