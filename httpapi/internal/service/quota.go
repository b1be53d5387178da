package service

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/recurrence"
)

// check returns the reason why a change is forbidden. A lower limit of the collection applies to new content only: an unchanged job remains allowed.
func (c *change) check(ctx context.Context, queue string) error {
	same := c.old != nil && c.sameContent()
	asked := c.patched && (c.given.State == resource.Enabled || c.given.State == resource.Disabled) // a state in a patch is meant
	if c.old != nil && final(stateOf(c.schedule)) && (asked || !same || c.new.meta.State != c.old.meta.State) {
		return problem.New(problem.JobFinal, "job %s has ended and cannot be changed: delete it and create it again", c.schedule.Name)
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
	if err := groupForbidden(c.name.Collection, c.limits, c.new.job.Group); err != nil {
		return err
	}
	if c.old == nil || c.new.group != c.old.group || c.new.queue != c.old.queue {
		if err := c.service.checkGroupQueue(ctx, c.new.group, c.new.queue, c.given.Prefix+"chime."); err != nil {
			return err
		}
	}
	if c.old == nil || !c.new.job.Rule.Equal(c.old.job.Rule) {
		if err := c.checkRule(); err != nil {
			return err
		}
	}
	if c.limits.SKU == resource.FreeSKU && authenticates(c.new.job.Action) && (c.old == nil || !c.new.equalAction(c.old)) {
		return problem.New(problem.QuotaAuthentication, "jobs of collection %s may not have authentication: its sku is %s", c.name.Collection, resource.FreeSKU)
	}
	return nil
}

func disabled(n resource.JobName) error {
	return problem.New(problem.CollectionDisabled, "collection %s is disabled with all its jobs: enable the collection first", n.Collection)
}

// sameContent reports whether the job would not change, apart from its wanted state.
func (c *change) sameContent() bool {
	as := *c.new
	as.meta.State = c.old.meta.State
	return as.equal(c.old)
}

// checkTargets refuses job actions that the collection does not permit.
func (c *change) checkTargets(queue string) error {
	for _, target := range jobTargets(c.new.job.Action, c.new.queue) {
		if !target.Permitted(c.limits.Jobs, queue) {
			return targetForbidden(c.name.Collection, target, queue)
		}
	}
	return nil
}

// jobTargets are the jobs of a program that an action and its error action add. queue is the queue of the action, on which its error action runs.
func jobTargets(main *action.Action, queue string) (targets []*action.JobTarget) {
	if main.Job != nil {
		targets = append(targets, main.Job)
	}
	if follow := main.ErrorAction; follow != nil && follow.Job != nil {
		targets = append(targets, &action.JobTarget{Name: follow.Job.Name, Queue: queue})
	}
	return targets
}

func targetForbidden(name string, target *action.JobTarget, queue string) error {
	return problem.New(problem.TargetForbidden, "collection %s does not permit jobs named %.100q on queue %.100q: an admin can add them to its chime.jobs",
		name, target.Name, cmp.Or(target.Queue, queue))
}

// authenticates reports whether a request of the action or of its error action has authentication.
func authenticates(main *action.Action) bool {
	for _, a := range []*action.Action{main, main.ErrorAction} {
		if a == nil || a.Request == nil || a.Request.Authentication == nil {
			continue
		}
		if of := a.Request.Authentication.Type; of != "" && of != action.NotSpecified {
			return true
		}
	}
	return false
}

// checkRule compares the rule with the quota: the time between runs, and the number of runs.
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
		return problem.New(problem.QuotaRecurrence, "jobs of collection %s run every %s at most, but this one would run twice within %s at %s",
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

// gapRuns is the number of runs whose gaps are checked.
const gapRuns = 1500

// shortestGap is the shortest time between two of the first runs of a rule, and its place; 0: there are fewer than two runs. The run at creation does not
// count, because nobody chooses its time.
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

// words is a length of time without the units that are zero.
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
