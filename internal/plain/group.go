package plain

import (
	"cmp"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
)

// Group describes whether a group of a queue may start a job.
func Group(g *chime.GroupInfo) State {
	switch g.Blocked {
	case chime.GroupPaused:
		return State{Stopped, "paused", "None of its jobs starts until " + end(g.Note) + ": it was paused" + by(g.Note) + "."}
	case chime.GroupOrdered:
		return State{Idle, "waiting", "Its jobs run in order, and " + cmp.Or(g.By, "an earlier one") + " has not ended."}
	case chime.GroupRunning:
		return State{Idle, "waiting", "As many of its jobs run as may run at once."}
	case chime.GroupStarts:
		return State{Idle, "waiting", "As many of its jobs have started as may start within the period."}
	}
	if g.Waiting == 0 {
		return State{Idle, "idle", "None of its jobs waits to run now."}
	}
	return State{Going, "live", "Workers take its jobs."}
}

// GroupRule describes the limits and the order of a group: in order, 5 at once, 10 starts in 1s, 100 waiting. It is empty without any.
func GroupRule(r chime.GroupRule) string {
	var parts []string
	if r.Ordered == chime.On {
		parts = append(parts, "in order")
	}
	if limit := Limit(chime.Limit{Running: max(r.Running, 0), Starts: max(r.Starts, 0), Per: r.Per}); limit != "" {
		parts = append(parts, limit)
	}
	if r.Waiting > 0 {
		parts = append(parts, format.Count(r.Waiting)+" waiting")
	}
	return strings.Join(parts, ", ")
}

// Groups describes the groups of a queue that have jobs waiting: "12 may start a job, 3 are blocked (2 paused, 1 ordered)", and the oldest of the jobs that
// are first in their groups: "4m, of tenant-7 (paused)", empty if it is not known. mayStart is the exact number of the first ones; if sum.Next is not empty, sum
// has a part of the groups.
func Groups(mayStart int64, sum chime.GroupSum) (counts, oldest string) {
	blocked, all := sum.Blocked(), sum.MayStart
	var parts []string
	reason := ""
	for _, of := range []struct {
		why   chime.GroupBlock
		tally chime.GroupTally
	}{{chime.GroupPaused, sum.Paused}, {chime.GroupOrdered, sum.Ordered}, {chime.GroupRunning, sum.Running}, {chime.GroupStarts, sum.Starts}} {
		if of.tally.Groups > 0 {
			parts = append(parts, format.Count(of.tally.Groups)+" "+string(of.why))
		}
		before := all.Group
		if all = all.Plus(of.tally); all.Group != before {
			reason = " (" + string(of.why) + ")"
		}
	}
	counts = format.Count(mayStart) + " may start a job, "
	switch {
	case sum.Next != "":
		counts += "at least " + format.Count(blocked.Groups) + " " + format.Agree(blocked.Groups, "is", "are") + " blocked"
	case blocked.Groups == 0:
		counts += "none is blocked"
	default:
		counts += format.Count(blocked.Groups) + " " + format.Agree(blocked.Groups, "is", "are") + " blocked"
	}
	if len(parts) > 0 {
		counts += " (" + strings.Join(parts, ", ") + ")"
	}
	if !all.Oldest.IsZero() {
		oldest = format.Span(max(0, sum.Now.Sub(all.Oldest))) + ", of " + all.Group + reason
	}
	return counts, oldest
}
