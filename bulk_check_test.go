package chime

import "testing"

// What a bulk change refuses it refuses once.
func TestABulkChangeSaysOnceWhatIsWrong(t *testing.T) {
	for _, filter := range []JobFilter{{Queue: "q", State: JobDead, Limit: -1}, {Queue: "q", State: "ready"}, {Queue: "q", State: JobRunning}} {
		b := bulk{filter: filter, states: []JobState{JobDelayed, JobDead}}
		problems, ok := b.check().(interface{ Unwrap() []error })
		if !ok || len(problems.Unwrap()) != 1 {
			t.Errorf("%+v: %v, want one error", filter, b.check())
		}
	}
}
