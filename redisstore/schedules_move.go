package redisstore

import (
	"context"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	moveBeginScript  = scripts.Load("schedules/move_begin")
	moveArriveScript = scripts.Load("schedules/move_arrive")
	moveEndScript    = scripts.Load("schedules/move_end")
)

// A schedule moves from one queue to another in four steps. Each compares generations before it writes, so any process may repeat all of
// them at any time, and a late step matches nothing.
//
//	begin     old queue: what is placed and not taken is withdrawn; the definition becomes a mark with the new queue and a new
//	          generation. From here on the schedule places nothing
//	arrive    new queue: definition, cursor, runs used and counters; the next occurrence is owed. From here on it places again
//	registry  the schedule lives in the new queue, under the new generation: one compare with the old entry
//	end       old queue: nothing is owed any more. The mark remains for 7 days, because runs taken here before the move may still end
//
// A process that finds a mark whose schedule is owed finishes the move (settleMark), but only while the registry names one of the mark's two
// places. The deletion of a schedule deletes its marks too.

// move moves a schedule from where the registry has it, and returns where it lives then: if that is not the queue to, other processes have
// moved or deleted it meanwhile. If this call completed the move there, owed is its next occurrence.
//
// A declaration moves a schedule only if it may change it: refused has the reason why nothing was moved, and the definition that remains.
func (s *store) move(ctx context.Context, name string, from home, to string, by *protocol.Declaration) (now home, owed *protocol.Owed, refused refusal, err error) {
	begun, err := s.beginMove(ctx, name, from, to, 0, by)
	if err != nil || begun.refused.why != "" {
		return home{}, nil, begun.refused, err
	}
	now, owed, err = s.moveBegun(ctx, name, from, to, begun)
	return now, owed, refusal{}, err
}

func (s *store) moveBegun(ctx context.Context, name string, from home, to string, begun begunMove) (now home, owed *protocol.Owed, err error) {
	switch {
	case begun.later > 0: // the registry went back to an earlier state
		_, err = s.changeHome(ctx, name, from, home{from.queue, begun.later})
		return home{}, nil, err
	case begun.mark == "": // there is no definition to move: it is not written yet, it was deleted, or it is lost
		if err := s.finishRemoval(ctx, name, from); err != nil {
			return home{}, nil, err
		}
		_, err := s.changeHome(ctx, name, from, home{to, from.generation + 1})
		return home{}, nil, err // a process that creates it there reads first when it was deleted
	}
	return s.arrive(ctx, name, from, begun)
}

// A begunMove is the state of the old queue for a schedule that moves.
type begunMove struct {
	mark, cursor, origins string
	note, owner           string // as they are stored
	last, history         string
	later                 int64 // the generation of the definition, if that is later than the registry's
	refused               refusal
}

// A refusal is the reason why a schedule is not moved (conflict, outdated or newer), with its definition.
type refusal struct{ why, definition string }

const (
	refusedConflict = "conflict"
	refusedOutdated = "outdated"
	refusedNewer    = "newer"
)

// beginMove creates the mark, or returns the existing one. Its generation is higher than floor. by is the declaration that moves the
// schedule; nil: it is moved unconditionally.
func (s *store) beginMove(ctx context.Context, name string, from home, to string, floor int64, by *protocol.Declaration) (begunMove, error) {
	partition, err := s.partitionOf(ctx, from.queue, name)
	if err != nil {
		return begunMove{}, err
	}
	revision, absent, owner, succeeded, form := "", "", protocol.Owner{}, false, 0
	if by != nil {
		revision, absent, owner, form = expected(by), flag(by.Absent), by.Owner, by.Form
		if succeeded, err = s.isSucceeded(ctx, owner); err != nil {
			return begunMove{}, err
		}
	}
	k := s.keys.partition(partition)
	values, err := s.runOne(ctx, "begin to move schedule", name, newCall(&moveBeginScript,
		[]string{k.schedules, k.cursors, k.owed, k.due, k.jobs, k.crashes, k.state, k.gone, k.counters, k.origins, k.notes, k.owners, k.last, k.history},
		[]any{name, to, from.generation, floor, from.queue, revision, absent, owner.Name, owner.Version, flag(succeeded), form}))
	return begunMove{
		mark: values.text(0), cursor: values.text(1), origins: values.text(2), later: values.number(3), note: values.text(4), owner: values.text(5),
		refused: refusal{why: values.text(6), definition: values.text(7)}, last: values.text(8), history: values.text(9),
	}, err
}

