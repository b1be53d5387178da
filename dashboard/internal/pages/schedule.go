package pages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/blocked"
	"github.com/chimejobs/chime/internal/history"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
)

const (
	shownNext = 10 // number of shown future occurrences
	shownRuns = 10 // number of shown runs, unless the viewer requests more
	maxRuns   = 1000
)

// Schedule is the page of a schedule.
type Schedule struct {
	*chime.Schedule
	State plain.State
	Words string
	Can   Can
	Known *chime.Acknowledgement // that it is failing; nil: it is not acknowledged

	Blockers []Blocker // why its jobs do not run now
	Coming   []Coming  // the next occurrences
	Open     []OpenJob // its jobs that have not ended
	MoreOpen int       // number of open jobs that are not listed

	Days  []PastDay // the last days with problems, newest first
	Strip []DayCell // the last days, oldest first
	Well  int       // the number of other days with planned occurrences, all of which ended well
	Asked *AskedDay // the requested day, which replaces the charts; nil: no day was requested
	Kept  time.Time // every run that was planned from here on is kept

	Runs     []ScheduleRun // newest first
	MoreRuns int           // number of kept runs that are not listed
	History  history.History

	Maps     []render.Chart
	Lateness *render.Chart // nil: no lateness is known
	Policies []render.Fact
	Counted  []Counter // since it was created, without those that are zero
	Facts    Facts
	Rule     string // as canonical JSON
	Code     string // Go code that declares it
}

// A Blocker is a reason why the jobs of a schedule are blocked, with a link to the page that shows it.
type Blocker struct {
	Text string
	Path string
	Do   string
}

// An OpenJob is a job of a schedule that has not ended.
type OpenJob struct {
	*chime.JobInfo
	State  plain.State
	Failed string // the error of its last attempt; empty: it did not fail
}

// A ScheduleRun is an attempt that has ended, or an occurrence that ended without one.
type ScheduleRun struct {
	*chime.RunInfo
	State plain.State
	Late  time.Duration // the lateness of the first attempt of an occurrence
	Timed bool          // Late is known
	Took  time.Duration
	Ran   bool // it was an attempt
	On    Hand
}

// A Counter is a count of a schedule since it was created.
type Counter struct {
	Name string
	N    int64
}

// Schedule reads the page of a schedule.
func (s *Site) Schedule(ctx context.Context, r *Request) (View, error) {
	day, err := r.day(time.Now())
	if err != nil {
		return View{}, err
	}
	listed, err := r.number("runs", 1, maxRuns, shownRuns)
	if err != nil {
		return View{}, err
	}
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	name, now := r.Values["name"], standing.Now()
	of, err := s.schedules.Get(ctx, name)
	if err != nil {
		return s.unreadSchedule(ctx, r, name, err)
	}
	s.hooks.hideSchedule(of)
	m := &Schedule{Schedule: of, State: plain.Schedule(of, now), Words: of.String(), Can: r.Can, Known: coveredSchedule(standing.Known, of, now)}
	if err := s.fillPast(ctx, m, standing, r, now, day, listed); err != nil {
		return View{}, err
	}
	if err := s.fillBlockers(ctx, m, standing); err != nil {
		return View{}, err
	}
	m.describe(s.hooks)
	return View{name, m}, nil
}

// day returns the day in the query, or zero.
func (r *Request) day(now time.Time) (time.Time, error) {
	text := r.Query.Get("day")
	if text == "" {
		return time.Time{}, nil
	}
	const most = 366 * 24 * time.Hour
	day, err := time.ParseInLocation(dayFormat, text, r.Zone)
	if err != nil || now.Sub(day).Abs() > 10*most {
		return time.Time{}, &QueryError{"day", text, "a day such as 2026-10-31, at most 10 years away"}
	}
	return day, nil
}

// unreadSchedule returns the page of a schedule that cannot be read. It has the known fields and the error.
func (s *Site) unreadSchedule(ctx context.Context, r *Request, name string, why error) (View, error) {
	if errors.Is(why, chime.ErrNotFound) {
		return View{}, &MissingError{
			Text:  fmt.Sprintf("There is no schedule %.60q: nobody has declared or put it, or it was deleted together with its history.", name),
			Links: []render.Lead{{Text: "All schedules", Path: "schedules"}},
		}
	}
	for found, err := range s.schedules.List(ctx, chime.ScheduleFilter{Prefix: name, Limit: 1}) {
		if found != nil && found.Name == name && err != nil {
			state := plain.State{Symbol: plain.Warning, Word: unread, Sentence: err.Error()}
			return View{name, &Schedule{Schedule: found, State: state, Can: r.Can}}, nil
		}
	}
	return View{}, why
}

