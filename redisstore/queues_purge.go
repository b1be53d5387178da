package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	purgeBeginScript = scripts.Load("queues/purge_begin")
	purgeScript      = scripts.Load("queues/purge")
)

// maxSweptPurge is how many steps of an unfinished purge one sweep of a partition takes.
const maxSweptPurge = 20

// BeginPurge deletes the occurrences that wait behind others. Then it begins to purge ready. An earlier purge is finished first.
func (s *store) BeginPurge(ctx context.Context, p protocol.Partition) (done protocol.PurgeAnswer, err error) {
	if err := cmp.Or(s.bad, s.purgeBehind(ctx, p, &done)); err != nil {
		return done, err
	}
	k := s.keys.partition(p)
	keys := []string{k.state, k.ready, k.stale, k.purged, k.spared, k.callers, k.line, k.purgedline, k.turns, k.opens}
	for {
		values, err := s.runOne(ctx, "purge queue", p.Queue, newCall(&purgeBeginScript, keys, []any{rand.Text()}))
		if err != nil || values.number(1) == 1 {
			done.More = err == nil
			return done, err
		}
		earlier, err := s.finishPurge(ctx, p)
		done.Looked, done.Changed = done.Looked+earlier.Looked, done.Changed+earlier.Changed
		if err != nil {
			return done, err
		}
	}
}

// purgeBehind deletes the occurrences that wait behind others, in the order of the schedules. One that is added at a position already passed remains.
func (s *store) purgeBehind(ctx context.Context, p protocol.Partition, done *protocol.PurgeAnswer) error {
	for after := "-"; ; {
		members, err := s.client.ZRangeByLex(ctx, s.keys.partition(p).behind, &redis.ZRangeBy{Min: after, Max: "+", Count: protocol.MaxItems}).Result()
		switch {
		case err != nil:
			return failure("purge queue", p.Queue, err)
		case len(members) == 0:
			return nil
		}
		ids := make([]string, len(members))
		for i, member := range members {
			ids[i] = behindID(member)
		}
		became, err := s.DeleteJobs(ctx, p.Queue, ids)
		for _, how := range became {
			done.Looked++
			if how == protocol.ChangeDone {
				done.Changed++
			}
		}
		if err != nil {
			return err
		}
		after = "(" + members[len(members)-1]
	}
}

// PurgeStep deletes the next jobs of a purge that has begun.
func (s *store) PurgeStep(ctx context.Context, p protocol.Partition) (protocol.PurgeAnswer, error) {
	if s.bad != nil {
		return protocol.PurgeAnswer{}, s.bad
	}
	k := s.keys.partition(p)
	keys := []string{k.state, k.purged, k.spared, k.ready, k.jobs, k.crashes, k.open, k.behind, k.schedules, k.cursors, k.owed, k.callers, k.idle, k.once, k.last, k.results, k.kept, k.purgedline, k.places, k.line, k.turns, k.groups, k.grules, k.opens, k.batches, k.reports}
	values, err := s.runOne(ctx, "purge queue", p.Queue, newCall(&purgeScript, keys, []any{rand.Text(), s.keys.wake()}))
	if err != nil {
		return protocol.PurgeAnswer{}, err
	}
	return protocol.PurgeAnswer{Looked: int(values.number(1)), Changed: int(values.number(2)), More: values.number(3) == 1}, nil
}

// finishPurge takes the steps of a purge until it has ended.
func (s *store) finishPurge(ctx context.Context, p protocol.Partition) (done protocol.PurgeAnswer, err error) {
	for done.More = true; done.More; {
		step, err := s.PurgeStep(ctx, p)
		if err != nil {
			return done, err
		}
		done.Looked, done.Changed, done.More = done.Looked+step.Looked, done.Changed+step.Changed, step.More
	}
	return done, nil
}

// sweepPurge continues a purge whose caller has vanished, and reports whether more is left.
func (s *store) sweepPurge(ctx context.Context, p protocol.Partition) (more bool, err error) {
	for range maxSweptPurge {
		step, err := s.PurgeStep(ctx, p)
		if err != nil || !step.More {
			return false, err
		}
	}
	return true, nil
}
