package pages

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/rights"
)

// Job is the page of a job in any state. It does not contain the payload and the result: see Site.Reveal.
type Job struct {
	*chime.JobInfo
	Standing plain.State // its state in a sentence
	InGroup  *GroupLink  // nil: it belongs to no group
	Gone     bool        // it is no longer stored; the data comes from the history of its schedule
	Since    time.Time   // since when it is in its state; zero: not known

	Of       string // the attempt and the number of attempts
	Retries  string // the wait between two attempts; empty: its handler or worker sets it
	Percent  int    // the progress that its handler reports; -1: it has not reported any
	Headers  []render.Pair
	Links    []Link
	On       Hand      // the worker that runs it
	Attempts []Attempt // the known ones, newest first
	Earlier  int       // the number of attempts before these
	Held     []Held
	Verbs    []render.Verb
	Reveal   bool // the viewer may see its contents
}

// A Held is a payload, progress or result, of which the page shows the size.
type Held struct {
	Name string
	Size int
}

// Job reads one job.
func (s *Site) Job(ctx context.Context, r *Request) (View, error) {
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	queue, id := r.Values["queue"], r.Values["id"]
	info, err := s.jobs.Get(ctx, queue, id)
	gone := errors.Is(err, chime.ErrNotFound)
	if info == nil && !gone {
		return View{}, err
	}
	if gone {
		info = &chime.JobInfo{ID: id, Queue: queue, Schedule: scheduleOf(id)}
	}
	s.hooks.hideJob(info)
	runs, failed := s.runsOf(ctx, info)
	if failed != nil {
		return View{}, failed
	}
	if gone && len(runs) == 0 {
		last, err := s.missingJob(ctx, info, standing.Now())
		if err != nil {
			return View{}, err
		}
		runs = append(runs, last)
	}
	m := &Job{JobInfo: info, InGroup: groupLink(info.Queue, info.Group), Gone: gone, Since: jobfind.Since(info), Of: attemptOf(info), Retries: info.Retry.String(), Percent: percentOf(info), Links: s.hooks.links(info)}
	if m.Standing, err = s.jobState(ctx, info, standing); err != nil {
		return View{}, err
	}
	if gone {
		last := runs[0]
		info.Name, info.Planned, m.Standing = last.Name, last.Planned, plain.Outcome(last.Outcome)
		if last.Outcome == chime.RunDone {
			m.Standing.Sentence = "This run is done."
			if !plannedOf(id).IsZero() {
				m.Standing.Sentence = "This occurrence ran and is done."
			}
		}
	}
	m.On = standing.hand(info.Worker)
	m.Attempts, m.Earlier = s.attemptsOf(info, runs)
	for i := range m.Attempts {
		m.Attempts[i].On = standing.hand(m.Attempts[i].Worker)
	}
	m.Headers = s.hooks.headers(info, info.Header)
	for _, held := range holdings(info) {
		m.Held = append(m.Held, Held{held.name, len(held.data)})
	}
	if !gone {
		m.Verbs, m.Reveal = verbsFor(r.Can, string(info.State)), r.Can.Reveal
	}
	info.Note = s.hooks.failed(info, info.Note)
	info.Payload, info.Result, info.Progress = nil, nil, nil
	return View{info.Name + " " + info.ID, m}, nil
}

// jobState describes a job with the reason why it does not run.
func (s *Site) jobState(ctx context.Context, job *chime.JobInfo, standing *Standing) (plain.State, error) {
	states, err := s.jobStates(ctx, []*chime.JobInfo{job}, standing)
	if err != nil {
		return plain.State{}, err
	}
	return states[0], nil
}

// jobStates describes jobs with the reasons why they do not run.
func (s *Site) jobStates(ctx context.Context, jobs []*chime.JobInfo, standing *Standing) ([]plain.State, error) {
	why, err := s.jobs.Reasons(ctx, jobs...)
	if rights.Missing(err) {
		why, err = make([]chime.Reason, len(jobs)), nil // this user has no right to know
	}
	if err != nil {
		return nil, err
	}
	states := make([]plain.State, len(jobs))
	for i, job := range jobs {
		states[i] = plain.JobInfo(job, why[i], standing.Now())
	}
	return states, nil
}

// scheduleOf returns the schedule in a job's ID: "<schedule>@<planned>" for an occurrence, "<schedule>#<any>" for a manual run.
func scheduleOf(id string) string {
	if at := strings.LastIndexByte(id, '@'); at > 0 {
		return id[:at]
	}
	name, _, manual := strings.Cut(id, "#")
	if !manual {
		return ""
	}
	return name
}

// runsOf returns the kept runs of a job from its schedule's history, newest first. A job without a schedule has none.
func (s *Site) runsOf(ctx context.Context, job *chime.JobInfo) (runs []*chime.RunInfo, err error) {
	if job.Schedule == "" {
		return nil, nil
	}
	for run, err := range s.schedules.Runs(ctx, job.Schedule) {
		if errors.Is(err, chime.ErrNotFound) || errors.As(err, new(*chime.InvalidError)) {
			return nil, nil // the schedule was deleted, or the name is not a valid one
		}
		if err != nil {
			return nil, err
		}
		if run.ID == job.ID {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// percentOf returns the progress of a job. Its handler reports a number up to 1, or up to 100.
func percentOf(job *chime.JobInfo) int {
	var part float64
	if len(job.Progress) == 0 || chime.Decode(job.Progress, &part) != nil || !(part >= 0 && part <= 100) {
		return -1
	}
	if part <= 1 {
		part *= 100
	}
	return int(part)
}
