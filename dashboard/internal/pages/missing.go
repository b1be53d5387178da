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

// plannedOf is when the occurrence was planned that an ID is of; zero: it is of none.
func plannedOf(id string) time.Time {
	planned, err := time.Parse(time.RFC3339, id[strings.LastIndexByte(id, '@')+1:])
	if err != nil {
		return time.Time{}
	}
	return planned
}

// missingJob is why there is no page of a job that is no longer stored, and of which no run is kept: what is known of it all the same, and where to
// look. If the schedule knows how its last run ended, and that is the one, it returns that run.
func (s *Site) missingJob(ctx context.Context, job *chime.JobInfo, now time.Time) (*chime.RunInfo, error) {
	missing := &MissingError{Links: []render.Lead{{Text: "Look for this ID on all queues", Path: "search", Name: "q", Is: job.ID}}}
	planned := plannedOf(job.ID)
	if job.Schedule == "" || planned.IsZero() && !strings.Contains(job.ID, "#") {
		missing.Text = fmt.Sprintf("There is no job %.60q on queue %.60q: it has ended, or was deleted. Of a job that has ended something is kept if a schedule made it, or if it has the option chime.Keep.",
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
		missing.Text = which + " has ended, or never was. The schedule was deleted, and what became of its runs is not kept without it."
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
		missing.Text = fmt.Sprintf("%s has ended: it is not among the last %d that are kept.", which, of.KeepRuns)
		return nil, missing
	}
	missing.Links = append(missing.Links, render.Lead{Text: "That day", Path: history.Path, Name: "day", Is: planned.UTC().Format(dayFormat)})
	missing.Text, err = s.fateOf(ctx, of, planned, now)
	missing.Text = which + " is not stored. " + missing.Text
	return nil, errors.Join(err, missing)
}

// fateOf says what became of an occurrence of which no run is kept.
func (s *Site) fateOf(ctx context.Context, of *chime.Schedule, planned, now time.Time) (string, error) {
	switch {
	case planned.After(now) && of.State == chime.StateLive:
		return "It is to come, and is a job only when it is the next one.", nil
	case planned.After(now):
		return "It would be to come, but the schedule is " + string(of.State) + ".", nil
	case planned.Before(of.Created.Truncate(time.Second)):
		return "The schedule is newer than it.", nil
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
