//go:build real

package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Only an attempt that was cut off is recorded with its worker: if no job had begun, reaping does not read the name.
func TestReapingWhatHadNotBegunDoesNotReadItsWorker(t *testing.T) {
	b := onRedis(t)
	reads := func(ahead int) bool {
		b.Enqueue(storesuite.Job("a"))
		b.Work("s", protocol.WorkCall{Take: 1, Ahead: ahead, TTL: 50 * time.Millisecond})
		lapsed := b.UntilLapsed()
		b.client.ConfigResetStat(b.Context())
		b.Reap(lapsed, 1)
		read := strings.Contains(b.client.Info(b.Context(), "commandstats").Val(), "cmdstat_hget:")
		b.flush()
		b.Numbers = map[string]int64{}
		return read
	}
	if reads(1) {
		t.Error("reaping a job that was taken ahead reads a field, want no read of its worker's name")
	}
	if reads(0) {
		t.Error("reaping a job of no schedule that had begun reads a field, want no read of its worker's name: no attempt is recorded")
	}
}
