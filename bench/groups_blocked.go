package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/chimejobs/chime/internal/protocol"
)

// blockedTakes is how many takes are timed of each kind.
const blockedTakes = 60

// groupsBlocked times takes beside jobs, and beside groups, that may not start.
var groupsBlocked = measure{
	name: "groups blocked", group: "groups", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("the time of the script that takes %d jobs of as many groups, as SLOWLOG has it: alone, beside 100,000 jobs of a paused group, and beside "+
		"100,000 groups that run as many jobs as they may (a fifth of that in the short form). The median of %d takes of each kind, in turns", groupsAtOnce, blockedTakes),
	run: func(ctx context.Context, r *testbed, _ peer) ([]figure, error) {
		var kinds []*limits
		for _, kind := range []struct {
			name  string
			block func(ctx context.Context, l *limits, n int) error
		}{
			{"free", func(context.Context, *limits, int) error { return nil }},
			{"jobs", blockJobs},
			{"groups", blockGroups},
		} {
			s := openNamespace(r, kind.name)
			defer s.close()
			l := &limits{namespace: s, testbed: r, part: protocol.Partition{Queue: "default"}, caller: fmt.Sprintf("%016x", rand.Uint64())}
			err := s.store.Protocol().SetGroups(ctx, "default", protocol.GroupRule{Running: 1})
			if err = errors.Join(err, kind.block(ctx, l, r.sizes.backlog)); err != nil {
				return nil, err
			}
			kinds = append(kinds, l)
		}
		if err := r.redis.client.ConfigSet(ctx, "slowlog-log-slower-than", "0").Err(); err != nil {
			return nil, err
		}
		defer r.redis.client.ConfigSet(context.WithoutCancel(ctx), "slowlog-log-slower-than", "10000")
		for range blockedTakes {
			for _, l := range kinds {
				if err := l.takeGroups(ctx); err != nil {
					return nil, err
				}
			}
		}
		free, jobs, groups := middle(kinds[0].times), middle(kinds[1].times), middle(kinds[2].times)
		return []figure{
			{name: "take", unit: "ms", value: free, less: true},
			{name: "take beside blocked jobs", unit: "×", value: jobs / free, less: true},
			{name: "take beside blocked groups", unit: "×", value: groups / free, less: true},
		}, nil
	},
}

// inGroups puts items into the groups prefix0, prefix1 and so on, a job each.
func inGroups(prefix string, first int) instant {
	return func(item *protocol.EnqueueItem) {
		item.Group = fmt.Sprint(prefix, first)
		first++
	}
}

// sendMany sends n jobs of groups, in calls as large as they may be.
func (l *limits) sendMany(ctx context.Context, n int, when func(first int) instant) error {
	for first := 0; first < n; first += protocol.MaxItems {
		if err := l.send(ctx, l.items(min(protocol.MaxItems, n-first), payloadBytes, when(first))); err != nil {
			return err
		}
	}
	return nil
}

// blockJobs lets n jobs of one paused group wait.
func blockJobs(ctx context.Context, l *limits, n int) error {
	err := l.sendMany(ctx, n, func(int) instant { return func(item *protocol.EnqueueItem) { item.Group = "paused" } })
	return errors.Join(err, l.store.Protocol().PauseGroup(ctx, "default", "paused", true, protocol.Note{}))
}

// blockGroups lets a job of each of n groups wait behind one that runs.
func blockGroups(ctx context.Context, l *limits, n int) error {
	blocked := func(first int) instant { return inGroups("blocked-", first) }
	if err := l.sendMany(ctx, n, blocked); err != nil {
		return err
	}
	l.begin()
	for left := n; left > 0; left -= protocol.MaxItems {
		if _, err := l.takenAll(ctx, min(protocol.MaxItems, left), protocol.WorkCall{}); err != nil {
			return err
		}
	}
	return l.sendMany(ctx, n, blocked)
}

// takeGroups times a take of jobs of groups, and finishes them.
func (l *limits) takeGroups(ctx context.Context) error {
	if err := l.send(ctx, l.items(groupsAtOnce, payloadBytes, inGroups("free-", 0))); err != nil {
		return err
	}
	l.begin()
	var taken protocol.WorkAnswer
	if err := l.timed(ctx, func() (err error) { taken, err = l.takenAll(ctx, groupsAtOnce, protocol.WorkCall{}); return err }); err != nil {
		return err
	}
	return l.finish(ctx, taken.Taken)
}
