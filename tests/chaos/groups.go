//go:build unix

package chaos

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
)

// queueGroups is the queue whose jobs all belong to groups. Its slot never goes back alone: rules are in it too.
const queueGroups = "groups"

// A groupPlan is a group of a run. Its rule never permits more than this, whatever the changer sets.
type groupPlan struct {
	name string
	rule chime.GroupRule
	size int // the largest batch: a group with order or a limit must not have work left for minutes
}

// groupPlans are groups with weights alone, with limits, and with order.
var groupPlans = []groupPlan{
	{"weight-1", chime.GroupRule{Weight: 1}, 80},
	{"weight-5", chime.GroupRule{Weight: 5}, 80},
	{"running-1", chime.GroupRule{Running: 1}, 5},
	{"running-2", chime.GroupRule{Running: 2}, 8},
	{"starts", chime.GroupRule{Starts: 10, Per: 500 * time.Millisecond}, 8},
	{"ordered-1", chime.GroupRule{Ordered: chime.On}, 5},
	{"ordered-2", chime.GroupRule{Ordered: chime.On}, 5},
	{"ordered-3", chime.GroupRule{Ordered: chime.On, Weight: 3}, 5},
}

// groupedShare is the share of the batches that go to groups: one of this number.
const groupedShare = 3

// setRule sets the rule of a group, in a queue that may have been emptied.
func (g *groupPlan) setRule(ctx context.Context, queues *chime.Queues, rule chime.GroupRule) error {
	if err := queues.SetGroups(ctx, queueGroups, chime.GroupRule{Weight: 1}); err != nil { // it registers the queue
		return err
	}
	return queues.SetGroup(ctx, queueGroups, g.name, rule)
}

// ensureRule sets the rule until that succeeds. It returns false if ctx ended first.
func (g *groupPlan) ensureRule(ctx context.Context, queues *chime.Queues) bool {
	for g.setRule(ctx, queues, g.rule) != nil {
		if !sleep(ctx, time.Now().Add(50*time.Millisecond)) {
			return false
		}
	}
	return true
}

// changeGroup changes the weight or the limit of a group, pauses it or resumes it, at random. After an error it is unknown whether the change was made.
func changeGroup(ctx context.Context, queues *chime.Queues, random *rand.Rand) {
	g := &groupPlans[random.IntN(len(groupPlans))]
	switch random.IntN(4) {
	case 0:
		_ = queues.PauseGroup(ctx, queueGroups, g.name)
	case 1:
		_ = queues.ResumeGroup(ctx, queueGroups, g.name)
	default:
		rule := g.rule
		rule.Weight = 1 + random.IntN(9)
		if rule.Running > 0 {
			rule.Running = 1 + random.IntN(rule.Running)
		}
		_ = g.setRule(ctx, queues, rule)
	}
}

// resumeGroups resumes all groups. It returns when that has succeeded, or ctx has ended.
func resumeGroups(ctx context.Context, queues *chime.Queues) {
	for i := range groupPlans {
		for ctx.Err() == nil && queues.ResumeGroup(ctx, queueGroups, groupPlans[i].name) != nil {
			sleep(ctx, time.Now().Add(100*time.Millisecond))
		}
	}
}

// checkGroups checks what the rules of groups promise, as far as it is visible outside the server:
//
//   - in a group with order, no job runs again after a later job was taken, and the jobs of a batch are taken in their order: by fences, which are drawn
//     when jobs are taken;
//   - with a limit of running jobs, or order, no more handlers run at once. A handler runs for a part of the time for which its job counts as running,
//     so more of them prove a defect, but fewer prove nothing. Runs whose worker may have lost its session are left out;
//   - with a limit of starts, no more jobs that began were taken within any period.
//
// The shares of weights are not visible under faults. Jobs that follow others belong to no group. A batch that was offered before the server was emptied, or whose outcome was unknown, is left out.
func (c *Checker) checkGroups() {
	jobs := map[string][]*Job{}
	for _, j := range c.history.Jobs {
		if b := j.Batch; b != nil && b.Group != "" && !isFollower(j.Key) && !b.Offered.Before(c.history.Emptied.To) && b.Repeats == 0 {
			jobs[b.Group] = append(jobs[b.Group], j)
		}
	}
	for i := range groupPlans {
		g := &groupPlans[i]
		running := g.rule.Running
		if g.rule.Ordered == chime.On {
			running = 1
			c.checkOrder(g, jobs[g.name])
		}
		if running > 0 {
			c.checkRunning(g, running, jobs[g.name])
		}
		if g.rule.Starts > 0 {
			c.checkStarts(g, jobs[g.name])
		}
	}
}

