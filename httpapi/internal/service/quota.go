package service

import (
	"strings"
	"time"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/recurrence"
)

// check returns what forbids a change. What a collection allows less than before binds what is written newly: a job that stays as it is stays allowed.
func (c *change) check(queue string) error {
	same := c.old != nil && c.sameContent()
	asked := c.patched && (c.given.State == resource.Enabled || c.given.State == resource.Disabled) // a patch means the state that it has
	if c.old != nil && final(stateOf(c.schedule)) && (asked || !same || c.new.meta.State != c.old.meta.State) {
		return problem.New(problem.JobFinal, "job %s has ended, and is not changed any more: delete it, and create it again", c.schedule.Name)
	}
	if c.enabling && c.collection.State == collection.Disabled {
		return disabled(c.name)
	}
	if same && !c.enabling {
		return nil
	}
	if err := c.checkTargets(queue); err != nil || same {
		return err
	}
	if c.old == nil || !c.new.job.Rule.Equal(c.old.job.Rule) {
		if err := c.checkRule(); err != nil {
			return err
		}
	}
	if c.limits.SKU == resource.FreeSKU && c.new.authenticates() && (c.old == nil || !c.new.equalAction(c.old)) {
		return problem.New(problem.QuotaAuthentication, "jobs of collection %s have no authentication: its sku is %s", c.name.Collection, resource.FreeSKU)
	}
	return nil
}

func disabled(n resource.JobName) error {
	return problem.New(problem.CollectionDisabled, "collection %s is disabled, and so are its jobs: enable it first", n.Collection)
}

// sameContent reports whether the job would be as it is, whatever state it is wanted in.
func (c *change) sameContent() bool {
	as := *c.new
	as.meta.State = c.old.meta.State
	return as.equal(c.old)
}

// checkTargets refuses job actions that the collection does not permit.
func (c *change) checkTargets(queue string) error {
	main := c.new.job.Action
	targets := []*action.JobTarget{main.Job}
	if follow := main.ErrorAction; follow != nil && follow.Job != nil {
		targets = append(targets, &action.JobTarget{Name: follow.Job.Name, Queue: c.new.queue})
	}
	for _, target := range targets {
		if target != nil && !target.Permitted(c.limits.Jobs, queue) {
			on := target.Queue
			if on == "" {
				on = queue
			}
			return problem.New(problem.TargetForbidden, "collection %s does not permit jobs named %.100q on queue %.100q: an admin names them in its chime.jobs", c.name.Collection, target.Name, on)
		}
	}
	return nil
}

// authenticates reports whether a request of the job shows who sends it.
func (d *definition) authenticates() bool {
	for _, a := range []*action.Action{d.job.Action, d.job.Action.ErrorAction} {
		if a == nil || a.Request == nil || a.Request.Authentication == nil {
			continue
		}
		if of := a.Request.Authentication.Type; of != "" && of != action.NotSpecified {
			return true
		}
	}
	return false
}

// checkRule holds the rule against the quota: how often it runs, and how many times.
func (c *change) checkRule() error {
	rule := c.new.job.Rule
	if rule.Frequency == 0 && rule.Cron == "" && len(rule.Also) == 0 {
		return nil
	}
	if most := c.limits.Quota.MaxJobOccurrence; most > 0 && (rule.Count == 0 || rule.Count > most) {
		return problem.New(problem.QuotaOccurrences, "jobs of collection %s run %d times at most: give the recurrence a count from 1 to %d", c.name.Collection, most, most)
	}
	shortest := c.limits.Shortest()
	gap, at, err := shortestGap(rule, c.created())
	if err != nil {
		return clientError(err, c.given.Prefix)
	}
	if gap > 0 && gap < shortest {
		return problem.New(problem.QuotaRecurrence, "jobs of collection %s run every %s at most, and this one would run twice within %s at %s",
			c.name.Collection, words(shortest), words(gap), at.UTC().Format(time.RFC3339))
	}
	return nil
}

func (c *change) created() time.Time {
	if c.schedule != nil {
		return c.schedule.Created
	}
	return time.Now()
}

// gapRuns is how many runs the gaps between are looked at.
const gapRuns = 1500

// shortestGap is the shortest time between two of the first runs of a rule, and where that is; 0: it has less than two. A run at creation counts for
// none: when that is nobody chooses.
func shortestGap(rule recurrence.Recurrence, created time.Time) (gap time.Duration, at time.Time, err error) {
	series, err := rule.Series(created)
	if err != nil {
		return 0, time.Time{}, err
	}
	var last time.Time
	runs := 0
	for run := range series.All() {
		if runs++; runs > gapRuns {
			break
		}
		if runs == 1 && rule.StartTime.IsZero() {
			continue
		}
		if !last.IsZero() && (gap == 0 || run.Sub(last) < gap) {
			gap, at = run.Sub(last), last
		}
		last = run
	}
	return gap, at, nil
}

// words are a length of time without the units that are zero.
func words(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
