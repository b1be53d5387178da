package rules

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// A Job is a rule with the instant of its creation, on which its runs depend.
type Job struct {
	Rule    recurrence.Recurrence
	created time.Time
	series  *recurrence.Series
	skip    *recurrence.Series // the same without runs that a clock change has moved; nil: it has no run, or clock changes do not affect the rule
	zone    *time.Location     // the rule's zone
}

// NewJob returns the job of a rule that was created at an instant. Its error describes what is wrong with the rule.
func NewJob(rule recurrence.Recurrence, created time.Time) (*Job, error) {
	series, err := rule.Series(created)
	if err != nil {
		return nil, wrong(err)
	}
	j := &Job{Rule: rule, created: created, series: series, zone: time.UTC}
	if rule.TimeZone != "" {
		if j.zone, err = time.LoadLocation(rule.TimeZone); err != nil {
			return nil, err
		}
	}
	if rule.ClockChanges == recurrence.ClockOnce {
		j.skip = variant(rule, recurrence.ClockSkip, created)
	}
	return j, nil
}

// variant returns a rule with another setting for clock changes; nil if the rule has no such setting, or has no run then.
func variant(rule recurrence.Recurrence, way recurrence.ClockChanges, created time.Time) *recurrence.Series {
	rule.ClockChanges = way
	series, err := rule.Series(created)
	if err != nil {
		return nil
	}
	return series
}

// AtCreation returns the run that the job has because it is created: a rule that counts its periods from the creation begins with one, and a rule
// without periods whose start has passed runs at once.
func (j *Job) AtCreation() (time.Time, bool) {
	r := &j.Rule
	counts := r.Frequency != 0 || strings.Contains(strings.ToLower(r.Cron), "@every")
	first, ok := j.series.First()
	return first, ok && !r.NoImmediateRun && !first.After(j.created) && (counts && r.StartTime.IsZero() || j.once())
}

// once reports whether the rule has no periods.
func (j *Job) once() bool { return j.Rule.Frequency == 0 && j.Rule.Cron == "" }

// WithoutFirst returns the job without its run at creation, as chime.NoImmediateRun makes it.
func (j *Job) WithoutFirst() *Job {
	copied := *j
	copied.Rule.NoImmediateRun = true
	series, err := copied.Rule.Series(j.created)
	if err != nil {
		return j // it has no other run, and no schedule can have such a rule
	}
	copied.series = series
	return &copied
}

// Zone returns the zone of the rule.
func (j *Job) Zone() *time.Location { return j.zone }

// maxWalk is the maximum number of runs that are skipped one by one: it takes about two seconds.
const maxWalk = 10_000_000

// Coming returns the first n runs of the job at or after from and before until; a zero until means no end. The runs of a rule with a count are
// counted from its creation; if more than ten million lie before from, that is an error.
func (j *Job) Coming(ctx context.Context, from, until time.Time, n int) ([]time.Time, error) {
	var runs []time.Time
	run, ok := j.series.First()
	if ok && run.Before(from) && j.Rule.Count == 0 {
		run, ok = j.series.Next(from.Add(-1))
	}
	for used := 1; ok && len(runs) < n && (until.IsZero() || run.Before(until)); used++ {
		if !run.Before(from) {
			runs = append(runs, run)
		}
		if used == j.Rule.Count {
			break
		}
		if used == maxWalk {
			return nil, fmt.Errorf("more than %d runs lie between the creation and %s, and a rule with a count counts them all: want a later creation",
				maxWalk, from.UTC().Format(time.RFC3339))
		}
		if used%100 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		run, ok = j.series.Next(run)
	}
	return runs, nil
}

// MaxYear is the highest result of InYear: more than one run each minute.
const MaxYear = 600_000

// InYear returns how many runs the job has in the twelve months from an instant, at most MaxYear.
func (j *Job) InYear(ctx context.Context, from time.Time) (int, error) {
	runs, err := j.Coming(ctx, from, from.In(j.zone).AddDate(1, 0, 0), MaxYear)
	return len(runs), err
}
