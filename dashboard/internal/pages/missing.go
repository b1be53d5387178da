package pages

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// plannedOf returns the planned time in the ID of an occurrence, or zero if the ID is not the ID of an occurrence.
func plannedOf(id string) time.Time {
	planned, err := time.Parse(time.RFC3339, id[strings.LastIndexByte(id, '@')+1:])
	if err != nil {
		return time.Time{}
	}
	return planned
}

// missingJob returns the error for a job that is no longer stored and that has no kept run. The error has everything that is still known, and links.
// If the job is the schedule's last run, whose outcome is known, missingJob returns that run instead.
func (s *Site) missingJob(ctx context.Context, job *chime.JobInfo, now time.Time) (*chime.RunInfo, error) {
	missing := &MissingError{Links: []render.Lead{{Text: "Search for this ID on all queues", Path: "search", Name: "q", Is: job.ID}}}
	planned := plannedOf(job.ID)
	if job.Schedule == "" || planned.IsZero() && !strings.Contains(job.ID, "#") {
		missing.Text = fmt.Sprintf("There is no job %.60q on queue %.60q: it has ended or was deleted. An ended job is kept only if it belongs to a schedule or has the option chime.Keep.",
			job.ID, job.Queue)
		return nil, missing
	}
	of, err := s.schedules.Get(ctx, job.Schedule)
	which := "This run of schedule " + job.Schedule
	if !planned.IsZero() {
		which = fmt.Sprintf("The occurrence of schedule %s that was planned for %s", job.Schedule, planned.UTC().Format("2 January 2006 15:04:05 UTC"))
	}
	switch {
	case errors.Is(err, chime.ErrNotFound), errors.As(err, new(*chime.InvalidError)):
		missing.Text = which + " has ended or never existed. The schedule was deleted, and the history of its runs with it."
		missing.Links = append(missing.Links, render.Lead{Text: "All schedules", Path: "schedules"})
		return nil, missing
	case err != nil:
		return nil, err
	}
	if last := of.Last; !last.Ended.IsZero() && last.Planned.Equal(planned) {
		return &chime.RunInfo{ID: job.ID, Name: of.JobName, Queue: of.Queue, Schedule: of.Name, Planned: planned, Ended: last.Ended, Outcome: last.Outcome}, nil
	}
	history := render.Lead{Text: "The history of " + of.Name, Path: render.Path("schedules", of.Name)}
	missing.Links = append(missing.Links, history)
	if planned.IsZero() {
		missing.Text = fmt.Sprintf("%s has ended, and it is not among the last %d runs that are kept.", which, of.KeepRuns)
		return nil, missing
	}
	missing.Links = append(missing.Links, render.Lead{Text: "That day", Path: history.Path, Name: "day", Is: planned.UTC().Format(dayFormat)})
	missing.Text, err = s.fateOf(ctx, of, planned, now)
	missing.Text = which + " is not stored. " + missing.Text
	return nil, errors.Join(err, missing)
}

// fateOf describes the outcome of an occurrence without a kept run.
func (s *Site) fateOf(ctx context.Context, of *chime.Schedule, planned, now time.Time) (string, error) {
	switch {
	case planned.After(now) && of.State == chime.StateLive:
		return "It is still to come. It becomes a job when it is the next occurrence.", nil
	case planned.After(now):
		return "Its time has not come, and the schedule is " + string(of.State) + ".", nil
	case planned.Before(of.Created.Truncate(time.Second)):
		return "The schedule was created after it.", nil
	}
	runs, err := s.runs.of(ctx, of)
	if err != nil {
		return "", err
	}
	series, err := of.Recurrence.Series(of.Created)
	if err != nil {
		return "", err
	}
	return newPast(of, series, runs, nil, nil, nil, now).fate(planned).State.Sentence, nil
}
