package pages

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/rights"
	"github.com/chimejobs/chime/internal/shape"
)

const (
	overviewRows = 10               // number of rows in each list of the overview
	redacted     = "not shown"      // shown for an error if no job is known for which the application's hook could be called
	oldListing   = 10 * time.Second // the page shows the age of an older list of schedules
)

// Overview is the page with the state of the whole store.
type Overview struct {
	Can      Can
	Health   Health
	Flow     overview.Flow
	Depths   []Depth // of all queues
	Slots    int
	Busy     int
	Counted  bool // Busy is known
	AtMost   bool // Busy is the most that may be busy
	Charts   *Charts
	Next     []NextRun
	Runs     []PastRun
	RunsAt   time.Time // the time of the reading, by the store's clock; zero: now
	RunsNote string    // why these are not all; empty: these are all
	Failures []FailureRow
	Queues   []QueueRow
	AllOf    int  // the number of all queues
	Fresh    bool // nothing was ever enqueued or scheduled here

	NextNote, FailuresNote, WorkersNote string // why these are incomplete; empty: they are complete
}

// A Depth is the number of jobs in a state.
type Depth struct {
	State chime.JobState
	Name  string
	N     int64
}

// depthsOf returns the number of jobs of all queues in each state.
func depthsOf(queues ...overview.Queue) []Depth {
	all := []Depth{{State: chime.JobWaiting, Name: "Waiting"}, {State: chime.JobDelayed, Name: "Delayed"}, {State: chime.JobRunning, Name: "Running"},
		{State: chime.JobParked, Name: "Parked"}, {State: chime.JobDead, Name: "Dead"}}
	for _, q := range queues {
		for i, n := range []int64{q.Waiting, q.Delayed, q.Running, q.Parked, q.Dead} {
			all[i].N += n
		}
	}
	return all
}

// figuresOf returns the number of jobs of all queues in each state, with the states that only some stores have at times.
func figuresOf(queues ...overview.Queue) []Depth {
	all := depthsOf(queues...)
	if slices.ContainsFunc(queues, func(q overview.Queue) bool { return q.Ahead < 0 }) {
		all[2].Name = inFlight
	}
	for _, more := range heldOf(queues) {
		all = slices.Insert(all, 3, more) // beside the running jobs
	}
	return all
}

// inFlight is the title of the running jobs if it is not known which of them have not begun.
const inFlight, takenAhead, ofVanished = "In flight", "Taken ahead", "Of vanished workers"

// Mark returns the name of the number.
func (d Depth) Mark() string { return Tally{Name: d.Name, State: string(d.State)}.Mark() }

// heldOf returns the jobs that workers hold and that do not run, if there are any. The list of running jobs has them.
func heldOf(queues []overview.Queue) (some []Depth) {
	ahead, vanished := int64(0), int64(0)
	for _, q := range queues {
		ahead, vanished = ahead+max(q.Ahead, 0), vanished+q.Vanished
	}
	if vanished > 0 {
		some = append(some, Depth{State: chime.JobRunning, Name: ofVanished, N: vanished})
	}
	if ahead > 0 {
		some = append(some, Depth{State: chime.JobRunning, Name: takenAhead, N: ahead})
	}
	return some
}

// Minor reports whether a narrow screen may leave it out of a queue's row.
func (d Depth) Minor() bool { return d.State == chime.JobDelayed || d.State == chime.JobParked }

// Tone returns the colour of a number that is not zero.
func (d Depth) Tone() string {
	switch {
	case d.N == 0:
		return ""
	case d.State == chime.JobDead:
		return "fail"
	case d.State == chime.JobParked:
		return "late"
	}
	return ""
}

// A NextRun is a schedule's next occurrence.
type NextRun struct {
	*chime.Schedule
	Due   time.Time
	Words string
	State plain.State
}

// A FailureRow is a group of similar failed attempts.
type FailureRow struct {
	overview.Group
	Filter string // the filter that finds them in the list of jobs
	State  string // the tab of that list
}

