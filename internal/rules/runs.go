package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// A Job is a rule with what its runs depend on besides: when it was created.
type Job struct {
	Rule    recurrence.Recurrence
	created time.Time
	series  *recurrence.Series
	skip    *recurrence.Series // the same without runs that a clock change has moved; nil: it has no run, or the rule knows no such thing
	zone    *time.Location     // the rule's
}

// NewJob returns the job of a rule that was created at an instant. Its error says what is wrong with the rule.
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

// variant is a rule under another way with clock changes; nil if the rule knows no such thing, or has no run then.
func variant(rule recurrence.Recurrence, way recurrence.ClockChanges, created time.Time) *recurrence.Series {
	rule.ClockChanges = way
	series, err := rule.Series(created)
	if err != nil {
		return nil
	}
	return series
}

// Zone is the zone of the rule.
func (j *Job) Zone() *time.Location { return j.zone }

// maxWalk is how many runs are passed over one by one: about two seconds.
const maxWalk = 10_000_000

// Coming returns the first n runs of the job at or after from and before until; zero: for ever. The runs of a rule with a count are counted from its
// creation; if more than ten million lie before from, that is an error.
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

// MaxYear is as far as InYear counts: more than each minute.
const MaxYear = 600_000

// InYear is how many runs the job has in the twelve months from an instant on, at most MaxYear.
func (j *Job) InYear(ctx context.Context, from time.Time) (int, error) {
	runs, err := j.Coming(ctx, from, from.In(j.zone).AddDate(1, 0, 0), MaxYear)
	return len(runs), err
}

// matches reports whether a series has an instant.
func matches(series *recurrence.Series, t time.Time) bool {
	for range series.Between(t, t.Add(time.Second)) {
		return true
	}
	return false
}
