package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	findBatch         = 200 // schedules read at a time
	definitionsAtOnce = 20  // definitions in one command: they may be long
	namesStep         = 2000
)

// Find returns stored schedules by name; one that is not stored is zero.
func (s *store) Find(ctx context.Context, names []string) ([]protocol.Stored, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	found := make([]protocol.Stored, 0, len(names))
	for chunk := range slices.Chunk(names, findBatch) {
		homes, err := s.client.HMGet(ctx, s.keys.registry(), chunk...).Result()
		if err != nil {
			return nil, failure("look up schedules in", s.keys.registry(), err)
		}
		stored, err := s.read(ctx, chunk, homes)
		if err != nil {
			return nil, err
		}
		found = append(found, stored...)
	}
	return found, nil
}

// Names returns some names of schedules, in no order, and where to go on; a cursor of "" begins and ends. It costs what it
// returns, however many there are. Names that are there all the while are returned at least once.
func (s *store) Names(ctx context.Context, cursor string) (names []string, next string, err error) {
	if s.bad != nil {
		return nil, "", s.bad
	}
	at, err := strconv.ParseUint(cmp.Or(cursor, "0"), 10, 64)
	if err != nil {
		return nil, "", fmt.Errorf("redisstore: list schedules: no cursor of ours: %.40q", cursor)
	}
	pairs, at, err := s.client.HScan(ctx, s.keys.registry(), at, "", namesStep).Result()
	if err != nil {
		return nil, "", failure("list schedules in", s.keys.registry(), err)
	}
	for i := 0; i < len(pairs); i += 2 { // its queue follows each name
		names = append(names, pairs[i])
	}
	if at != 0 {
		next = strconv.FormatUint(at, 10)
	}
	return names, next, nil
}

// A reading is what is read at once of schedules that live in one partition.
type reading struct {
	at          []int // positions of the schedules
	definitions []*redis.SliceCmd
	cursors     *redis.SliceCmd
	counters    *redis.SliceCmd
	waiting     []int // positions of those that have one placed at their cursor
	scores      *redis.FloatSliceCmd
}

var counterNames = [...]string{"/started", "/skipped", "/missed", "/caught_up", "/superseded"}

func (s *store) read(ctx context.Context, names []string, homes []any) ([]protocol.Stored, error) {
	stored := make([]protocol.Stored, len(names))
	readings := map[protocol.Partition]*reading{}
	for i, name := range names {
		queue, ok := homes[i].(string)
		if !ok {
			continue
		}
		partition, err := s.home(ctx, queue, name)
		if err != nil {
			return nil, err
		}
		stored[i].Name, stored[i].Partition = name, partition
		if readings[partition] == nil {
			readings[partition] = new(reading)
		}
		readings[partition].at = append(readings[partition].at, i)
	}
	if len(readings) == 0 {
		return stored, nil
	}
	if err := s.readHashes(ctx, stored, readings); err != nil {
		return nil, err
	}
	if err := s.readWaiting(ctx, stored, readings); err != nil {
		return nil, err
	}
	return stored, s.followMarks(ctx, stored)
}

// readHashes reads definitions, cursors and counters. One without a definition becomes zero.
func (s *store) readHashes(ctx context.Context, stored []protocol.Stored, readings map[protocol.Partition]*reading) error {
	pipe := s.client.Pipeline()
	for partition, r := range readings {
		k := s.keys.partition(partition)
		fields, counters := make([]string, len(r.at)), make([]string, 0, len(counterNames)*len(r.at))
		for j, i := range r.at {
			fields[j] = stored[i].Name
			for _, counter := range counterNames {
				counters = append(counters, stored[i].Name+counter)
			}
		}
		for some := range slices.Chunk(fields, definitionsAtOnce) {
			r.definitions = append(r.definitions, pipe.HMGet(ctx, k.schedules, some...))
		}
		r.cursors, r.counters = pipe.HMGet(ctx, k.cursors, fields...), pipe.HMGet(ctx, k.counters, counters...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return failure("read schedules", "", err)
	}
	for _, r := range readings {
		for j, i := range r.at {
			definition, ok := r.definitions[j/definitionsAtOnce].Val()[j%definitionsAtOnce].(string)
			if !ok {
				stored[i] = protocol.Stored{}
				continue
			}
			cursor, _ := r.cursors.Val()[j].(string)
			found := &stored[i]
			found.Definition, found.Cursor = []byte(definition), parseCursor(cursor)
			found.Placed = int64(found.Cursor.Used)
			for c, to := range []*int64{&found.Started, &found.Skipped, &found.Missed, &found.CaughtUp, &found.Superseded} {
				text, _ := r.counters.Val()[len(counterNames)*j+c].(string)
				*to, _ = strconv.ParseInt(text, 10, 64)
			}
		}
	}
	return nil
}

// readWaiting tells whose occurrence at the cursor is placed and not yet taken.
func (s *store) readWaiting(ctx context.Context, stored []protocol.Stored, readings map[protocol.Partition]*reading) error {
	pipe := s.client.Pipeline()
	for partition, r := range readings {
		var ids []string
		for _, i := range r.at {
			if c := stored[i].Cursor; c.Placed {
				r.waiting = append(r.waiting, i)
				ids = append(ids, stored[i].Name+"@"+c.At.UTC().Format(time.RFC3339))
			}
		}
		if len(ids) > 0 {
			r.scores = pipe.ZMScore(ctx, s.keys.partition(partition).due, ids...)
		}
	}
	if pipe.Len() == 0 {
		return nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return failure("read schedules", "", err)
	}
	for _, r := range readings {
		for j, i := range r.waiting {
			stored[i].Waiting = r.scores.Val()[j] != 0 // a missing one scores 0, and no occurrence is of 1970
		}
	}
	return nil
}

// followMarks completes the move of a schedule found as a mark and reads it where it lives now.
func (s *store) followMarks(ctx context.Context, stored []protocol.Stored) error {
	for i := range stored {
		h, ok := parseHead(string(stored[i].Definition))
		if !ok || h.movedTo == "" {
			continue
		}
		if _, err := s.finishMove(ctx, stored[i].Name, stored[i].Partition.Queue, string(stored[i].Definition)); err != nil {
			return err
		}
		moved, err := s.read(ctx, []string{stored[i].Name}, []any{h.movedTo})
		if err != nil {
			return err
		}
		stored[i] = moved[0]
	}
	return nil
}
