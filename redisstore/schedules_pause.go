package redisstore

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var pauseScheduleScript = scripts.Load("schedules/pause_schedule")

// The answers of the script other than success.
const (
	pauseMissing    = -1
	pauseUnreadable = -2
	pauseConflict   = -3
	pauseRecount    = -4
)

// PauseSchedule stops a schedule, or resumes it and returns what is owed then. It returns ErrNotFound if the schedule does not exist, and
// ErrConflict if it would change another revision than the one that the call names.
func (s *store) PauseSchedule(ctx context.Context, p protocol.Pausing) (protocol.PauseAnswer, error) {
	data, err := pauseData(p)
	if err != nil {
		return protocol.PauseAnswer{}, err
	}
	for range maxMovesFollowed {
		if s.bad != nil {
			return protocol.PauseAnswer{}, s.bad
		}
		homes, err := s.homes(ctx, p.Name)
		if err != nil {
			return protocol.PauseAnswer{}, err
		}
		if homes[0].queue == "" {
			return protocol.PauseAnswer{}, protocol.ErrNotFound
		}
		partition, err := s.partitionOf(ctx, homes[0].queue, p.Name)
		if err != nil {
			return protocol.PauseAnswer{}, err
		}
		k := s.keys.partition(partition)
		data[2] = homes[0].generation
		values, err := s.runOne(ctx, "pause or resume schedule", p.Name, newCall(&pauseScheduleScript, k.pausing(), data))
		if err != nil {
			return protocol.PauseAnswer{}, err
		}
		text := values.text(2)
		h, ok := parseHead(text)
		if ok && (h.movedTo != "" || h.generation > homes[0].generation) {
			if err := s.catchUpWith(ctx, p.Name, homes[0], text); err != nil {
				return protocol.PauseAnswer{}, err
			}
			continue
		}
		answer := protocol.PauseAnswer{Revision: h.revision, Definition: []byte(text), Cursor: parseCursor(values.text(3)), Now: values.now()}
		switch values.number(1) {
		case pauseMissing:
			return protocol.PauseAnswer{}, protocol.ErrNotFound
		case pauseUnreadable:
			return protocol.PauseAnswer{}, failure("pause or resume schedule", p.Name, protocol.ErrUnreadable)
		case pauseConflict:
			return answer, failure("pause or resume schedule", p.Name, protocol.ErrConflict)
		case pauseRecount:
			answer.Recount = true
			if note := values.text(5); note != "" {
				answer.Note = parseNote(note)
			}
		}
		if values.number(4) == 1 {
			answer.Owed = &protocol.Owed{
				Partition: partition, Name: p.Name, Definition: answer.Definition, Cursor: answer.Cursor, Since: answer.Now, Now: answer.Now,
				Zoned: parseZoned(values.text(6)),
			}
		}
		return answer, nil
	}
	return protocol.PauseAnswer{}, failure("pause or resume schedule", p.Name, errKeepMoving)
}

// pausing are the keys of pause_schedule.lua, in the order of its title page.
func (p partitionKeys) pausing() []string {
	return []string{p.schedules, p.cursors, p.owed, p.due, p.jobs, p.crashes, p.state, p.notes, p.counters, p.last, p.history, p.zones, p.line, p.places, p.turns, p.groups, p.grules, p.opens, p.ends, p.callers}
}

// pauseData has the arguments of the script; each try fills in the third value, the generation in the registry.
func pauseData(p protocol.Pausing) ([]any, error) {
	wanted, revision, note := protocol.StateLive, "", ""
	if p.Paused {
		wanted = protocol.StatePaused
	}
	if p.Revision != 0 {
		revision = strconv.FormatInt(p.Revision, 10)
	}
	if p.Note != nil {
		var err error
		if note, err = storedNote(*p.Note); err != nil {
			return nil, err
		}
	}
	data := []any{p.Name, wanted, "", revision, note, flag(p.SkipGap)}
	if c := p.Change; c != nil {
		first := ""
		if !c.First.IsZero() {
			first = c.First.UTC().Format(time.RFC3339)
		}
		return append(data, c.Revision, storedCursor(c.Cursor), c.Until.UTC().Format(time.RFC3339), c.Missed, first, c.Why, c.Note, rand.Text()), nil
	}
	return append(data, "", "", "", "", "", "", "", rand.Text()), nil
}
