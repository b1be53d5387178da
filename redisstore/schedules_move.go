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
//
// Model: MOVE in models/home.pml.
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
		if err := s.settleAbsent(ctx, name, from); err != nil {
			return home{}, nil, err
		}
		_, err := s.changeHome(ctx, name, from, home{to, begun.draw})
		return home{}, nil, err // a process that creates it there reads first when it was deleted
	}
	return s.arrive(ctx, name, from, from.queue, begun)
}

// A begunMove is the state of the old queue for a schedule that moves.
type begunMove struct {
	mark, cursor, origins string
	note, owner           string // as they are stored
	last, history, zone   string
	later                 int64 // the generation of the definition, if that is later than the registry's
	draw                  int64 // a new generation, if there is nothing to move
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
	return s.beginMoveWith(ctx, name, from, to, floor, by, false)
}

// beginMoveWith is beginMove with one more case. If yields is true, the registry has the schedule in the other queue, and the definition of this
// generation becomes an outdated mark.
func (s *store) beginMoveWith(ctx context.Context, name string, from home, to string, floor int64, by *protocol.Declaration, yields bool) (begunMove, error) {
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
		[]string{k.schedules, k.cursors, k.owed, k.due, k.jobs, k.crashes, k.state, k.gone, k.counters, k.origins, k.notes, k.owners, k.last, k.history, k.zones, k.line, k.places, k.turns, k.groups, k.grules, k.opens},
		[]any{name, to, from.generation, floor, from.queue, revision, absent, owner.Name, owner.Version, flag(succeeded), form, flag(yields)}))
	return begunMove{
		mark: values.text(0), cursor: values.text(1), origins: values.text(2), later: values.number(3), note: values.text(4), owner: values.text(5),
		refused: refusal{why: values.text(6), definition: values.text(7)}, last: values.text(8), history: values.text(9), draw: values.number(10), zone: values.text(11),
	}, err
}

// arrive takes the steps after begin. entry is the registry's (zero: it has none), queue has the mark. now is where the schedule lives
// then; zero if others have moved or deleted it.
//
// Model: TAKEOVER in models/home.pml.
func (s *store) arrive(ctx context.Context, name string, entry home, queue string, begun begunMove) (now home, owed *protocol.Owed, err error) {
	for range maxMovesFollowed {
		h, ok := parseHead(begun.mark)
		if !ok || h.movedTo == "" {
			return home{}, nil, failure("move schedule", name, protocol.ErrUnreadable)
		}
		if _, err := s.queues.register(ctx, h.movedTo); err != nil { // it may have been deleted since this process has read it
			return home{}, nil, err
		}
		to, err := s.partitionOf(ctx, h.movedTo, name)
		if err != nil {
			return home{}, nil, err
		}
		k := s.keys.partition(to)
		values, err := s.runOne(ctx, "move to queue "+h.movedTo+" schedule", name, newCall(&moveArriveScript,
			[]string{k.schedules, k.cursors, k.owed, k.gone, k.counters, k.state, k.origins, k.notes, k.owners, k.last, k.history, k.callers, k.idle, k.zones, k.ends},
			[]any{name, begun.mark, begun.cursor, begun.origins, h.movedTo, begun.note, begun.owner, begun.last, begun.history, begun.zone}))
		if err != nil {
			return home{}, nil, err
		}
		now = home{h.movedTo, h.generation}
		text, arrived, gone, newer := values.text(0), values.number(1) == 1, values.number(2), values.number(3)
		if text != "" {
			if arrived && h.before == protocol.StateLive {
				owed = &protocol.Owed{Partition: to, Name: name, Definition: []byte(text), Cursor: parseCursor(begun.cursor), Since: h.since, Now: h.since, Zoned: parseZoned(begun.zone)}
			}
			if _, err := s.queues.register(ctx, h.movedTo); err != nil { // it may have been deleted meanwhile
				return home{}, nil, err
			}
			changed, err := s.enter(ctx, name, entry, now)
			if err == nil && !changed { // the registry has another home
				err = s.settleHomes(ctx, []protocol.Address{{Partition: to, Name: name}}, false)
			}
			if err != nil {
				return home{}, nil, err
			}
			if err := s.endMove(ctx, name, queue, h.generation); err != nil || !changed {
				return home{}, nil, err
			}
			return now, owed, nil
		}
		if newer > 0 { // it has a later definition there: the mark is older, although its generation is not
			if newer <= entry.generation {
				if newer, err = s.raise(ctx, protocol.Address{Partition: to, Name: name}, newer, entry.generation); err != nil || newer == 0 {
					return home{}, nil, err
				}
			}
			if _, err := s.enter(ctx, name, entry, home{h.movedTo, newer}); err != nil {
				return home{}, nil, err
			}
			return home{}, nil, s.endMove(ctx, name, queue, h.generation)
		}
		// That generation is gone in the new queue. Usually the schedule has arrived, lived there, and was moved on or deleted. In three cases the
		// registry still has the entry, and the mark gets a generation above the one there: the schedule lived there long ago, and the clock of that
		// server was ahead of this one's; two marks of a lost move point to each other; or the queue is barred.
		homes, err := s.homes(ctx, name)
		if err != nil || homes[0] != entry || gone == 0 {
			return home{}, nil, err
		}
		if begun, err = s.beginAgain(ctx, name, home{queue, h.generation}, h.movedTo, gone); err != nil || begun.mark == "" {
			return home{}, nil, err
		}
	}
	return home{}, nil, failure("move schedule", name, errKeepMoving)
}

