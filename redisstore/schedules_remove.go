package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	removeScript      = scripts.Load("schedules/remove")
	noteDeletedScript = scripts.Load("schedules/note_deleted")
)

const deletedRetention = 7 * 24 * time.Hour // how long a deletion is remembered

// Remove deletes a schedule and its placed occurrence; found is false if it did not exist when the call began. Runs in flight may
// finish. The guarantees need this order: 1. The intent is recorded, so that no running process declares the schedule again. 2. The
// schedule is deleted, and that is recorded, so that no copy which comes back after a loss survives. 3. Its marks in the queues that it has left
// are deleted. 4. If requested, its waiting jobs in all of these queues are deleted; a new schedule of that name keeps its jobs. 5. Its entry in
// the registry is deleted. A process that finds that entry without a definition repeats the steps from 3 on (finishRemoval), so that a schedule
// that is created again inherits nothing.
//
// A deletion by an owner's prune is not recorded: another running program that declares the schedule declares it again. The record of the
// declaring owner stops lower versions of this owner from doing so (scripts/schedules/declare.lua). The record of the completed pruning decides
// about copies that come back.
//
// The revision is compared before the deletion is recorded, and again by the script that deletes. A schedule that changes between the two
// remains, and is recorded as deleted: that has no effect while the schedule exists.
func (s *store) Remove(ctx context.Context, r protocol.Removal) (found bool, err error) {
	if s.bad != nil {
		return false, s.bad
	}
	name := r.Name
	var created time.Time // when the definition to delete was created; zero: none was seen yet
	for range maxMovesFollowed {
		homes, err := s.homes(ctx, name)
		if err != nil || homes[0].queue == "" {
			return found, err
		}
		there, err := s.copyAt(ctx, name, homes[0])
		if err != nil {
			return true, err
		}
		// A definition that was created later than the one to delete: so that one is gone. That may be the work of this call: the reply to an earlier step was
		// lost, and the client has sent it again. A move keeps the instant, and what is created after the intent was recorded has a later one.
		if there.kind == definitionCopy {
			if !created.IsZero() && there.created.After(created) {
				if r.Waiting {
					err = s.deleteWaiting(ctx, name, []string{homes[0].queue})
				}
				return true, err
			}
			created = there.created
		}
		found = true
		if there.kind == definitionCopy && r.Revision != 0 && there.revision != r.Revision {
			return found, failure("remove schedule", name, protocol.ErrConflict)
		}
		now, err := s.client.Time(ctx).Result()
		if err != nil {
			return false, failure("read the time to delete schedule", name, err)
		}
		prunes := r.Owner.Name != ""
		if err := s.noteIntent(ctx, name, r.Owner.Name, there.created, now); err != nil {
			return false, err
		}
		removed, err := s.deleteAt(ctx, name, homes[0], "", r, true)
		if err != nil {
			return false, err
		}
		if removed.kept {
			return true, failure("remove schedule", name, protocol.ErrConflict)
		}
		if removed.later != "" {
			if err := s.catchUpWith(ctx, name, homes[0], removed.later); err != nil {
				return false, err
			}
			continue
		}
		switch {
		case !prunes:
			err = s.noteDeleted(ctx, name, removed.now, removed.at())
		case removed.at().After(removed.now): // it was created after the intent was recorded
			err = s.notePruning(ctx, r.Owner.Name, removed.at())
		}
		if err != nil {
			return false, err
		}
		if err := s.removeMarks(ctx, homes[0], removed, r); err != nil {
			return false, err
		}
		if r.Waiting {
			if err := s.deleteWaiting(ctx, name, append(strings.Fields(removed.origins), homes[0].queue)); err != nil {
				return false, err
			}
		}
		if err := s.forgetOrigins(ctx, name, homes[0], removed); err != nil {
			return false, err
		}
		changed, err := s.changeHome(ctx, name, homes[0], home{})
		if err != nil || changed {
			return true, err
		}
		// The registry has another entry: a process has moved the schedule meanwhile, has found its last copy, or has created another one.
		if again, err := s.isCreatedAfter(ctx, name, removed.at()); err != nil || again {
			return true, err
		}
	}
	return false, failure("remove schedule", name, errKeepMoving)
}

// copyAt reads what the partition of a home has of a schedule.
func (s *store) copyAt(ctx context.Context, name string, at home) (copyRead, error) {
	p, err := s.partitionOf(ctx, at.queue, name)
	if err != nil {
		return copyRead{}, err
	}
	read, err := s.readCopies(ctx, []protocol.Address{{Partition: p, Name: name}}, false)
	if err != nil {
		return copyRead{}, err
	}
	return read[0], nil
}

