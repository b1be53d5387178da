package chime

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

func TestADelayedJobThatHasFailedOrCrashedIsRetrying(t *testing.T) {
	at := time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		state             string
		failures, crashes int
		want              JobState
		attempt           int
	}{
		{protocol.JobDelayed, 0, 0, JobDelayed, 1},
		{protocol.JobDelayed, 2, 0, JobRetrying, 3},
		{protocol.JobDelayed, 0, 1, JobRetrying, 1},
		{protocol.JobWaiting, 2, 1, JobWaiting, 3},
		{protocol.JobRunning, 2, 1, JobRunning, 3},
		{protocol.JobDead, 5, 0, JobDead, 5},
		{protocol.JobDead, 0, 3, JobDead, 1}, // crashes use up no attempt
	} {
		envelope := wire.Envelope{Name: "mail", Planned: at, Failures: c.failures}
		got := newJobInfo("q", &protocol.FoundJob{ID: "a", State: c.state, Body: envelope.Encode(), At: at, Crashes: c.crashes})
		if got.State != c.want || got.Attempt != c.attempt || got.Crashes != c.crashes || got.Err != nil {
			t.Errorf("%s after %d failures and %d crashes: %s, attempt %d (%v); want %s, attempt %d", c.state, c.failures, c.crashes, got.State, got.Attempt, got.Err, c.want, c.attempt)
		}
		if got.Due.IsZero() == (c.state == protocol.JobDelayed) || got.Ended.IsZero() == (c.state == protocol.JobDead) {
			t.Errorf("%s: due %v, ended %v", c.state, got.Due, got.Ended)
		}
	}
}