// checkOrder finds jobs that overtook others of their group.
func (c *Checker) checkOrder(g *groupPlan, jobs []*Job) {
	first := func(j *Job) int64 { return j.byFence()[0].Fence }
	slices.SortFunc(jobs, func(a, b *Job) int { return cmp.Compare(first(a), first(b)) })
	begun := map[string]int{} // batch → the index of its last job that began
	for i, j := range jobs {
		if i > 0 {
			runs := jobs[i-1].byFence()
			if last := runs[len(runs)-1]; last.Fence > first(j) {
				c.found.add(Overtaken, "group %s: %s was taken at %s, before %s was taken again at %s; %s %s", g.name, j.Key, taken(first(j)), jobs[i-1].Key, taken(last.Fence),
					jobs[i-1].Key, ran(jobs[i-1]))
			}
		}
		at := indexOf(j.Key)
		if before, ok := begun[j.Batch.Key]; ok && at < before {
			c.found.add(Overtaken, "group %s: %s was taken first at %s, after job %d of its batch", g.name, j.Key, taken(first(j)), before)
		}
		begun[j.Batch.Key] = max(begun[j.Batch.Key], at)
	}
}

// checkRunning finds more handlers at once than the rule permits.
func (c *Checker) checkRunning(g *groupPlan, most int, jobs []*Job) {
	type change struct {
		at  time.Time
		by  int
		key string
	}
	var changes []change
	for _, j := range jobs {
		for _, r := range j.Runs {
			if !r.Ended.IsZero() && r.Fence >= c.history.since() && !c.history.troubled(r, r.Ended) {
				changes = append(changes, change{r.Begun, 1, j.Key}, change{r.Ended, -1, j.Key})
			}
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	running := map[string]bool{}
	for _, change := range changes {
		if change.by < 0 {
			delete(running, change.key)
		} else if running[change.key] = true; len(running) > most {
			c.found.add(Exceeded, "group %s: %d handlers ran at %s, and its rule permits %d: the last one was that of %s", g.name, len(running), change.at.Format(clock), most, change.key)
		}
	}
}

// checkStarts finds more starts within a period than the rule permits.
func (c *Checker) checkStarts(g *groupPlan, jobs []*Job) {
	var fences []int64 // µs, or a few more
	for _, j := range jobs {
		for _, r := range j.Runs {
			fences = append(fences, r.Fence)
		}
	}
	slices.Sort(fences)
	for i := g.rule.Starts; i < len(fences); i++ {
		if span := time.Duration(fences[i]-fences[i-g.rule.Starts]) * time.Microsecond; span < g.rule.Per-time.Millisecond {
			c.found.add(Exceeded, "group %s: %d jobs started within %v until %s, and its rule permits %d within %v", g.name, g.rule.Starts+1, span, taken(fences[i]), g.rule.Starts, g.rule.Per)
		}
	}
}

// taken returns when a job with this fence was taken.
func taken(fence int64) string { return time.UnixMicro(fence).Format(clock) }

// indexOf returns the index of a job in its batch.
func indexOf(key string) (index int) {
	_, number, _ := strings.Cut(key, "/")
	for _, digit := range number {
		index = 10*index + int(digit-'0')
	}
	return index
}
