package pages

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/plain"
)

// Facts are the rows of the last table of a schedule's page.
type Facts struct {
	Arguments int // bytes; 0: it has none
	Headers   []render.Pair
	Used      string // the used part of its count; empty: it has no count
}

// describe fills in the facts from the definition.
func (m *Schedule) describe(hooks Hooks) {
	m.Policies = []render.Fact{
		{Name: "Overlap", Value: plain.Overlap(m.Overlap)},
		{Name: "Misfire", Value: plain.Grace(m.Grace) + " " + plain.Misfire(m.Misfire)},
		{Name: "Due", Value: plain.Spread(m.Spread, m.Offset)},
		{Name: "Attempts", Value: plain.Retry(m.Retry, m.MaxAttempts)},
		{Name: "Failures", Value: plain.PauseAfter(m.PauseAfter)},
		{Name: "History", Value: keeps(m.KeepRuns)},
	}
	add := func(said bool, name, value string) {
		if said {
			m.Policies = append(m.Policies, render.Fact{Name: name, Value: value})
		}
	}
	add(m.Group != "", "Group", m.Group)
	add(m.MaxUnfinished > 0, "Unfinished", plain.MaxUnfinished(m.MaxUnfinished))
	add(m.Timeout > 0, "Timeout", "An attempt may take "+format.Exact(m.Timeout)+".")
	add(m.Keep > 0, "Results", "They are kept for "+format.Exact(m.Keep)+".")
	add(m.OnDone != "", "When done", "A job "+m.OnDone+" is added when one of its jobs is done.")
	add(m.OnDeath != "", "On death", "A job "+m.OnDeath+" is added when one of its jobs dies.")
	add(!m.DatesUntil.IsZero(), "Dates", "Its list of dates ends on "+m.DatesUntil.Format("2 January 2006")+".")
	add(m.Sealed != "", "Sealed", "Its arguments are sealed with key "+m.Sealed+", and this dashboard cannot open them.")
	m.Facts.Arguments = len(m.Payload)
	m.Facts.Headers = hooks.headers(&chime.JobInfo{Name: m.JobName, Queue: m.Queue, Schedule: m.Name}, m.Header)
	if m.Recurrence.Count > 0 {
		m.Facts.Used = format.Count(m.Used) + " of " + format.Count(m.Recurrence.Count)
	}
	c := m.Counters
	m.Counted = slices.DeleteFunc([]Counter{
		{"placed", c.Placed}, {"started", c.Started}, {"done", c.Done}, {"attempts failed", c.Failed}, {"dead", c.Dead}, {"skipped", c.Skipped}, {"of these, too many unfinished", c.Full}, {"missed", c.Missed},
		{"caught up", c.CaughtUp}, {"superseded", c.Superseded}, {"cancelled", c.Cancelled},
	}, func(c Counter) bool { return c.N == 0 })
	m.Rule, m.Code = definitionOf(m.Schedule), codeOf(m.Schedule, m.Facts.Headers)
}

// keeps describes the history that a schedule keeps.
func keeps(runs int) string {
	if runs == 0 {
		return "Its runs are not kept."
	}
	return fmt.Sprintf("Its last %s runs and the counts of %d days are kept.", format.Count(runs), pastDays)
}

// Zone returns the schedule's own time zone.
func (m *Schedule) Zone() *time.Location { return zoneOf(m.Schedule) }

// ZoneName returns the name of the zone in its rule.
func (m *Schedule) ZoneName() string {
	if m.Recurrence.TimeZone == "" {
		return "UTC"
	}
	return m.Recurrence.TimeZone
}

// Find returns a filter that finds its jobs.
func (m *Schedule) Find() string {
	filter := jobfind.Filter{Schedule: jobfind.Pattern{Text: m.Name}}
	return filter.String()
}

// IsUnread reports whether this version cannot read it.
func (m *Schedule) IsUnread() bool { return m.State.Word == unread }

// IsPaused reports whether it is paused.
func (m *Schedule) IsPaused() bool { return m.State.Word == "paused" }

// MayPause reports whether it can be paused.
func (m *Schedule) MayPause() bool {
	return m.Can.Operate && !m.IsPaused() && m.State.Word != "completed"
}

// MayAcknowledge reports whether it is a problem that can be acknowledged.
func (m *Schedule) MayAcknowledge() bool {
	return m.Can.Operate && m.Known == nil && plain.Failing(m.Schedule)
}

// Explained reports whether a run has an error or a note, which has a row of its own.
func (m *Schedule) Explained() bool {
	return slices.ContainsFunc(m.Runs, func(run ScheduleRun) bool { return run.Error != "" || run.Note != "" })
}

// NoRuns is shown if no run is kept.
func (m *Schedule) NoRuns() render.Empty {
	if m.KeepRuns == 0 {
		return render.Empty{Text: "Its runs are not kept. This option keeps the last 20:", Line: "chime.KeepRuns(20)"}
	}
	return render.Empty{Text: "Nothing has run yet. This line runs it now:", Line: "chime schedules trigger " + strconv.Quote(m.Name)}
}
