// Package history summarises the runs that a schedule keeps. The command and the dashboard show the summary.
package history

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
)

// A History is the summary of the runs that a schedule keeps. The zero value means that nothing is known.
type History struct {
	Known   bool
	Starts  int           // first attempts of occurrences
	LateP99 time.Duration // of the starts
	Failed  int           // attempts that failed within 24 hours
	AtLeast bool          // there may have been more: the schedule does not keep older runs
}

// Of summarises runs, the newest first, at an instant of the store's clock.
func Of(schedule *chime.Schedule, runs []*chime.RunInfo, now time.Time) History {
	h := History{Known: true, AtLeast: len(runs) > 0 && len(runs) >= schedule.KeepRuns}
	var late []time.Duration
	for _, run := range runs {
		if d, ok := Lateness(schedule, run); ok {
			late = append(late, d)
		}
		if now.Sub(run.Ended) > 24*time.Hour {
			h.AtLeast = false // everything after it is known
			continue
		}
		if run.Outcome == chime.RunFailed || run.Outcome == chime.RunDead {
			h.Failed++
		}
	}
	if h.Starts = len(late); h.Starts > 0 {
		slices.Sort(late)
		h.LateP99 = late[int(math.Ceil(float64(len(late))*0.99))-1]
	}
	return h
}

// Lateness returns how late the first attempt of an occurrence began. No other run has a lateness: a backfilled occurrence was not planned to run
// then.
func Lateness(schedule *chime.Schedule, run *chime.RunInfo) (time.Duration, bool) {
	if run.Started.IsZero() || run.Attempt != 1 || run.Manual || run.Backfilled || !strings.HasPrefix(run.ID, schedule.Name+"@") {
		return 0, false
	}
	return max(0, run.Started.Sub(run.Planned.Add(schedule.Offset))), true
}
