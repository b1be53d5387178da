package redisstore

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A server whose clock cannot be right is refused at the start and by every script, which then writes nothing.
func TestAServerWhoseClockIsWrongForCertainIsRefused(t *testing.T) {
	client, setClock := openSimulated(t, 0)
	b := newBench(t, client, setClock)
	enqueue := func(number int64) error {
		return b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: storesuite.DefaultPartition, Caller: "c", Number: number, Items: []protocol.EnqueueItem{storesuite.Job("j" + strconv.FormatInt(number, 10))}}})[0].Err
	}
	for i, c := range []struct {
		clock time.Time
		fit   bool
	}{
		{time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC), false},
		{time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), true},
		{time.Date(2199, 12, 31, 23, 59, 59, 0, time.UTC), true},
		{time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC), false},
		{time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC), false},
	} {
		setClock(c.clock)
		jobs := b.client.HLen(b.Context(), b.keys().jobs).Val()
		for name, err := range map[string]error{"check": b.store.Check(b.Context()), "enqueue": enqueue(int64(i + 1))} {
			if (err == nil) != c.fit || err != nil && (!errors.Is(err, protocol.ErrUnfit) || !strings.Contains(err.Error(), "clock")) {
				t.Errorf("%s at %s: %v, want ErrUnfit that names the clock: %v", name, c.clock.Format(time.RFC3339), err, !c.fit)
			}
		}
		if grown := b.client.HLen(b.Context(), b.keys().jobs).Val() - jobs; (grown == 1) != c.fit {
			t.Errorf("at %s %d jobs were added, want it to take one: %v", c.clock.Format(time.RFC3339), grown, c.fit)
		}
	}
}

// The scripts and Check refuse the same instants.
func TestTheScriptsKnowTheLimitsOfTheClock(t *testing.T) {
	for _, limit := range []time.Time{minClock, maxClock} {
		if !strings.Contains(read("scripts/lib/clock.lua"), strconv.FormatInt(limit.Unix(), 10)) {
			t.Errorf("scripts/lib/clock.lua does not have %s, %d", limit, limit.Unix())
		}
	}
}
