package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A taken occurrence comes with its definition, and so does each schedule in Owed. A list of owed schedules is bounded too.
func TestATakeCountsTheBytesOfDefinitions(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		const schedules, length = 15, 100 << 10
		for i := range schedules {
			declared := b.Declare(fmt.Sprintf("team@s%02d", i), "skip", `{"job":"j","payload":"`+strings.Repeat("p", length)+`"}`)
			if placed := b.Place(*declared.Owed, declared.Revision, 0, declared.Created); placed.Placed != 1 {
				b.Fatalf("placed %+v", placed)
			}
		}
		all := 0
		for more := true; more; {
			answer := b.Work("s", protocol.WorkCall{Take: protocol.MaxTake})
			bytes := 0
			for _, taken := range answer.Taken {
				bytes += len(taken.Definition)
			}
			for _, owed := range answer.Owed {
				bytes += len(owed.Definition)
			}
			if bytes > protocol.MaxBytes || len(answer.Taken) == 0 {
				b.Fatalf("a call took %d occurrences with %d bytes", len(answer.Taken), bytes)
			}
			all, more = all+len(answer.Taken), answer.More
		}
		if all != schedules {
			b.Errorf("%d taken, want %d", all, schedules)
		}
		for _, name := range b.client.ZRange(b.Context(), b.keys().owed, 0, -1).Val() {
			b.client.ZAdd(b.Context(), b.keys().owed, redisZ(float64(storesuite.Ago(time.Minute).UnixMilli()), name))
		}
		owed, err := b.store.Owed(b.Context(), []protocol.Partition{storesuite.DefaultPartition})
		if err != nil || len(owed) == 0 || len(owed) > protocol.MaxBytes/length {
			b.Errorf("%d owed, %v; want about ten", len(owed), err)
		}
	})
}
