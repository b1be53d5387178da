package redisstore

import (
	"context"
	"crypto/rand"
	"strconv"

	"github.com/chimejobs/chime/internal/protocol"
)

var backfillScript = scripts.Load("schedules/backfill")

// maxBackfilled is how many occurrences times sessions one call of the script looks up.
const maxBackfilled = 2000

// The answers of the script other than success.
const (
	backfillIncomplete = 0
	backfillMissing    = -1
	backfillChanged    = -2
	backfillUnreadable = -3
)

// Backfill places occurrences of a schedule.
func (s *store) Backfill(ctx context.Context, b protocol.Backfilling) (protocol.BackfillAnswer, error) {
	answer := protocol.BackfillAnswer{}
	for range maxMovesFollowed {
		if s.bad != nil {
			return answer, s.bad
		}
		homes, err := s.homes(ctx, b.Name)
		if err != nil {
			return answer, err
		}
		if homes[0].queue == "" {
			return answer, protocol.ErrNotFound
		}
		partition, err := s.partitionOf(ctx, homes[0].queue, b.Name)
		if err != nil {
			return answer, err
		}
		steps := backfilling{store: s, Backfilling: b, partition: partition, answer: &answer}
		text, err := steps.run(ctx)
		if err != nil || text == "" {
			return answer, err
		}
		h, ok := parseHead(text)
		if !ok || h.movedTo == "" && h.generation <= homes[0].generation {
			return answer, failure("backfill schedule", b.Name, protocol.ErrConflict)
		}
		if err := s.catchUpWith(ctx, b.Name, homes[0], text); err != nil {
			return answer, err
		}
	}
	return answer, failure("backfill schedule", b.Name, errKeepMoving)
}

// A backfilling places the occurrences of one call, in one partition, in as many steps as it takes.
type backfilling struct {
	store *store
	protocol.Backfilling
	partition protocol.Partition
	answer    *protocol.BackfillAnswer
	whereabouts
}

// run returns the stored definition if it differs from the one that the call is for.
func (b *backfilling) run(ctx context.Context) (changed string, err error) {
	ids := make([]string, len(b.Jobs))
	for i := range b.Jobs {
		ids[i] = b.Jobs[i].ID
	}
	tries, known := 0, false
	for b.answer.Done < len(ids) {
		if !known {
			if err := b.look(ctx, b.store.jobs(b.partition), ids, true); err != nil {
				return "", failure("backfill schedule", b.Name, err)
			}
			known = true
		}
		n := min(protocol.MaxItems, maxBackfilled/max(1, len(b.sessions)), maxLookedUp/(1+len(b.sessions)+len(b.lists)))
		values, err := b.call(ctx, min(b.answer.Done+max(1, n), len(ids)))
		if err != nil {
			return "", err
		}
		switch values.number(1) {
		case backfillIncomplete:
			if known, tries = false, tries+1; tries == discardTries {
				return "", failure("backfill schedule", b.Name, errUnsettled)
			}
			continue
		case backfillMissing:
			return "", protocol.ErrNotFound
		case backfillUnreadable:
			return "", failure("backfill schedule", b.Name, protocol.ErrUnreadable)
		case backfillChanged:
			return values.text(4), nil
		}
		b.answer.Placed += int(values.number(2))
		b.answer.Existing += int(values.number(3))
		b.answer.Full += int(values.number(5))
		b.answer.Done = min(b.answer.Done+max(1, n), len(ids))
	}
	return "", nil
}

// call sends one step: the occurrences from the first that is not done to the one before to.
func (b *backfilling) call(ctx context.Context, to int) (reply, error) {
	k := b.store.keys.partition(b.partition)
	keys := []string{
		k.state, k.sessions, k.jobs, k.due, k.ready, k.dead, k.crashes, k.open, k.behind, k.schedules, k.cursors, k.callers, k.idle,
		k.unhandled, k.stale, k.last, k.history, k.owed, k.counters, k.line, k.places, k.turns, k.groups, k.grules, k.opens,
	}
	args := []any{
		rand.Text(), b.store.keys.wake(), b.Name, strconv.FormatInt(b.Revision, 10), len(b.sessions), len(b.lists), to - b.answer.Done, b.mark, b.MaxUnfinished, b.Group,
	}
	for _, session := range b.sessions {
		keys, args = append(keys, k.inflight(session)), append(args, session)
	}
	for _, list := range b.lists {
		keys, args = append(keys, k.parked(list)), append(args, list)
	}
	for _, job := range b.Jobs[b.answer.Done:to] {
		_, planned, _ := protocol.CutOccurrence(job.ID)
		args = append(args, planned, b.shared[job.ID], job.Body)
	}
	return b.store.runOne(ctx, "backfill schedule", b.Name, newCall(&backfillScript, keys, args))
}
