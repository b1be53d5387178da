package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	placeScript    = scripts.Load("schedules/place")
	owedScript     = scripts.Load("schedules/owed")
	postponeScript = scripts.Load("schedules/postpone")
)

const (
	minOwed = time.Second // a schedule that has been owed for less time is left to the worker that took the last occurrence
	maxOwed = 100         // schedules listed for a partition
)

// Place places the next occurrences of schedules and moves their cursors. If many processes place the same occurrence, one
// succeeds; the others get Lost and have nothing to undo.
func (s *store) Place(ctx context.Context, placements []protocol.Placement) []protocol.PlaceAnswer {
	answers := make([]protocol.PlaceAnswer, len(placements))
	if s.bad != nil {
		for i := range answers {
			answers[i].Err = s.bad
		}
		return answers
	}
	groups := map[protocol.Partition][]int{}
	for i := range placements {
		groups[placements[i].Partition] = append(groups[placements[i].Partition], i)
	}
	var calls []call
	var batches [][]int
	for partition, members := range groups {
		start, size := 0, 0
		for j, i := range members {
			next := 1 + len(placements[i].Instants)
			if j > start && size+next > protocol.MaxInstants {
				batches = append(batches, members[start:j])
				calls = append(calls, s.placeCall(partition, pick(placements, members[start:j])))
				start, size = j, 0
			}
			size += next
		}
		batches = append(batches, members[start:])
		calls = append(calls, s.placeCall(partition, pick(placements, members[start:])))
	}
	if len(calls) == 0 {
		return answers
	}
	for b, cmd := range s.run(ctx, s.client, calls...) {
		for j, answer := range placeAnswers(pick(placements, batches[b]), cmd) {
			answers[batches[b][j]] = answer
		}
	}
	return answers
}

// pick returns the placements that which names.
func pick(placements []protocol.Placement, which []int) []protocol.Placement {
	picked := make([]protocol.Placement, len(which))
	for j, i := range which {
		picked[j] = placements[i]
	}
	return picked
}

func (s *store) placeCall(partition protocol.Partition, placements []protocol.Placement) call {
	k := s.keys.partition(partition)
	args := make([]any, 1, 1+12*len(placements))
	args[0] = s.keys.wake()
	for i := range placements {
		p := &placements[i]
		args = append(args, p.Name, p.Revision, formatCursor(p.Cursor), p.Count, p.Missed, p.CaughtUp, len(p.Instants), p.Zone, p.Group)
		for j, at := range p.Instants {
			args = append(args, at.UTC().Format(time.RFC3339), milli(at.Add(p.Offset)), offsetAt(p, j))
		}
	}
	return newCall(&placeScript, []string{k.owed, k.schedules, k.cursors, k.due, k.idle, k.counters, k.state, k.open, k.zones, k.jobs, k.line, k.places, k.turns, k.groups, k.opens}, args)
}

// offsetAt returns the offset of the zone at an instant of a placement, in seconds; 0 without a zone.
func offsetAt(p *protocol.Placement, i int) int64 {
	if p.Zone == "" || i >= len(p.Offsets) {
		return 0
	}
	return int64(p.Offsets[i] / time.Second)
}

func placeAnswers(placements []protocol.Placement, cmd *redis.Cmd) []protocol.PlaceAnswer {
	answers := make([]protocol.PlaceAnswer, len(placements))
	values, err := list("place", placements[0].Name, cmd)
	for i := range answers {
		if err != nil {
			answers[i].Err = err
			continue
		}
		n := values.number(1 + i)
		answers[i] = protocol.PlaceAnswer{Placed: int(max(n, 0)), Lost: n == -2, Completed: n == -1, Held: n == -3, Repeats: n == -5}
		if n == -4 {
			answers[i].Err = fmt.Errorf("redisstore: place schedule %q: %w", placements[i].Name, protocol.ErrUnreadable)
		}
	}
	return answers
}

// Owed lists schedules whose next occurrence has been owed for a second or more, and completes interrupted moves. A partition that
// cannot be read is named in the error and does not hide the others.
func (s *store) Owed(ctx context.Context, partitions []protocol.Partition) ([]protocol.Owed, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	if len(partitions) == 0 {
		return nil, nil
	}
	var failed []error
	var calls []call
	var asked []protocol.Partition
	exist, errs := s.exist(ctx, partitions, func(k *partitionKeys) string { return k.owed })
	for i, p := range partitions {
		if errs[i] != nil {
			failed = append(failed, failure("list owed schedules of", p.Queue, errs[i]))
		} else if exist[i] {
			k := s.keys.partition(p)
			calls = append(calls, newCall(&owedScript, []string{k.owed, k.schedules, k.cursors, k.zones, k.state}, []any{minOwed.Milliseconds(), maxOwed}))
			asked = append(asked, p)
		}
	}
	if len(calls) == 0 {
		return nil, errors.Join(failed...)
	}
	var owed []protocol.Owed
	for i, cmd := range s.run(ctx, s.client, calls...) {
		values, err := list("list owed schedules of", asked[i].Queue, cmd)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for j := 1; j+4 < len(values); j += 5 {
			o := protocol.Owed{
				Partition: asked[i], Name: values.text(j), Definition: []byte(values.text(j + 1)), Cursor: parseCursor(values.text(j + 2)),
				Since: values.milli(j + 3), Now: values.now(), Zoned: parseZoned(values.text(j + 4)),
			}
			h, readable := parseHead(values.text(j + 1))
			o.Unreadable = !readable || !readableCursor(values.text(j+2))
			if h.movedTo == "" {
				owed = append(owed, o)
				continue
			}
			moved, err := s.finishMove(ctx, o.Name, o.Partition.Queue, values.text(j+1))
			if err != nil {
				s.options.Logger.WarnContext(ctx, "redisstore: cannot complete the move of a schedule to another queue, trying again in a minute",
					"event", "schedule.unplaced", "schedule", o.Name, "queue", o.Partition.Queue, "error", err)
				err = s.Postpone(ctx, o) // it must not hide the others
			}
			if err != nil {
				failed = append(failed, err)
			}
			if moved != nil {
				owed = append(owed, *moved)
			}
		}
	}
	return owed, errors.Join(failed...)
}

// Postpone delays an owed schedule by a minute, unless it is owed since another instant now.
func (s *store) Postpone(ctx context.Context, owed protocol.Owed) error {
	if s.bad != nil {
		return s.bad
	}
	k := s.keys.partition(owed.Partition)
	cmd := s.run(ctx, s.client, newCall(&postponeScript, []string{k.owed, k.state}, []any{owed.Name, owed.Since.UnixMilli()}))[0]
	if err := cmd.Err(); err != nil {
		return failure("postpone schedule", owed.Name, err)
	}
	return nil
}
