package service

import (
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/recurrence"
)

// NextOf returns the next instants of a job, and a text of its rule.
func (s *Service) NextOf(ctx context.Context, n resource.JobName, count int) (next []time.Time, text string, err error) {
	schedule, _, _, err := s.find(ctx, n)
	if err != nil {
		return nil, "", err
	}
	next, err = s.schedules.Upcoming(ctx, schedule.Name, count)
	if errors.Is(err, chime.ErrNotFound) {
		return nil, "", noJob(n)
	}
	return next, schedule.String(), err
}

// Preview checks a job like PutJob, but without its collection, and returns its first instants and a text of its rule. It stores nothing, and opens no
// PKCS #12 file: opening one takes the time that its creator has chosen, and anybody may send previews.
func (s *Service) Preview(ctx context.Context, j *resource.Job, count int) (next []time.Time, text string, err error) {
	a, open := j.Action.Clone(), s.options.OpenPFX
	if open != nil {
		open = action.Unopened
	}
	mistakes := append(a.Prepare(ctx, open), a.Keep(nil)...)
	mistakes = append(mistakes, a.Validate(s.rules())...)
	if len(mistakes) > 0 {
		return nil, "", problem.Invalid(within(j.Prefix, mistakes))
	}
	if a.HasSecrets() && s.options.Secrets == nil {
		return nil, "", noKeys()
	}
	now, rule := time.Now(), j.Rule
	if j.Now {
		rule = recurrence.Recurrence{StartTime: now.Truncate(time.Second)}
	}
	rule.NoImmediateRun = j.NoImmediateRun
	if next, err = firstRuns(rule, now, count); err != nil {
		return nil, "", clientError(err, j.Prefix)
	}
	return next, chime.Schedule{Recurrence: rule}.String(), nil
}

// firstRuns returns the first runs of a job that is created now.
func firstRuns(rule recurrence.Recurrence, now time.Time, n int) (runs []time.Time, err error) {
	if rule.Count > 0 {
		n, rule.Count = min(n, rule.Count), 0
	}
	series, err := rule.Series(now)
	if err != nil {
		return nil, err
	}
	for run := range series.All() {
		if len(runs) == n {
			break
		}
		runs = append(runs, run)
	}
	return runs, nil
}
