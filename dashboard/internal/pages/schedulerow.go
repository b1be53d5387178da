package pages

import (
	"html/template"
	"slices"
	"strconv"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/svg"
)

// A ScheduleRow is a row of the list of schedules.
type ScheduleRow struct {
	*chime.Schedule
	State  plain.State
	Words  string        // its rule in words; empty: it cannot be read
	Due    time.Time     // when it is due next; zero: see State
	Late   time.Duration // the 99th percentile of the kept runs
	Timed  bool          // Late is known
	Failed string        // number of failed attempts within 24 hours; "…": not read yet
	Fails  bool          // Failed is not 0
	Whole  bool          // Failed has all of them; false: the kept runs do not reach back 24 hours
	Ticks  template.HTML // chart of the last runs; empty: there are none
}

func newScheduleRow(f *foundSchedule, zone *time.Location) ScheduleRow {
	row := ScheduleRow{Schedule: f.Schedule, State: f.state, Late: f.history.LateP99, Timed: f.history.Starts > 0}
	if f.Unread != nil {
		return row
	}
	row.Words = f.Schedule.String()
	if f.Schedule.State == chime.StateLive && !f.Next.IsZero() {
		row.Due = f.Next.Add(f.Offset)
	}
	if !f.history.Known {
		row.Failed, row.Whole = "…", true // it is read with the next reading of the list
		return row
	}
	row.Failed, row.Fails, row.Whole = strconv.Itoa(f.history.Failed), f.history.Failed > 0, !f.history.AtLeast
	row.Ticks = ticksOf(f.Name, f.runs, zone)
	return row
}

// Zone returns the schedule's own time zone.
func (r *ScheduleRow) Zone() *time.Location { return zoneOf(r.Schedule) }

// LastState returns the outcome of its last attempt.
func (r *ScheduleRow) LastState() plain.State { return plain.Outcome(r.Last.Outcome) }

// IsPaused reports whether somebody has paused it.
func (r *ScheduleRow) IsPaused() bool { return r.State.Word == "paused" }

// IsUnread reports whether this version cannot read it.
func (r *ScheduleRow) IsUnread() bool { return r.State.Word == unread }

const maxTicks = 20

// ticksOf draws the last runs. They are ordered newest first.
func ticksOf(name string, runs []*chime.RunInfo, zone *time.Location) template.HTML {
	if len(runs) == 0 {
		return ""
	}
	ticks := svg.Ticks{Title: name, Zone: zone}
	for _, run := range slices.Backward(runs[:min(len(runs), maxTicks)]) {
		ticks.Runs = append(ticks.Runs, svg.Tick{At: run.Ended, Tone: toneOf(run.Outcome), Word: string(run.Outcome)})
	}
	return ticks.SVG()
}

// toneOf returns the tone of an outcome in a chart.
func toneOf(outcome chime.RunOutcome) svg.Tone {
	switch outcome {
	case chime.RunDone:
		return svg.OK
	case chime.RunFailed, chime.RunDead, chime.RunCrashed:
		return svg.Fail
	case chime.RunMissed, chime.RunExpired:
		return svg.Missed
	}
	return svg.Off
}

// zoneOf returns the zone of a schedule's rule, or nil if this server's database does not have it.
func zoneOf(s *chime.Schedule) *time.Location {
	zone, err := time.LoadLocation(s.Recurrence.TimeZone)
	if err != nil {
		return nil
	}
	return zone
}
