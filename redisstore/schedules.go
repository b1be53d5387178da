package redisstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	removeScript        = load("remove")
	pauseScheduleScript = load("pause_schedule")
)

const deletedRetention = 7 * 24 * time.Hour // how long it is known that a schedule was deleted

// Remove deletes a schedule and its placed occurrence; found is false if there was none when the call began. What is in flight may
// finish. The order of the steps is that of the guarantees: first it is noted that the schedule was deleted, so that no process that
// runs declares it again; then it goes; then its marks in the queues that it has left; its entry in the registry goes last. Whoever finds
// that entry without a definition takes the steps after the second again (finishRemoval), so that one created anew finds nothing of it.
func (s *store) Remove(ctx context.Context, name string) (found bool, err error) {
	if s.bad != nil {
		return false, s.bad
	}
	for range maxMovesFollowed {
		homes, err := s.homes(ctx, name)
		if err != nil || homes[0].queue == "" {
			return found, err
		}
		found = true
		now, err := s.client.Time(ctx).Result()
		if err != nil {
			return false, failure("read the time to delete schedule", name, err)
		}
		if err := s.noteDeleted(ctx, name, now); err != nil {
			return false, err
		}
		removed, err := s.removeAt(ctx, name, homes[0], "")
		if err != nil {
			return false, err
		}
		if removed.later != "" {
			if err := s.catchUpWith(ctx, name, homes[0], removed.later); err != nil {
				return false, err
			}
			continue
		}
		if err := s.noteDeleted(ctx, name, removed.now); err != nil {
			return false, err
		}
		if err := s.removeMarks(ctx, name, homes[0], removed); err != nil {
			return false, err
		}
		_, err = s.changeHome(ctx, name, homes[0], home{})
		return true, err
	}
	return false, failure("remove schedule", name, errKeepMoving)
}

// noteDeleted notes when a schedule was deleted, and forgets what was deleted long ago.
func (s *store) noteDeleted(ctx context.Context, name string, at time.Time) error {
	pipe := s.client.Pipeline()
	pipe.ZAddGT(ctx, s.keys.deleted(), redis.Z{Score: float64(at.UnixMilli()), Member: name})
	pipe.ZRemRangeByScore(ctx, s.keys.deleted(), "-inf", fmt.Sprint(at.Add(-deletedRetention).UnixMilli()))
	if _, err := pipe.Exec(ctx); err != nil {
		return failure("note that it was deleted: schedule", name, err)
	}
	return nil
}

// finishRemoval takes the last steps of a deletion but for the registry's: there is no definition where the registry has the schedule.
// It changes nothing if there is one by now. When it was deleted is noted before anybody creates one of that name.
func (s *store) finishRemoval(ctx context.Context, name string, at home) error {
	removed, err := s.removeAt(ctx, name, at, "")
	if err != nil || removed.later != "" {
		return err
	}
	if err := s.noteDeleted(ctx, name, removed.now); err != nil {
		return err
	}
	return s.removeMarks(ctx, name, at, removed)
}

// removeMarks deletes the marks of a schedule that was deleted, in the queues that it has left: what is due there still does not run
// either. Then these queues are forgotten.
func (s *store) removeMarks(ctx context.Context, name string, at home, removed removal) error {
	if removed.origins == "" {
		return nil
	}
	for origin := range strings.FieldsSeq(removed.origins) {
		if _, err := s.removeAt(ctx, name, home{origin, at.generation}, ""); err != nil {
			return err
		}
	}
	_, err := s.removeAt(ctx, name, at, removed.gone)
	return err
}

// A removal is what was deleted of a schedule in a queue.
type removal struct {
	later   string // its definition, if that has a later generation: nothing was deleted
	now     time.Time
	gone    string // when it was deleted, as the queue remembers it
	origins string // queues that it has left before
}

// removeAt deletes a schedule in a queue. forget is empty, or when it was deleted: then the queues that it has left are forgotten.
func (s *store) removeAt(ctx context.Context, name string, at home, forget string) (removal, error) {
	partition, err := s.partitionOf(ctx, at.queue, name)
	if err != nil {
		return removal{}, err
	}
	k := s.keys.partition(partition)
	values, err := s.runOne(ctx, "remove schedule", name, newCall(&removeScript,
		[]string{k.schedules, k.cursors, k.owed, k.due, k.open, k.jobs, k.crashes, k.counters, k.gone,
			k.behind, k.ready, k.origins}, []any{name, at.generation, forget}))
	if err != nil {
		return removal{}, err
	}
	return removal{later: values.text(2), now: values.now(), gone: values.text(4), origins: values.text(3)}, nil
}

// catchUpWith brings the registry up to date with a definition that it is behind of: it finishes a move, or takes over the generation.
func (s *store) catchUpWith(ctx context.Context, name string, known home, text string) error {
	h, ok := parseHead(text)
	if !ok {
		return nil
	}
	if h.movedTo != "" {
		return s.settleMark(ctx, name, known.queue, text)
	}
	_, err := s.changeHome(ctx, name, known, home{known.queue, h.generation})
	return err
}

// PauseSchedule stops a schedule, or resumes it and returns what it is owed then. ErrNotFound if there is none of that name.
func (s *store) PauseSchedule(ctx context.Context, name string, paused bool) (protocol.Owed, error) {
	wanted := protocol.StateLive
	if paused {
		wanted = protocol.StatePaused
	}
	for range maxMovesFollowed {
		if s.bad != nil {
			return protocol.Owed{}, s.bad
		}
		homes, err := s.homes(ctx, name)
		if err != nil {
			return protocol.Owed{}, err
		}
		if homes[0].queue == "" {
			return protocol.Owed{}, fmt.Errorf("redisstore: schedule %q: %w", name, protocol.ErrNotFound)
		}
		partition, err := s.partitionOf(ctx, homes[0].queue, name)
		if err != nil {
			return protocol.Owed{}, err
		}
		k := s.keys.partition(partition)
		values, err := s.runOne(ctx, "pause or resume schedule", name, newCall(&pauseScheduleScript,
			[]string{k.schedules, k.cursors, k.owed, k.due, k.jobs, k.crashes}, []any{name, wanted, homes[0].generation}))
		if err != nil {
			return protocol.Owed{}, err
		}
		text := values.text(2)
		if h, ok := parseHead(text); ok && (h.movedTo != "" || h.generation > homes[0].generation) {
			if err := s.catchUpWith(ctx, name, homes[0], text); err != nil {
				return protocol.Owed{}, err
			}
			continue
		}
		switch values.number(1) {
		case -1:
			return protocol.Owed{}, fmt.Errorf("redisstore: schedule %q: %w", name, protocol.ErrNotFound)
		case -2:
			return protocol.Owed{}, failure("pause or resume schedule", name, protocol.ErrUnreadable)
		}
		if values.number(4) == 0 {
			return protocol.Owed{}, nil
		}
		return protocol.Owed{
			Partition: partition, Name: name, Definition: []byte(text), Cursor: parseCursor(values.text(3)),
			Since: values.now(), Now: values.now(),
		}, nil
	}
	return protocol.Owed{}, failure("pause or resume schedule", name, errKeepMoving)
}
