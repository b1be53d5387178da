package plain

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

func TestABatchIsDescribed(t *testing.T) {
	for _, c := range []struct {
		batch chime.BatchInfo
		want  string
	}{
		{chime.BatchInfo{State: chime.BatchOpen}, "⚠ open: Its items are being added; it cannot end before EnqueueBatch has finished, or somebody seals or cancels it."},
		{chime.BatchInfo{State: chime.BatchRunning, Left: 1}, "● running: 1 member has not ended."},
		{chime.BatchInfo{State: chime.BatchRunning, Left: 1200}, "● running: 1,200 members have not ended."},
		{chime.BatchInfo{State: chime.BatchDone}, "✓ done: All members are done."},
		{chime.BatchInfo{State: chime.BatchDone, Cancelled: 1}, "✓ done: All members are done, except 1 that was cancelled."},
		{chime.BatchInfo{State: chime.BatchEnded, Dead: 3, Cancelled: 1}, "✕ ended: All members have ended: 3 dead, 1 cancelled."},
		{chime.BatchInfo{State: chime.BatchCancelled, Left: 2}, "‖ cancelled: It was cancelled; 2 members have not ended."},
		{chime.BatchInfo{State: chime.BatchCancelled}, "‖ cancelled: It was cancelled, and all members have ended."},
		{chime.BatchInfo{State: "new"}, `⚠ new: This version does not know what "new" means.`},
	} {
		if s := Batch(&c.batch); s.String()+": "+s.Sentence != c.want {
			t.Errorf("%+v: %s: %s, want %s", c.batch, s, s.Sentence, c.want)
		}
	}
}

func TestHowLongABatchIsKept(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		keep time.Duration
		dead int64
		want string
	}{
		{0, 0, ""},
		{day, 0, "1d after its end; at least 7 days if members are dead"},
		{day, 1, "1d after its end, and at least 7 days because members are dead"},
		{7 * day, 0, "7d after its end"},
		{8 * day, 1, "8d after its end"},
	} {
		if got := BatchKept(&chime.BatchInfo{Keep: c.keep, Dead: c.dead}); got != c.want {
			t.Errorf("kept for %v with %d dead: %q, want %q", c.keep, c.dead, got, c.want)
		}
	}
}
