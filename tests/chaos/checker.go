//go:build unix

package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// A Checker compares a history with the remaining data on the server.
type Checker struct {
	history  *History
	snapshot *Snapshot
	found    Findings
	reruns   map[string]int // repeated runs of jobs, by cause
}

// Check returns all violations, and the number of repeated runs by cause. Nothing may write to the history any more.
func Check(h *History, s *Snapshot) (Findings, map[string]int) {
	c := &Checker{history: h, snapshot: s, reruns: map[string]int{}}
	for _, problem := range h.Problems {
		c.found.add(Broken, "%s", problem)
	}
	c.checkBatches()
	for _, key := range slices.Sorted(maps.Keys(h.Jobs)) {
		c.checkJob(h.Jobs[key])
	}
	c.checkGroups()
	c.checkCompletions()
	c.checkFollowers()
	c.checkEnds()
	for _, schedule := range s.Schedules {
		newAccount(schedule, h, s, &c.found).check()
	}
	for _, job := range s.Unreadable {
		c.found.add(Undeserved, "a dead job cannot be read: %s", job)
	}
	if !s.Idle() {
		c.found.add(Stuck, "unfinished work:%s", s.left())
	}
	for _, key := range s.Orphans() {
		c.found.add(Orphaned, "%s", key)
	}
	return c.found, c.reruns
}

// checkBatches finds accepted jobs that have not ended. Jobs offered before the server was emptied may be gone, and those that were added to a queue
// after the state to which it returned.
func (c *Checker) checkBatches() {
	for _, key := range slices.Sorted(maps.Keys(c.history.Batches)) {
		b := c.history.Batches[key]
		if b.Offered.IsZero() {
			c.found.add(Broken, "jobs of %s ran, but were never offered", key)
		}
		if b.Accepted.IsZero() || c.history.mayLose(b) {
			continue
		}
		for i := range b.Jobs {
			key := jobKey(b.Key, i)
			j := c.history.Jobs[key]
			if _, dead := c.snapshot.Dead[key]; !dead && (j == nil || !j.done(0)) {
				c.found.add(Lost, "%s was accepted %v before the end, and %s", key, c.history.lastEnd.Sub(b.Accepted).Round(1e6), ran(j))
			}
		}
	}
}

func ran(j *Job) string {
	if j == nil {
		return "never began"
	}
	text := "ran:"
	for _, r := range j.byFence() {
		text += fmt.Sprintf(" %s %s, taken at %s;", r.Process.Name, cmp.Or(r.Outcome, "unended"), taken(r.Fence))
	}
	return text
}

// before returns the run after which the i-th one came: the last one before it in its queue, because jobs come back in their queue, else the last one.
func before(runs []Run, i int) Run {
	for _, r := range slices.Backward(runs[:i]) {
		if r.Queue == runs[i].Queue {
			return r
		}
	}
	return runs[i-1]
}

// checkJob checks the runs of one job.
func (c *Checker) checkJob(j *Job) {
	runs := j.byFence()
	for i := 1; i < len(runs); i++ {
		r, next := before(runs, i), runs[i]
		if r.Fence == next.Fence {
			c.found.add(Refenced, "%s ran twice with fence %d: in %s and in %s", j.Key, r.Fence, r.Process.Name, next.Process.Name)
			continue
		}
		cause := c.history.Cause(j, r, next)
		if cause == "" {
			c.found.add(Doubled, "%s ran in %s (%s, begun %s) and again in %s at %s", j.Key, r.Process.Name, cmp.Or(r.Outcome, "unended"),
				r.Begun.Format(clock), next.Process.Name, next.Begun.Format(clock))
			continue
		}
		c.reruns[cause]++
	}
	reason, dead := c.snapshot.Dead[j.Key]
	if dead && (reason == "" || !deserved(runs)) {
		c.found.add(Undeserved, "%s is dead with the reason %q; it %s", j.Key, reason, ran(j))
	}
}

const clock = "15:04:05.000"

// deserved reports whether a job may be dead: an attempt failed permanently, all attempts failed, or three workers vanished.
func deserved(runs []Run) bool {
	failed, crashed := 0, 0
	for _, r := range runs {
		switch r.Outcome {
		case Discarded:
			return true
		case Failed:
			failed++
		case Snoozed:
		default: // also a run that finished: the server may not have received its outcome
			crashed++
		}
	}
	return failed >= maxAttempts || crashed >= maxCrashes
}

// checkCompletions compares the server's count of completions with the jobs that finished since it was emptied.
func (c *Checker) checkCompletions() {
	done, mayRepeat, forgotten := 0, 0, 0
	since := c.history.since()
	for key, j := range c.history.Jobs {
		if _, dead := c.snapshot.Dead[key]; !dead && j.done(since) {
			done++
			if j.Batch != nil {
				mayRepeat += j.Batch.Repeats
			}
			forgotten += c.history.uncounted(j)
			if c.history.hadTwoHomes(j) {
				mayRepeat += j.finished(since) - 1 // in the other queue
			}
		} else if dead && c.history.hadTwoHomes(j) {
			mayRepeat += j.finished(since) // it is dead in one queue, and is done in the other one
		}
	}
	superseded := 0
	for _, s := range c.snapshot.Schedules {
		superseded += int(s.Counters.Superseded)
	}
	if counted := int(c.snapshot.Done); counted > done+mayRepeat || counted < done-superseded-forgotten {
		c.found.add(Doubled, "the server has counted %d completions of %d finished jobs (%d may have been counted again, %d were superseded, %d may have been forgotten)",
			counted, done, mayRepeat, superseded, forgotten)
	}
}