// Overview reads the overview.
func (s *Site) Overview(ctx context.Context, r *Request) (View, error) {
	window, err := r.window()
	if err != nil {
		return View{}, err
	}
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	charts, err := s.chartsAt(ctx, r, standing, window, "")
	if err != nil {
		return View{}, err
	}
	listing, err := s.directory.lately(ctx, r.Live)
	if err != nil && !rights.Missing(err) {
		return View{}, err
	}
	coming, comingNote, err := s.coming.read(ctx, s.store, standing)
	if err != nil {
		return View{}, err
	}
	open, known := s.openFailures(standing)
	m := &Overview{
		Can: r.Can, Health: healthOf(standing, listing, open), Flow: standing.Flow, Depths: figuresOf(standing.Queues...), Charts: charts, AllOf: len(standing.Queues), Fresh: len(standing.Queues) == 0,
		Counted: true, NextNote: comingNote, FailuresNote: standing.Notes[overview.Failures],
		WorkersNote: standing.Notes[overview.Workers],
	}
	m.Health.Known = append(m.Health.Known, known...)
	for _, w := range standing.Workers {
		m.Slots, m.Busy, m.Counted, m.AtMost = m.Slots+w.Slots, m.Busy+w.Busy, m.Counted && w.Counted, m.AtMost || w.SharesSlots()
	}
	blocking := standing.blocking()
	for _, next := range coming {
		m.Next = append(m.Next, NextRun{next, due(next), next.Recurrence.String(), plain.Blocked(plain.Schedule(next, standing.Now()), blocking(next))})
	}
	m.Failures = s.failureRows(open)
	m.Queues = s.queueRows(standing, busiestFirst)
	m.Queues = m.Queues[:min(len(m.Queues), overviewRows)]
	if m.Runs, err = s.lastRuns.read(ctx, s.store, listing, overviewRows); err != nil {
		return View{}, err
	}
	if age := time.Since(listing.At); !listing.At.IsZero() && age > oldListing {
		m.RunsAt = standing.Now().Add(-age).Truncate(time.Second)
	}
	if !listing.Whole && len(listing.Schedules) > 0 {
		m.RunsNote = "Only the first " + format.Count(len(listing.Schedules)) + " schedules by name."
	}
	return View{"Overview", m}, nil
}

// due returns when the next occurrence of a schedule is due. It is zero if no occurrence follows, or if one is about to be placed.
func due(s *chime.Schedule) time.Time {
	if s.Next.IsZero() {
		return time.Time{}
	}
	return s.Next.Add(s.Offset)
}

// busiestFirst orders queues by the number of jobs that workers have to run.
func busiestFirst(a, b *overview.Queue) int {
	return cmp.Or(cmp.Compare(b.Waiting+b.Running, a.Waiting+a.Running), cmp.Compare(b.Dead+b.Parked, a.Dead+a.Parked), cmp.Compare(a.Name, b.Name))
}

// failureRows returns the rows of the largest groups. Groups with the same shown error become one row, because the difference is hidden too.
func (s *Site) failureRows(groups []overview.Group) (rows []FailureRow) {
	if s.hooks.RedactError == nil {
		groups = groups[:min(len(groups), overviewRows)]
	}
	type look struct{ job, error string }
	at := map[look]int{}
	for _, g := range groups {
		row := s.failureRow(g)
		key := look{row.Job, row.Error}
		i, known := at[key]
		if !known {
			at[key] = len(rows)
			rows = append(rows, row)
			continue
		}
		rows[i].add(row)
	}
	slices.SortStableFunc(rows, func(a, b FailureRow) int { return cmp.Compare(b.Count, a.Count) })
	return rows[:min(len(rows), overviewRows)]
}

// add adds a similar group to the row.
func (r *FailureRow) add(other FailureRow) {
	r.Count += other.Count
	r.Queues = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Queues, other.Queues))))
	if other.First.Before(r.First) {
		r.First = other.First
	}
	if other.Last.After(r.Last) {
		r.Last = other.Last
	}
	if other.State == string(chime.JobDead) {
		r.State = other.State
	}
}

// failureRow returns the row of a group. Its error is the text that the application shows.
func (s *Site) failureRow(g overview.Group) FailureRow {
	filter := jobfind.Filter{Job: jobfind.Pattern{Text: g.Job}}
	row := FailureRow{Group: g, State: string(chime.JobDead), Filter: filter.String()}
	if len(g.Jobs) > 0 && !slices.ContainsFunc(g.Jobs, func(j *chime.JobInfo) bool { return j.State == chime.JobDead }) {
		row.State = string(chime.JobRetrying)
	}
	if s.hooks.RedactError != nil && g.Error != "" {
		row.Error = redacted
		if len(g.Jobs) > 0 {
			row.Error = shape.Of(s.hooks.failed(g.Jobs[0], g.Jobs[0].LastError))
		}
	}
	return row
}

// Empty is shown if nothing was ever enqueued or scheduled.
func (*Overview) Empty() render.Empty {
	return render.Empty{
		Text: "There are no jobs and no schedules yet. This line creates the first schedule:",
		Line: `chime schedules put report "*/15 * * * *"`,
	}
}

// EmptyNext is shown if nothing is planned.
func (*Overview) EmptyNext() render.Empty {
	return render.Empty{Text: "No schedule has a future occurrence. This line creates one:", Line: `chime schedules put report "*/15 * * * *"`}
}

// EmptyRuns is shown if no schedule has run.
func (*Overview) EmptyRuns() render.Empty {
	return render.Empty{Text: "No schedule has run yet. This line runs one now:", Line: "chime schedules trigger report"}
}
