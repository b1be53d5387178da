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
		return State{Stopped, "paused", "None of its jobs starts until it is resumed: it was paused" + by(g.Note) + "."}
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
