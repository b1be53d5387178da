package redisstore

import (
	"context"
	"fmt"

	"github.com/chimejobs/chime/internal/protocol"
)

var replaceScript = scripts.Load("jobs/replace")

// replacePurging is what the script answers while a purge is under way: what it is to delete is not to be replaced.
const replacePurging = 4

// Replace enqueues a job in place of the one that has its ID. It looks where that is, and tells the script every session and every list of parked
// jobs; if one has begun since, it looks again.
func (s *store) Replace(ctx context.Context, call protocol.ReplaceCall) (protocol.Replaced, error) {
	if s.bad != nil {
		return 0, s.bad
	}
	item, queue := &call.Item, call.Partition.Queue
	k := s.keys.partition(call.Partition)
	for range discardTries {
		var at whereabouts
		if err := at.look(ctx, s, call.Partition, []string{item.ID}); err != nil {
			return 0, unfitIfDenied(failure("replace on", queue, err))
		}
		keys := []string{
			k.ready, k.due, k.jobs, k.callers, k.state, k.idle, k.stale, k.once, k.dead, k.crashes, k.after, k.sessions, k.unhandled, k.last,
		}
		plain := *item
		plain.Own, plain.Once, plain.Schedule = false, 0, ""
		onceMs := any("")
		if item.Once > 0 {
			onceMs = item.Once.Milliseconds()
		}
		args := []any{
			call.Token, s.keys.wake(), len(at.sessions), len(at.lists), at.mark, item.ID, at.shared[item.ID], item.Body, when(&plain), onceMs,
		}
		for _, session := range at.sessions {
			keys, args = append(keys, k.inflight(session)), append(args, session)
		}
		for _, list := range at.lists {
			keys, args = append(keys, k.parked(list)), append(args, list)
		}
		values, err := s.runOne(ctx, "replace on", queue, newCall(&replaceScript, keys, args))
		if err != nil {
			return 0, unfitIfDenied(err)
		}
		switch became := values.number(1); became {
		case 0: // a session or a list has begun
		case replacePurging:
			if _, err := s.finishPurge(ctx, call.Partition); err != nil {
				return 0, err
			}
		default:
			if values.number(2) == 1 {
				err = s.relist(ctx, queue)
			}
			return protocol.Replaced(became), err
		}
	}
	return 0, failure("replace on", queue, errUnsettled)
}

// unfitIfDenied adds ErrUnfit to an error that says that the user lacks a right: who only enqueues need not have those of Replace, and asking
// again gives him none. The script reads all its keys before it writes, so nothing was done.
func unfitIfDenied(err error) error {
	if denied(err) {
		return fmt.Errorf("%w: %w", protocol.ErrUnfit, err)
	}
	return err
}