// isCreatedAfter reports whether a schedule does not exist, or was created after an instant.
func (s *store) isCreatedAfter(ctx context.Context, name string, at time.Time) (bool, error) {
	homes, err := s.homes(ctx, name)
	if err != nil || homes[0].queue == "" {
		return true, err
	}
	found, err := s.copyAt(ctx, name, homes[0])
	return err == nil && found.kind == definitionCopy && found.created.After(at), err
}

// noteIntent records that a deletion begins. If the creation is not earlier, it also records an instant after the creation: another process that
// completes the deletion does not know the creation any more. For a pruning by an owner it records only this instant.
func (s *store) noteIntent(ctx context.Context, name, owner string, created, now time.Time) error {
	after := removal{now: now, created: created}.at()
	ahead := after.After(now)
	switch {
	case owner != "" && ahead:
		return s.notePruning(ctx, owner, after)
	case owner != "":
		return nil
	case ahead:
		return s.note(ctx, now, name, now, afterCreation(name), after)
	}
	return s.noteDeleted(ctx, name, now, time.Time{})
}

// noteDeleted records when the deletion of a schedule was begun or continued. If the deletion is done, it also records an instant after the creation
// of the deleted schedule. It removes old records. Instants have fractions of a millisecond, so that they are later than a generation drawn just
// before.
func (s *store) noteDeleted(ctx context.Context, name string, at, done time.Time) error {
	if done.IsZero() {
		return s.note(ctx, at, name, at)
	}
	return s.note(ctx, at, name, at, removed(name), done)
}

// note writes members of the record of deletions, each followed by its instant.
func (s *store) note(ctx context.Context, now time.Time, members ...any) error {
	args := []any{now.Add(-deletedRetention).UnixMilli()}
	for i := 0; i < len(members); i += 2 {
		args = append(args, strconv.FormatFloat(float64(members[i+1].(time.Time).UnixMicro())/1000, 'f', 3, 64), members[i])
	}
	if err := s.run(ctx, s.client, newCall(&noteDeletedScript, []string{s.keys.deleted()}, args))[0].Err(); err != nil {
		return failure("record the deletion of schedule", fmt.Sprint(members[0]), err)
	}
	return nil
}

// finishRemoval takes the last steps of a deletion except the registry's: there is no definition where the registry has the schedule.
// If there is one now, it changes nothing. It first records the time of the deletion, before any process creates a schedule of that name. It
// does not record it for a schedule that had an owner and was not recorded as deleted since it was created: that one was pruned.
//
// Model: FINISHREMOVAL in models/home.pml.
func (s *store) finishRemoval(ctx context.Context, name string, at home) error {
	noted, err := s.lookUpInstants(ctx, []string{name, afterCreation(name)}) // first: later ones may belong to another schedule of that name
	if err != nil {
		return err
	}
	removed, err := s.removeAt(ctx, name, at, "")
	if err != nil || removed.later != "" {
		return err
	}
	// If another process has finished it meanwhile, a schedule of that name may have been created, and a later record would delete it.
	if homes, err := s.homes(ctx, name); err != nil || homes[0] != at {
		return err
	}
	if !removed.owned || noted[0] > at.generation {
		done := removed.at()
		if created := time.UnixMicro(noted[1]); created.After(done) {
			done = created
		}
		if err := s.noteDeleted(ctx, name, removed.now, done); err != nil {
			return err
		}
	}
	if err := s.removeMarks(ctx, at, removed, protocol.Removal{Name: name}); err != nil {
		return err
	}
	return s.forgetOrigins(ctx, name, at, removed)
}

// removeMarks deletes the marks of a deleted schedule in the queues that it has left: jobs that are due there do not run
// either.
func (s *store) removeMarks(ctx context.Context, at home, removed removal, r protocol.Removal) error {
	for origin := range strings.FieldsSeq(removed.origins) {
		if _, err := s.deleteAt(ctx, r.Name, home{origin, at.generation}, "", r, false); err != nil {
			return err
		}
	}
	return nil
}

// forgetOrigins finally removes the list of queues that a deleted schedule has left: until then, a repeated deletion needs it.
func (s *store) forgetOrigins(ctx context.Context, name string, at home, removed removal) error {
	if removed.origins == "" {
		return nil
	}
	_, err := s.removeAt(ctx, name, at, removed.gone)
	return err
}