// fillPast fills in past runs, future occurrences, and the reasons why occurrences did not run.
func (s *Site) fillPast(ctx context.Context, m *Schedule, standing *Standing, r *Request, now, day time.Time, listed int) error {
	runs, err := s.runs.of(ctx, m.Schedule)
	if err != nil {
		return err
	}
	days, err := s.days.of(ctx, m.Schedule)
	if err != nil {
		return err
	}
	series, err := m.Recurrence.Series(m.Created)
	if err != nil {
		return err
	}
	next, err := s.schedules.Upcoming(ctx, m.Name, shownNext)
	if err != nil {
		return err
	}
	for _, at := range next {
		m.Coming = append(m.Coming, Coming{at, at.Add(m.Offset)})
	}
	open, err := s.openJobs(ctx, m.Schedule, runs, standing)
	if err != nil {
		return err
	}
	states, err := s.jobStates(ctx, open, standing)
	if err != nil {
		return err
	}
	past := newPast(m.Schedule, series, runs, days, open, standing.hand, now)
	for i, job := range open {
		m.Open = append(m.Open, OpenJob{job, states[i], shortened(s.hooks.failed(job, job.LastError))})
	}
	m.MoreOpen = max(0, m.Last.Unfinished-len(m.Open))
	m.Kept = past.kept
	m.Days, m.Well, m.Strip = past.pastDays(r.Zone)
	if day.IsZero() {
		m.Maps, m.Lateness = past.maps(r.Zone), latenessOfRuns(m.Schedule, runs, now, r.Zone)
	} else {
		m.Asked = past.askedDay(day)
	}
	m.History = history.Of(m.Schedule, runs, now)
	m.MoreRuns = max(0, len(runs)-listed)
	for _, run := range runs[:len(runs)-m.MoreRuns] {
		shown := ScheduleRun{RunInfo: run, State: plain.Outcome(run.Outcome), Ran: !run.Started.IsZero(), On: standing.hand(run.Worker)}
		shown.Late, shown.Timed = history.Lateness(m.Schedule, run)
		if shown.Ran {
			shown.Took = run.Ended.Sub(run.Started)
		}
		m.Runs = append(m.Runs, shown)
	}
	return nil
}

// openJobs finds the jobs of a schedule that wait, run or wait for another attempt. It finds them by their IDs, so its cost does not depend on other
// jobs. These are the placed occurrence, the jobs whose attempts ended last, and the jobs that were running at the last reading of the store.
func (s *Site) openJobs(ctx context.Context, of *chime.Schedule, runs []*chime.RunInfo, standing *Standing) ([]*chime.JobInfo, error) {
	const most = 20
	var ids []string
	add := func(id string) {
		if len(ids) < most && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if !of.Next.IsZero() {
		add(occurrenceID(of.Name, of.Next))
	}
	for _, job := range standing.Running {
		if job.Schedule == of.Name && job.Queue == of.Queue {
			add(job.ID)
		}
	}
	if of.Last.Unfinished > 0 {
		for _, run := range runs[:min(len(runs), most)] {
			if run.Outcome == chime.RunFailed || run.Outcome == chime.RunSnoozed || run.Outcome == chime.RunCrashed {
				add(run.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	page, err := s.jobs.Page(ctx, chime.JobFilter{Queue: of.Queue, IDs: ids})
	if errors.Is(err, chime.ErrNotFound) {
		return nil, nil
	}
	return slices.DeleteFunc(page.Jobs, func(job *chime.JobInfo) bool {
		return job.State == chime.JobDead || job.State == chime.JobDone
	}), err
}

// fillBlockers fills in the reasons why the jobs of the schedule are blocked.
func (s *Site) fillBlockers(ctx context.Context, m *Schedule, standing *Standing) error {
	i := slices.IndexFunc(standing.Queues, func(q overview.Queue) bool { return q.Name == m.Queue })
	if i < 0 {
		return nil // the schedule is new and has placed no job
	}
	found, err := blocked.On(ctx, s.store, m.Schedule, standing.Queues[i].QueueInfo, standing.Served()(m.Queue))
	for _, h := range found {
		shown := Blocker{Text: h.Text, Path: render.Path("queues", m.Queue), Do: "Show the queue"}
		switch h.Kind {
		case blocked.Unserved:
			shown.Path, shown.Do = "workers", "Show the workers"
		case blocked.Parked:
			shown.Path, shown.Do = "jobs", "Show the jobs"
		}
		m.Blockers = append(m.Blockers, shown)
	}
	if len(found) > 0 {
		m.State = plain.Blocked(m.State, found[0].Kind.String())
	}
	return err
}
