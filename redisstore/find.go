package redisstore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
)

const findBatch = 200

// Find returns stored schedules by name; one that is not stored is zero.
func (s *Store) Find(ctx context.Context, names []string) ([]chime.Stored, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	found := make([]chime.Stored, 0, len(names))
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

// List returns up to limit schedules in the order of their names, those after the given name. It reads all names first,
// in steps of a thousand: ask for many at a time.
func (s *Store) List(ctx context.Context, after string, limit int) ([]chime.Stored, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	names := map[string]bool{} // a scan may meet a name twice
	scan := s.client.HScan(ctx, s.keys.registry(), 0, "", 1000).Iterator()
	for scan.Next(ctx) {
		if name := scan.Val(); name > after {
			names[name] = true
		}
		scan.Next(ctx) // its queue
	}
	if err := scan.Err(); err != nil {
		return nil, failure("list schedules in", s.keys.registry(), err)
	}
	sorted := slices.Sorted(maps.Keys(names))
	stored, err := s.Find(ctx, sorted[:min(limit, len(sorted))])
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(stored, func(found chime.Stored) bool { return found.Name == "" }), nil
}

// reading is one schedule while it is read.
type reading struct {
	definition, cursor *redis.StringCmd
	counters           *redis.SliceCmd
}

func (s *Store) read(ctx context.Context, names []string, homes []any) ([]chime.Stored, error) {
	stored := make([]chime.Stored, len(names))
	readings := make([]reading, len(names))
	pipe := s.client.Pipeline()
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
		k := s.keys.partition(partition)
		readings[i] = reading{
			definition: pipe.HGet(ctx, k.schedules, name), cursor: pipe.HGet(ctx, k.cursors, name),
			counters: pipe.HMGet(ctx, k.counters, name+"/started", name+"/skipped", name+"/missed", name+"/caught_up", name+"/superseded"),
		}
	}
	if pipe.Len() == 0 {
		return stored, nil
	}
	if err := execute(ctx, pipe); err != nil {
		return nil, failure("read schedules", "", err)
	}
	waiting := make([]*redis.FloatCmd, len(names))
	pipe = s.client.Pipeline()
	for i := range stored {
		if readings[i].definition == nil || readings[i].definition.Err() != nil {
			stored[i] = chime.Stored{}
			continue
		}
		stored[i].Definition = []byte(readings[i].definition.Val())
		stored[i].Cursor = parseCursor(readings[i].cursor.Val())
		stored[i].Placed = int64(stored[i].Cursor.Used)
		for j, to := range []*int64{&stored[i].Started, &stored[i].Skipped, &stored[i].Missed, &stored[i].CaughtUp, &stored[i].Superseded} {
			text, _ := readings[i].counters.Val()[j].(string)
			*to, _ = strconv.ParseInt(text, 10, 64)
		}
		if c := stored[i].Cursor; c.Placed {
			id := stored[i].Name + "@" + c.At.UTC().Format(time.RFC3339)
			waiting[i] = pipe.ZScore(ctx, s.keys.partition(stored[i].Partition).due, id)
		}
	}
	if pipe.Len() > 0 {
		if err := execute(ctx, pipe); err != nil {
			return nil, failure("read schedules", "", err)
		}
	}
	for i := range stored {
		stored[i].Waiting = waiting[i] != nil && waiting[i].Err() == nil
	}
	return stored, s.followMarks(ctx, stored)
}

// followMarks completes the move of a schedule found as a mark and reads it where it lives now.
func (s *Store) followMarks(ctx context.Context, stored []chime.Stored) error {
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

// execute sends a pipeline; that a single key or field is missing is no error of the pipeline.
func execute(ctx context.Context, pipe redis.Pipeliner) error {
	cmds, err := pipe.Exec(ctx)
	if err == nil {
		return nil
	}
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil && err != redis.Nil {
			return err
		}
	}
	return nil
}
