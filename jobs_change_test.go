package chime

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// A bulk change reports each problem of its filter once.
func TestABulkChangeReportsEachProblemOnce(t *testing.T) {
	for _, filter := range []JobFilter{{Queue: "q", State: JobDead, Limit: -1}, {Queue: "q", State: "ready"}, {Queue: "q", State: JobRunning}} {
		b := bulk{filter: filter, states: []JobState{JobDelayed, JobDead}}
		problems, ok := b.validate().(interface{ Unwrap() []error })
		if !ok || len(problems.Unwrap()) != 1 {
			t.Errorf("%+v: %v, want one error", filter, b.validate())
		}
	}
}

// The kept result of a cancelled job counts the attempt that is cancelled, if one runs.
func TestTheResultOfACancelledJobCountsTheAttemptThatRuns(t *testing.T) {
	job := wire.Envelope{Name: "j", Failures: 2, Details: &wire.Details{Keep: time.Hour}}
	for state, want := range map[string]int{protocol.JobRunning: 3, protocol.JobTaken: 2, protocol.JobDelayed: 2} {
		kept := cancelledResult(&protocol.FoundJob{ID: "a", State: state, Body: job.Encode()})
		if kept == nil {
			t.Fatalf("%s: nothing is kept", state)
		}
		if r, err := wire.DecodeResult(kept.Body); err != nil || r.Attempt != want {
			t.Errorf("%s: %+v, %v; want attempt %d", state, r, err, want)
		}
	}
}
