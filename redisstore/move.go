package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	moveBeginScript  = load("move_begin")
	moveArriveScript = load("move_arrive")
	moveEndScript    = load("move_end")
)

// A move takes four steps. Each compares before it writes, so anybody may repeat all of them from the start: whoever finds the
// mark of an interrupted move completes it (a declaration, the ticker, Find).
//
//	begin     old queue: withdraw what is placed in the future; the definition becomes a mark that names the new queue
//	arrive    new queue: definition, cursor and runs used; its next occurrence is owed
//	registry  the schedule lives in the new queue
//	end       old queue: nothing is owed any more
//
// From begin to arrive the schedule places nothing anywhere; from arrive on only the new queue does.

// move moves a schedule from one queue to another. If this call was the one that moved it, it returns what is owed in the new queue.
func (s *store) move(ctx context.Context, name, from, to string) (*protocol.Owed, error) {
	partition, err := s.partitionOf(ctx, from, name)
	if err != nil {
		return nil, err
	}
	k := s.keys.partition(partition)
	values, err := s.runOne(ctx, "begin to move schedule", name, newCall(&moveBeginScript,
		[]string{k.schedules, k.cursors, k.owed, k.due, k.jobs, k.crashes, k.state, k.moved}, []any{name, to}))
	if err != nil {
		return nil, err
	}
	return s.completeMove(ctx, name, from, values.text(0), values.text(1), values.number(2))
}

// finishMove completes the move whose mark is in queue from.
func (s *store) finishMove(ctx context.Context, name, from, mark string) (*protocol.Owed, error) {
	h, ok := parseHead(mark)
	if !ok || h.movedTo == "" {
		return nil, fmt.Errorf("redisstore: finish the move of schedule %q: %q is not the mark of a move", name, mark)
	}
	return s.move(ctx, name, from, h.movedTo)
}

// completeMove takes the steps after begin.
func (s *store) completeMove(ctx context.Context, name, from, mark, cursor string, since int64) (*protocol.Owed, error) {
	h, ok := parseHead(mark)
	if !ok || h.movedTo == "" {
		return nil, fmt.Errorf("redisstore: move schedule %q: its definition in queue %q cannot be read: %.200q", name, from, mark)
	}
	to, err := s.partitionOf(ctx, h.movedTo, name)
	if err != nil {
		return nil, err
	}
	k := s.keys.partition(to)
	text := h.withState(h.before)
	var owed *protocol.Owed
	if h.before != "none" {
		cmd := s.run(ctx, s.client, newCall(&moveArriveScript, []string{k.schedules, k.cursors, k.owed}, []any{name, text, cursor, since}))[0]
		arrived, err := cmd.Int()
		if err != nil {
			return nil, failure("move to queue "+h.movedTo+" schedule", name, err)
		}
		if arrived == 1 && h.before == protocol.StateLive {
			at := time.UnixMilli(since).UTC()
			owed = &protocol.Owed{Partition: to, Name: name, Definition: []byte(text), Cursor: parseCursor(cursor), Since: at, Now: at}
		}
	}
	changed, err := s.run(ctx, s.client, newCall(&changeQueueScript, []string{s.keys.registry()}, []any{name, from, h.movedTo}))[0].Int()
	if err != nil {
		return nil, failure("write to the registry schedule", name, err)
	}
	if changed == 0 {
		if err := s.client.HSetNX(ctx, s.keys.registry(), name, h.movedTo).Err(); err != nil {
			return nil, failure("write to the registry schedule", name, err)
		}
	}
	old, err := s.partitionOf(ctx, from, name)
	if err != nil {
		return nil, err
	}
	k = s.keys.partition(old)
	if err := s.run(ctx, s.client, newCall(&moveEndScript, []string{k.schedules, k.owed}, []any{name, h.revision}))[0].Err(); err != nil {
		return nil, failure("end the move of schedule", name, err)
	}
	return owed, nil
}
