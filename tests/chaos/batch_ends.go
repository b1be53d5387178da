//go:build unix

package chaos

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
)

// One of this many offers is a chime.Batch: its jobs are members, jobs that follow them are members too, and two jobs follow its end.
const endedOffers = 5

// isEnded reports whether the jobs that were offered under this key are a chime.Batch.
func isEnded(batch string) bool {
	_, index, _ := strings.Cut(batch, ".")
	i, err := strconv.Atoi(index)
	return err == nil && i%endedOffers == endedOffers-1
}

// The keys of the two jobs that follow the end of a batch.
func endKey(batch string) string  { return batch + "/ended" }
func doneKey(batch string) string { return batch + "/done" }

// asBatch returns a chime.Batch of these items. The jobs at its end are on other queues than its members.
func asBatch(key string, items []chime.Item) chime.Batch {
	follows := func(key string, n int) chime.Item {
		return chime.Item{Name: jobName, Args: key, Options: []chime.EnqueueOption{chime.MaxAttempts(maxAttempts), chime.Queue(queueNames[n%len(queueNames)])}}
	}
	return chime.Batch{ID: key, Done: follows(doneKey(key), len(items)), Ended: follows(endKey(key), len(items)+1), Items: func(yield func(chime.Item, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}}
}

// offerBatch makes the call until it succeeds. It needs no IDs to repeat it, and a repeat explains no second run. It returns false if ctx ended first.
func (o *offerer) offerBatch(ctx context.Context, batch chime.Batch) bool {
	for {
		if _, err := o.enqueuer.EnqueueBatch(ctx, batch); err == nil {
			return true
		}
		if !sleep(ctx, time.Now().Add(100*time.Millisecond)) {
			return false
		}
	}
}

// checkEnds finds batches that have ended early or never. A job at their end that ran twice without a cause is found as every other job is.
func (c *Checker) checkEnds() {
	for _, key := range slices.Sorted(maps.Keys(c.history.Batches)) {
		b := c.history.Batches[key]
		if !isEnded(key) || b.Accepted.IsZero() || c.history.mayLose(b) || c.wentBackSince(b) {
			continue
		}
		members, dead := c.members(b)
		c.checkEnd(endKey(key), members, true)
		c.checkEnd(doneKey(key), members, len(dead) == 0)
		if done := c.history.Jobs[doneKey(key)]; done != nil && len(dead) > 0 {
			c.found.add(Early, "%s is done with dead members %v", key, dead)
		}
	}
}

// wentBackSince reports whether a slot went back after the jobs were offered.
func (c *Checker) wentBackSince(b *Batch) bool {
	return slices.ContainsFunc(c.history.Rollbacks, func(r Rollback) bool { return r.Back.To.After(b.Offered) })
}

// members returns the keys of the members of a batch that are known, and of those the dead ones.
func (c *Checker) members(b *Batch) (all, dead []string) {
	keys := map[string]bool{}
	for i := range b.Jobs {
		keys[jobKey(b.Key, i)] = true
	}
	for key := range c.history.Jobs {
		if root, _, follows := strings.Cut(key, ">"); follows && keys[root] {
			keys[key] = true
		}
	}
	for key := range c.snapshot.Dead {
		if root, _, follows := strings.Cut(key, ">"); follows && keys[root] {
			keys[key] = true
		}
	}
	all = slices.Sorted(maps.Keys(keys))
	for _, key := range all {
		if _, is := c.snapshot.Dead[key]; is {
			dead = append(dead, key)
		}
	}
	return all, dead
}

// checkEnd compares the first run of a job at the end of a batch with the runs of its members.
func (c *Checker) checkEnd(key string, members []string, wanted bool) {
	end := c.history.Jobs[key]
	if end == nil {
		if _, dead := c.snapshot.Dead[key]; wanted && !dead {
			c.found.add(Lost, "%s never began", key)
		}
		return
	}
	first := end.byFence()[0]
	for _, run := range end.Runs {
		if run.Begun.Before(first.Begun) {
			first = run
		}
	}
	for _, member := range members {
		j := c.history.Jobs[member]
		if _, dead := c.snapshot.Dead[member]; dead || j == nil {
			continue // a member that was lost is found by checkBatches
		}
		if !slices.ContainsFunc(j.Runs, func(r Run) bool { return r.Outcome == Done && r.Ended.Before(first.Begun) }) {
			c.found.add(Early, "%s began at %s, before the end of %s, which %s", key, first.Begun.Format(clock), member, ran(j))
		}
	}
}
