package history

import (
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

func TestRunsAreSummedUp(t *testing.T) {
	now := time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC)
	of := &chime.Schedule{Name: "report", KeepRuns: 3, Offset: time.Second}
	run := func(hours int, outcome chime.RunOutcome, late time.Duration) *chime.RunInfo {
		at := now.Add(time.Duration(-hours) * time.Hour)
		return &chime.RunInfo{ID: "report@x", Planned: at, Started: at.Add(time.Second + late), Ended: at.Add(time.Minute), Attempt: 1, Outcome: outcome}
	}
	manual := run(2, chime.RunFailed, time.Hour)
	manual.Manual = true
	backfilled := run(2, chime.RunDone, time.Hour)
	backfilled.Backfilled = true
	for name, c := range map[string]struct {
		runs []*chime.RunInfo
		want History
	}{
		"none":            {nil, History{Known: true}},
		"all of a day":    {[]*chime.RunInfo{run(1, chime.RunFailed, 3), run(2, chime.RunDone, 9), run(3, chime.RunDead, 5)}, History{Known: true, Starts: 3, LateP99: 9, Failed: 2, AtLeast: true}},
		"older ones":      {[]*chime.RunInfo{run(1, chime.RunFailed, 3), run(26, chime.RunDone, 9), run(27, chime.RunDead, 5)}, History{Known: true, Starts: 3, LateP99: 9, Failed: 1}},
		"fewer than kept": {[]*chime.RunInfo{run(1, chime.RunFailed, 3)}, History{Known: true, Starts: 1, LateP99: 3, Failed: 1}},
		"by hand":         {[]*chime.RunInfo{manual}, History{Known: true, Failed: 1}},
		"backfilled":      {[]*chime.RunInfo{backfilled}, History{Known: true}},
	} {
		if got := Of(of, c.runs, now); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