// A removal is what was deleted of a schedule in a queue.
type removal struct {
	later   string // its definition, if that has a later generation: nothing was deleted
	kept    bool   // it is not the one to delete: nothing was deleted
	now     time.Time
	gone    string    // when it was deleted, according to the queue
	origins string    // queues that it has left before
	owned   bool      // an owner had declared it, or has pruned it
	created time.Time // when the deleted definition was created; zero: there was none
}

// at is the instant to record as that of the deletion. It is later than the creation, which may be in the next second.
func (r removal) at() time.Time {
	if !r.now.After(r.created) {
		return r.created.Add(time.Millisecond)
	}
	return r.now
}

// removeAt deletes a schedule in a queue. If forget is the time of its deletion, the list of queues that it has left is removed.
func (s *store) removeAt(ctx context.Context, name string, at home, forget string) (removal, error) {
	return s.deleteAt(ctx, name, at, forget, protocol.Removal{}, false)
}

// deleteAt is removeAt for a schedule that an owner may prune. compare: delete it only if it is the one that the removal is for.
func (s *store) deleteAt(ctx context.Context, name string, at home, forget string, r protocol.Removal, compare bool) (removal, error) {
	partition, err := s.partitionOf(ctx, at.queue, name)
	if err != nil {
		return removal{}, err
	}
	revision := ""
	if compare && r.Revision != 0 {
		revision = strconv.FormatInt(r.Revision, 10)
	}
	k := s.keys.partition(partition)
	values, err := s.runOne(ctx, "remove schedule", name, newCall(&removeScript,
		[]string{k.schedules, k.cursors, k.owed, k.due, k.open, k.jobs, k.crashes, k.counters, k.gone,
			k.behind, k.ready, k.origins, k.notes, k.owners, k.last, k.history, k.zones, k.state, k.line, k.places, k.turns, k.groups, k.grules, k.opens, k.ends},
		[]any{name, at.generation, forget, revision, r.Owner.Name, r.Owner.Version, flag(compare && r.Owner.Name != "")}))
	if err != nil {
		return removal{}, err
	}
	answer := removal{now: values.now(), gone: values.text(4), origins: values.text(3), kept: values.number(1) < 0}
	answer.owned = values.number(1) == 1 && values.text(5) != ""
	answer.created, _ = time.Parse(time.RFC3339, values.text(6))
	if values.number(1) == 0 {
		answer.later = values.text(2)
	}
	return answer, nil
}

// catchUpWith updates the registry to a newer definition: it finishes a move, or adopts the generation.
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

var deleteWaitingScript = scripts.Load("schedules/delete_waiting")

// deleteWaiting deletes the waiting jobs of a deleted schedule in these queues, but not its running ones. It works in steps of about 500
// jobs. A job that returns from a run meanwhile may remain.
func (s *store) deleteWaiting(ctx context.Context, name string, queues []string) error {
	for _, queue := range queues {
		partition, err := s.partitionOf(ctx, queue, name)
		if err != nil {
			return err
		}
		k := s.keys.partition(partition)
		parked, err := s.client.ZRange(ctx, k.unhandled, 0, -1).Result()
		if err != nil {
			return failure("list the parked jobs of", queue, err)
		}
		for _, place := range []string{"behind", "due", "dead", "line", "ready"} {
			if err := s.deleteWaitingIn(ctx, k, name, place, sharedParked); err != nil {
				return err
			}
		}
		for _, job := range parked {
			if err := s.deleteWaitingIn(ctx, k, name, "parked", job); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteWaitingIn reads through one place, and again if it has deleted any there: in the store in memory a deletion moves the other jobs, so
// a step may have skipped some.
func (s *store) deleteWaitingIn(ctx context.Context, k partitionKeys, name, place, parked string) error {
	keys := []string{k.due, k.dead, k.ready, k.jobs, k.crashes, k.behind, k.schedules, k.state, k.unhandled, k.parked(parked), k.stale,
		k.last, k.once, k.results, k.kept, k.line, k.places, k.turns, k.groups, k.grules, k.opens,
		k.idle}
	deleted := int64(0)
	for at := "0"; ; {
		values, err := s.runOne(ctx, "delete the waiting jobs of schedule", name, newCall(&deleteWaitingScript, keys, []any{name, place, at, parked, s.keys.wake()}))
		if err != nil {
			return err
		}
		deleted += values.number(1)
		if at = values.text(0); at != "0" {
			continue
		}
		if deleted == 0 || place == "ready" { // what is in ready does not move
			return nil
		}
		deleted = 0
	}
}
