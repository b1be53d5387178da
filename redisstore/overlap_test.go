package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestTheOverlapPolicyDecidesWhatRunsTogether(t *testing.T) {
	type step struct {
		overlap                        string
		taken, skipped, afterFirstDone string
	}
	first, second, third := ago(30*time.Second), ago(20*time.Second), ago(10*time.Second)
	a, b2, c := occurrenceID("s", first), occurrenceID("s", second), occurrenceID("s", third)
	for _, want := range []step{
		{overlap: "allow", taken: a + " " + b2 + " " + c},
		{overlap: "skip", taken: a, skipped: "2"},
		{overlap: "wait", taken: a, skipped: "1", afterFirstDone: b2},
		{overlap: "cancel", taken: a, skipped: "1", afterFirstDone: b2},
	} {
		t.Run(want.overlap, func(t *testing.T) {
			onServersWith(t, listening, func(b *bench) {
				b.scheduled("s", want.overlap, first, second, third)
				answer := b.work("w", protocol.WorkCall{Take: 10})
				b.want("taken", ids(answer.Taken), want.taken)
				if len(answer.Owed) != 1 {
					b.Errorf("owed %+v, want the schedule, whatever became of the occurrence at the cursor", answer.Owed)
				}
				found, err := b.store.Find(b.Context(), []string{"s"})
				if err != nil {
					b.Fatal(err)
				}
				skipped := fmt.Sprint(found[0].Skipped)
				if want.skipped == "" {
					want.skipped = "0"
				}
				b.want("skipped", skipped, want.skipped)
				b.want("runs used", fmt.Sprint(found[0].Cursor.Used), fmt.Sprint(3-found[0].Skipped))
				if want.overlap == "cancel" {
					listener := b.store.Listen("x")
					defer listener.Close()
					extended := listener.Extend(b.Context(), []protocol.ExtendCall{{Partition: defaultPartition, Session: "w", TTL: time.Second, Schedules: []string{"s"}}})[0]
					b.want("replaced", fmt.Sprint(extended.Replaced), "["+a+"]")
				}
				b.settle("w", protocol.Settlement{ID: a, Fence: answer.Taken[0].Fence, Kind: protocol.SettleDone, Run: &protocol.RunRecord{Outcome: "done"}})
				b.want("after the first is done", ids(b.take("w", 10)), want.afterFirstDone)
			})
		})
	}
}

// No failed run vanishes by default: only under policy cancel the newest wins.
func TestOnlyUnderCancelANewRunEndsAWaitingRetry(t *testing.T) {
	first, second := ago(30*time.Second), ago(20*time.Second)
	for overlap, kept := range map[string]bool{"skip": true, "cancel": false, "wait": true, "allow": true} {
		t.Run(overlap, func(t *testing.T) {
			onEveryServer(t, func(b *bench) {
				b.scheduled("s", overlap, first, second)
				b.client.ZRem(b.Context(), b.keys().due, occurrenceID("s", second))
				taken := b.take("w", 1)
				b.settle("w", protocol.Settlement{ID: taken[0].ID, Fence: taken[0].Fence, Kind: protocol.SettleLater, Delay: time.Hour, Body: []byte("\x01b")})
				b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(second.UnixMilli()), occurrenceID("s", second)))
				b.want("taken", ids(b.take("w", 5)), occurrenceID("s", second))
				waits := b.client.ZScore(b.Context(), b.keys().due, taken[0].ID).Err() == nil
				body := b.client.HExists(b.Context(), b.keys().jobs, taken[0].ID).Val()
				if waits != kept || body != kept {
					b.Errorf("the retry waits %v, body %v; want %v", waits, body, kept)
				}
			})
		})
	}
}