// beginAgain returns a mark that is stored in a queue, with a generation above floor. It makes no mark of a definition.
func (s *store) beginAgain(ctx context.Context, name string, mark home, to string, floor int64) (begunMove, error) {
	return s.beginMove(ctx, name, home{mark.queue, mark.generation - 1}, to, floor, &protocol.Declaration{Absent: true})
}

// enter writes the registry's entry of a schedule that has arrived.
func (s *store) enter(ctx context.Context, name string, entry, now home) (changed bool, err error) {
	if entry.queue != "" {
		return s.changeHome(ctx, name, entry, now)
	}
	values, err := s.runOne(ctx, "register schedules in", s.keys.registry(),
		newCall(&registerSchedulesScript, []string{s.keys.registry()}, []any{name, now.queue, now.generation}))
	return home{values.text(0), values.number(1)} == now, err
}

// endMove removes the name from owed in the queue that the schedule has left.
func (s *store) endMove(ctx context.Context, name, queue string, generation int64) error {
	partition, err := s.partitionOf(ctx, queue, name)
	if err != nil {
		return err
	}
	k := s.keys.partition(partition)
	ended, err := s.run(ctx, s.client, newCall(&moveEndScript, []string{k.schedules, k.owed, k.state}, []any{name, generation}))[0].Int()
	if err != nil {
		return failure("end the move of schedule", name, err)
	}
	if ended < 0 { // the mark is gone: the queue may have the definition again
		return s.settleHomes(ctx, []protocol.Address{{Partition: partition, Name: name}}, false)
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
	p, err := s.partitionOf(ctx, queue, name)
	if err != nil {
		return nil, err
	}
	found, err := s.readCopies(ctx, []protocol.Address{{Partition: p, Name: name}}, false)
	if err != nil {
		return nil, err
	}
	return s.settle(ctx, name, found[0])
}

// settle is finishMove for a mark that was read.
//
// Model: FINISHMOVE in models/home.pml.
func (s *store) settle(ctx context.Context, name string, mark copyRead) (*protocol.Owed, error) {
	p, err := s.partitionOf(ctx, mark.queue, name)
	if err != nil {
		return nil, err
	}
	all, err := s.readHomes(ctx, []protocol.Address{{Partition: p, Name: name}}, false)
	if err != nil || all[0].copy.kind != markCopy {
		return nil, err
	}
	j := &all[0]
	switch j.survival() {
	case isRemoved:
		_, err = s.removeAt(ctx, name, j.copy.home(), "")
	case movesOn:
		_, owed, _, err := s.move(ctx, name, j.entry, j.copy.movedTo, nil)
		return owed, err
	case endsRemoval:
		err = s.endRemoval(ctx, name, j.entry)
	case arrivesAnew:
		return s.arriveAnew(ctx, j, j.there.gone)
	case moveEnded:
		err = s.endMove(ctx, name, j.copy.queue, j.copy.generation)
		if err == nil && j.entry.queue == j.copy.queue { // the schedule has come back here, and this queue has lost it
			return s.comeBack(ctx, name, j.entry)
		}
	}
	return nil, err
}

// comeBack completes once more the move that has led to an entry of the registry, in whose queue only an earlier mark is left. It looks for the mark of
// that move in all queues. Without one, nothing is left of the schedule, and Verify reports it.
func (s *store) comeBack(ctx context.Context, name string, entry home) (*protocol.Owed, error) {
	for cursor, first := "", true; first || cursor != ""; first = false {
		queues, next, err := s.Queues(ctx, cursor)
		if err != nil {
			return nil, err
		}
		places := make([]protocol.Address, len(queues))
		for i, q := range queues {
			places[i] = protocol.Address{Partition: protocol.Partition{Queue: q.Queue, Index: protocol.PartitionOf(name, q.Partitions)}, Name: name}
		}
		found, err := s.readCopies(ctx, places, false)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			if c.kind == markCopy && entry == (home{c.movedTo, c.generation}) {
				return s.settle(ctx, name, c)
			}
		}
		cursor = next
	}
	return nil, nil
}

// arriveAnew creates a schedule in its new queue from its mark, which is the last copy: the queue has lost it, or the registry has.
func (s *store) arriveAnew(ctx context.Context, j *judged, gone int64) (*protocol.Owed, error) {
	floor := int64(0)
	if gone >= j.copy.generation {
		floor = gone
	}
	begun, err := s.beginAgain(ctx, j.Name, j.copy.home(), j.copy.movedTo, floor)
	if err != nil || begun.mark == "" {
		return nil, err
	}
	_, owed, err := s.arrive(ctx, j.Name, j.entry, j.copy.queue, begun)
	return owed, err
}
