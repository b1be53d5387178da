package chimeprom

import (
	"context"
	"errors"

	"github.com/chimejobs/chime"
)

const (
	stepGroups = 1000
	stepCalls  = 50 // calls between two pauses, at most
)

// A groupCounter counts the groups of all queues by what blocks them.
type groupCounter struct {
	walk[groupSums]
	queues     *chime.Queues
	stepGroups int64 // groups that are counted between two pauses, about
}

// groupSums are the counts of a walk by the names of the queues.
type groupSums map[string]chime.GroupSum

// begin takes the first step of a walk through the groups of these queues, unless a walk is running.
func (c *groupCounter) begin(ctx context.Context, queues []*chime.QueueInfo) error {
	var left []string
	for _, q := range queues {
		if q.Groups.Waiting > 0 {
			left = append(left, q.Name)
		}
	}
	sums, after := groupSums{}, ""
	_, err := c.walk.begin(ctx, &sums, func() (more bool, err error) {
		left, after, err = c.step(sums, left, after)
		return len(left) > 0, err
	})
	return err
}

// step counts groups of the first of the queues, those after a group. It returns the queues that are left, and after which group of the first one.
func (c *groupCounter) step(sums groupSums, left []string, after string) ([]string, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	for calls, counted := 0, int64(0); len(left) > 0 && calls < stepCalls && counted < c.stepGroups; calls++ {
		some, err := c.queues.CountGroups(ctx, left[0], after)
		switch {
		case errors.Is(err, chime.ErrNotFound): // deleted meanwhile
			delete(sums, left[0])
			left, after = left[1:], ""
			continue
		case err != nil:
			return nil, "", err
		}
		sums[left[0]] = sums[left[0]].Plus(*some)
		counted += some.MayStart.Groups + some.Blocked().Groups
		if after = some.Next; after == "" {
			left = left[1:]
		}
	}
	return left, after, nil
}

// A groupsOf has the counts of the groups of the queues with one label.
type groupsOf struct {
	mayStart int64
	sum      *chime.GroupSum // nil: not all groups have been counted yet
	queue    *chime.QueueInfo
}

// groupsByLabel returns the counts of groups by the labels of the queues that have groups, or rules of groups.
func (c *storeCollector) groupsByLabel(read *snapshot) map[string]*groupsOf {
	all := make(map[string]*groupsOf)
	for _, q := range read.queues {
		if q.Groups == (chime.GroupCounts{}) {
			continue
		}
		label := c.queues.label(q.Name)
		g := all[label]
		if g == nil {
			g = &groupsOf{queue: q}
			if read.groups != nil {
				g.sum = new(chime.GroupSum)
			}
			all[label] = g
		}
		g.mayStart += q.Groups.MayStart
		if g.sum != nil {
			*g.sum = g.sum.Plus((*read.groups)[q.Name])
		}
	}
	return all
}

// sendGroups sends the counts of groups.
func (c *storeCollector) sendGroups(read *snapshot, gauge func(name string, value float64, labels ...string)) {
	const counts, oldest = "chime_queue_groups", "chime_queue_groups_oldest_seconds"
	for label, g := range c.groupsByLabel(read) {
		gauge(counts, float64(g.mayStart), label, "may_start")
		if g.sum == nil {
			continue
		}
		for _, of := range []struct {
			state string
			tally chime.GroupTally
		}{{"may_start", g.sum.MayStart}, {"paused", g.sum.Paused}, {"ordered", g.sum.Ordered}, {"running", g.sum.Running}, {"starts", g.sum.Starts}} {
			if of.state != "may_start" {
				gauge(counts, float64(of.tally.Groups), label, of.state)
			}
			age := 0.0
			if !of.tally.Oldest.IsZero() {
				age = max(g.queue.Now.Sub(of.tally.Oldest), 0).Seconds()
			}
			gauge(oldest, age, label, of.state)
		}
	}
}
