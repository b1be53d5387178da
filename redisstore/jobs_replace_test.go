package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A job that replaces a running one without a delay is to run when that has ended, whatever the clock says then.
func TestWhatReplacesARunningJobStartsAlsoAfterTheClockHasSteppedBack(t *testing.T) {
	for _, group := range []string{"", "a"} {
		for how, end := range map[string]func(b *bench, job protocol.TakenJob){
			"settled": func(b *bench, job protocol.TakenJob) {
				b.Settle("s", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleLater, Delay: time.Second, Failed: true})
			},
			"reaped": func(b *bench, _ protocol.TakenJob) {
				lapse := b.serverTime().Add(-time.Millisecond).Truncate(time.Millisecond)
				b.client.ZAdd(b.Context(), b.keys().sessions, redisZ(float64(lapse.UnixMilli()), "s"))
				b.Reap(protocol.LapsedSession{Session: "s", Lapse: lapse}, 1)
			},
		} {
			t.Run(fmt.Sprintf("group %q, %s", group, how), func(t *testing.T) {
				onServersWith(t, settableClock, func(b *bench) {
					item := storesuite.Own("x")
					item.Group = group
					b.Enqueue(item)
					job := b.Take("s", 1)[0]
					item.Body = []byte("\x01newer")
					if _, err := b.store.Replace(b.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: item}); err != nil {
						b.Fatal(err)
					}
					b.SetClock(b.serverTime().Add(-10 * time.Minute))
					end(b, job)
					if taken := b.Take("other", 1); storesuite.IDs(taken) != "x" || string(taken[0].Body) != "\x01newer" {
						b.Errorf("took %+v, want the job that replaces x", taken)
					}
				})
			})
		}
	}
}