// arrive takes the steps after begin. now is where the schedule lives then; zero if others have moved or deleted it.
func (s *store) arrive(ctx context.Context, name string, from home, begun begunMove) (now home, owed *protocol.Owed, err error) {
	for range maxMovesFollowed {
		h, ok := parseHead(begun.mark)
		if !ok || h.movedTo == "" {
			return home{}, nil, failure("move schedule", name, protocol.ErrUnreadable)
		}
		to, err := s.partitionOf(ctx, h.movedTo, name)
		if err != nil {
			return home{}, nil, err
		}
		k := s.keys.partition(to)
		values, err := s.runOne(ctx, "move to queue "+h.movedTo+" schedule", name, newCall(&moveArriveScript,
			[]string{k.schedules, k.cursors, k.owed, k.gone, k.counters, k.state, k.origins, k.notes, k.owners, k.last, k.history, k.callers, k.idle},
			[]any{name, begun.mark, begun.cursor, begun.origins, h.movedTo, begun.note, begun.owner, begun.last, begun.history}))
		if err != nil {
			return home{}, nil, err
		}
		now = home{h.movedTo, h.generation}
		text, arrived, gone := values.text(0), values.number(1) == 1, values.number(2)
		if text != "" {
			if arrived && h.before == protocol.StateLive {
				owed = &protocol.Owed{Partition: to, Name: name, Definition: []byte(text), Cursor: parseCursor(begun.cursor), Since: h.since, Now: h.since}
			}
			changed, err := s.changeHome(ctx, name, from, now)
			if err != nil {
				return home{}, nil, err
			}
			if err := s.endMove(ctx, name, from.queue, h.generation); err != nil || !changed {
				return home{}, nil, err
			}
			return now, owed, nil
		}
		// That generation is gone in the new queue: the schedule has arrived, lived there, and was moved on or deleted. Or it lived there
		// long ago, and the clock of that server was ahead of this one's: then the registry still has it in the old queue.
		homes, err := s.homes(ctx, name)
		if err != nil || homes[0] != from || gone == 0 {
			return home{}, nil, err
		}
		if begun, err = s.beginMove(ctx, name, from, h.movedTo, gone, nil); err != nil || begun.mark == "" {
			return home{}, nil, err
		}
	}
	return home{}, nil, failure("move schedule", name, errKeepMoving)
}

// endMove removes the name from owed in the queue that the schedule has left.
func (s *store) endMove(ctx context.Context, name, queue string, generation int64) error {
	partition, err := s.partitionOf(ctx, queue, name)
	if err != nil {
		return err
	}
	k := s.keys.partition(partition)
	if err := s.run(ctx, s.client, newCall(&moveEndScript, []string{k.schedules, k.owed, k.origins, k.notes, k.owners}, []any{name, generation}))[0].Err(); err != nil {
		return failure("end the move of schedule", name, err)
	}
	return nil
}

// settleMark handles a mark that was found in a queue, as the registry requires: it finishes the move, ends it if it is complete, or deletes
// the mark of a deleted schedule. It does not change a text that is not a mark.
func (s *store) settleMark(ctx context.Context, name, queue, text string) error {
	_, err := s.finishMove(ctx, name, queue, text)
	return err
}

// finishMove is settleMark, and returns what is owed if this call completed the move into the new queue.
func (s *store) finishMove(ctx context.Context, name, queue, text string) (*protocol.Owed, error) {
	h, ok := parseHead(text)
	if !ok || h.movedTo == "" {
		return nil, nil
	}
	homes, err := s.homes(ctx, name)
	if err != nil {
		return nil, err
	}
	switch at := homes[0]; {
	case at.queue == "":
		_, err := s.removeAt(ctx, name, home{queue, h.generation}, "")
		return nil, err
	case at.queue == queue && at.generation < h.generation:
		_, owed, _, err := s.move(ctx, name, at, h.movedTo, nil)
		return owed, err
	}
	return nil, s.endMove(ctx, name, queue, h.generation)
}
