package redisstore

import (
	"slices"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A call reads a limited number of fields. Of sessions beyond that, only the number of their jobs is known.
func TestFlightsBeyondTheLimitAreOnlyCounted(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"), storesuite.Job("b"), storesuite.Job("c"), storesuite.Job("d"), storesuite.Job("e"))
		b.Work("s", protocol.WorkCall{Take: 3, Ahead: 2})
		b.Work("t", protocol.WorkCall{Take: 2, Ahead: 2})
		var keys []string
		for _, session := range b.members(b.keys().sessions) {
			keys = append(keys, b.keys().inflight(session))
		}
		if len(keys) != 2 {
			b.Fatalf("sessions %q, want 2", keys)
		}
		fields := 4 // of s: three jobs and the session's own
		if b.store.client.HLen(b.Context(), keys[0]).Val() == 3 {
			slices.Reverse(keys)
		}
		for limit, want := range map[int][]int64{0: {3, -1, 2, -1}, 3: {3, -1, 2, 2}, fields: {3, 2, 2, -1}, fields + 3: {3, 2, 2, 2}} {
			got, err := b.store.run(b.Context(), b.store.client, newCall(&countFlightsScript, keys, []any{limit}).readOnlyForAll())[0].Int64Slice()
			if err != nil || !slices.Equal(got, want) {
				b.Errorf("with at most %d fields: got %v, %v; want %v", limit, got, err, want)
			}
		}
		stats := protocol.QueueStats{}
		count := flightCount{&stats, []string{"s", "t"}, nil}
		if fields := count.add([]int64{3, -1, 2, 2}); fields != 3 || stats.Running != 3 || stats.Ahead != 2 || !stats.AheadUnknown {
			b.Errorf("%d fields, stats %+v; want 3 fields, 3 running, 2 ahead, not known of all", fields, stats)
		}
		// one reading has one budget: the second call gets what the first one has left
		left := 2*fields + 1
		for _, unknown := range []bool{false, true} {
			stats = protocol.QueueStats{}
			counted := &partitionCount{keys: b.keys(), to: &stats, now: b.store.client.Time(b.Context()).Val(), sessions: b.store.client.ZRangeWithScores(b.Context(), b.keys().sessions, 0, -1).Val()}
			err := b.store.countFlights(b.Context(), []*partitionCount{counted}, &left)
			if err != nil || stats.AheadUnknown != unknown || stats.Running+stats.Ahead != 5 {
				b.Errorf("with %d fields left: %+v, %v; want 5 jobs, not known: %v", left, stats, err, unknown)
			}
		}
	})
}
