package plain_test

import (
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/plain"
)

func TestTheNumberOfRunningJobsIsAnUpperBoundIfItIsNotKnown(t *testing.T) {
	for want, q := range map[string]chime.QueueInfo{"0": {}, "5,012": {Running: 5012, Ahead: 7}, "≤5,012": {Running: 5012, Ahead: -1}} {
		if got := plain.Running(&q); got != want {
			t.Errorf("%+v: got %s, want %s", q, got, want)
		}
	}
}
