package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var declareScript = scripts.Load("schedules/declare")

const (
	maxDeclareBytes  = protocol.MaxBytes / 2 // of definitions in a call: the answer contains them too
	maxMovesFollowed = 8                     // how often a call follows a schedule that other processes move meanwhile
)

// The answers of the script for one schedule.
const (
	declaredSame = iota
	declaredNew
	declaredChanged
	declaredElsewhere // it is moving, or has moved, to another queue
	declaredGone      // it was deleted or moved away after the registry's generation was drawn
	declaredAhead     // the registry is behind: it went back to an earlier state
	declaredRecount   // its recurrence changes
	declaredChanges   // it changes, if the returned revision is still stored
	declaredConflict  // it would change, and the caller has read another revision
	declaredOutdated  // a higher version of its owner has declared or pruned it
	declaredMissing   // it does not exist, and the caller has read one
	declaredNewer     // its definition has a newer format than the caller can read
	declaredBefore    // the call was carried out before, and others have changed it since
)

const declareAnswers = 7 // values that the script returns for one schedule

var errKeepMoving = errors.New("other processes keep moving it to another queue")

// Declare creates schedules, changes them, and moves those that are now declared for another queue. A repeated declaration,
// by any process, changes nothing. Each declaration has its own answer: a failing one does not stop the others.
func (s *store) Declare(ctx context.Context, declarations []protocol.Declaration) []protocol.DeclareAnswer {
	answers := make([]protocol.DeclareAnswer, len(declarations))
	all := make([]int, len(declarations))
	for i := range all {
		all[i] = i
	}
	if err := s.registerQueues(ctx, declarations); err != nil {
		return declareFailed(answers, all, err)
	}
	remaining, err := s.refuseGroups(ctx, declarations, answers)
	if err != nil {
		return declareFailed(answers, all, err)
	}
	d := &declaring{
		store: s, declarations: slices.Clone(declarations), answers: answers,
		homes: make([]home, len(declarations)), deleted: make([]int64, len(declarations)), seen: make([]int64, len(declarations)), token: rand.Text(),
	}
	for range maxMovesFollowed {
		if remaining, err = d.step(ctx, remaining); err != nil {
			return declareFailed(answers, remaining, err)
		}
		if len(remaining) == 0 {
			if err := s.registerQueues(ctx, declarations); err != nil { // one may have been deleted meanwhile, see scripts/queues/delete_queue.lua
				for i := range answers {
					answers[i].Err = cmp.Or(answers[i].Err, err)
				}
			}
			return answers
		}
	}
	return declareFailed(answers, remaining, failure("declare schedule", declarations[remaining[0]].Name, errKeepMoving))
}

func declareFailed(answers []protocol.DeclareAnswer, which []int, err error) []protocol.DeclareAnswer {
	for _, i := range which {
		answers[i].Err = err
	}
	return answers
}

// refuseGroups returns the declarations to carry out. It refuses those whose jobs, or jobs that follow them, have a group on a queue with several
// partitions: a group is in one partition.
func (s *store) refuseGroups(ctx context.Context, declarations []protocol.Declaration, answers []protocol.DeclareAnswer) (remaining []int, err error) {
	for i := range declarations {
		d := &declarations[i]
		groups := d.FollowsIn
		if d.Group != "" {
			groups = append([]protocol.QueueGroup{{Group: d.Group}}, groups...)
		}
		var refused error
		for _, of := range groups {
			queue := cmp.Or(of.Queue, d.Queue)
			n, err := s.Partitions(ctx, queue)
			if err != nil {
				return remaining, err
			}
			if n > 1 && refused == nil {
				refused = failure("declare schedule", d.Name, protocol.GroupOfPartitions(of.Group, queue, n))
			}
		}
		if refused == nil {
			remaining = append(remaining, i)
		} else {
			answers[i].Err = refused
		}
	}
	return remaining, nil
}

// registerQueues writes the queues of declarations into the registry, even those that this process has cached: the server may have lost them.
func (s *store) registerQueues(ctx context.Context, declarations []protocol.Declaration) error {
	if s.bad != nil {
		return s.bad
	}
	seen := map[string]bool{}
	for i := range declarations {
		if queue := declarations[i].Queue; !seen[queue] {
			seen[queue] = true
			if _, err := s.queues.register(ctx, queue); err != nil {
				return err
			}
		}
	}
	return nil
}

// A declaring declares schedules where they live according to the registry. A change names the revision that it changes, so that a late copy of the call
// does not restore an old definition after others have changed the schedule. If the client sends a call again because its answer was lost, the store knows its name.
type declaring struct {
	store        *store
	declarations []protocol.Declaration
	answers      []protocol.DeclareAnswer
	homes        []home  // of each, from the registry
	deleted      []int64 // when one of that name was deleted, Unix ms; 0: not known
	seen         []int64 // the revision that is to change; 0: not known
	token        string  // with the name of a schedule it is the unique name of a declaration
}

// step registers the schedules, moves those that live in another queue, and declares them. It returns those to try again, because others
// have moved or deleted them meanwhile. After an error it returns those that were not declared.
func (d *declaring) step(ctx context.Context, which []int) (again []int, err error) {
	which, err = d.register(ctx, which)
	if err != nil {
		return which, err
	}
	var here []int
	for _, i := range which {
		if to := d.declarations[i].Queue; d.homes[i].queue != to {
			moved, owed, refused, err := d.store.move(ctx, d.declarations[i].Name, d.homes[i], to, &d.declarations[i])
			if err == nil && refused.why != "" {
				err = d.unmoved(ctx, i, refused)
			}
			if err != nil || refused.why != "" {
				d.answers[i].Err = err
				continue
			}
			if moved.queue != to {
				again = append(again, i)
				continue
			}
			d.homes[i], d.answers[i].Owed = moved, owed
		}
		here = append(here, i)
	}
	calls, batches, err := d.calls(ctx, here)
	if err != nil {
		return append(again, here...), err
	}
	if len(calls) == 0 {
		return again, nil
	}
	for b, cmd := range d.store.run(ctx, d.store.client, calls...) {
		values, err := list("declare schedule", d.declarations[batches[b][0]].Name, cmd)
		for j, i := range batches[b] {
			retry := false
			if err == nil {
				retry, err = d.read(ctx, values, 1+declareAnswers*j, i)
			}
			if err != nil {
				d.answers[i].Err = err
			} else if retry {
				again = append(again, i)
			}
		}
	}
	return again, nil
}

// register registers the schedules, and returns those to continue with. One that the caller has read before is only looked up, not created.
func (d *declaring) register(ctx context.Context, which []int) (registered []int, err error) {
	var seen, others []int
	for _, i := range which {
		if d.declarations[i].Revision != 0 {
			seen = append(seen, i)
		} else {
			others = append(others, i)
		}
	}
	if len(others) > 0 {
		homes, deleted, err := d.store.registerSchedules(ctx, d.declarations, others)
		if err != nil {
			return which, err
		}
		for j, i := range others {
			d.homes[i], d.deleted[i] = homes[j], deleted[j]
		}
		if err := d.removeDead(ctx, others); err != nil {
			return which, err
		}
	}
	if len(seen) == 0 {
		return others, nil
	}
	names := make([]string, len(seen))
	for j, i := range seen {
		names[j] = d.declarations[i].Name
	}
	homes, err := d.store.lookUpHomes(ctx, names...)
	if err != nil {
		return which, err
	}
	for j, i := range seen {
		switch {
		case homes[j].err != nil:
			d.answers[i].Err = homes[j].err
		case homes[j].queue == "":
			d.answers[i].Err = notFound(names[j])
		default:
			d.homes[i], others = homes[j].home, append(others, i)
		}
	}
	return others, nil
}

// removeDead deletes copies of deleted schedules that have come back. Otherwise a declaration would change them instead of creating new ones.
func (d *declaring) removeDead(ctx context.Context, which []int) error {
	var asked []protocol.Address
	for _, i := range which {
		if d.deleted[i] == 0 {
			continue
		}
		p, err := d.store.partitionOf(ctx, d.homes[i].queue, d.declarations[i].Name)
		if err != nil {
			return err
		}
		asked = append(asked, protocol.Address{Partition: p, Name: d.declarations[i].Name})
	}
	if len(asked) == 0 {
		return nil
	}
	all, err := d.store.readHomes(ctx, asked, false)
	if err != nil {
		return err
	}
	for i := range all {
		if j := &all[i]; j.survival() == isRemoved {
			if _, err := d.store.removeAt(ctx, j.Name, j.copy.home(), ""); err != nil {
				return err
			}
		}
	}
	return nil
}

func notFound(name string) error {
	return fmt.Errorf("redisstore: schedule %q: %w", name, protocol.ErrNotFound)
}

// expected formats the revision that a declaration may change, for a script; empty: any.
func expected(d *protocol.Declaration) string {
	if d.Revision == 0 {
		return ""
	}
	return strconv.FormatInt(d.Revision, 10)
}

// unmoved returns the answer for a schedule that is not moved.
func (d *declaring) unmoved(ctx context.Context, i int, refused refusal) error {
	if refused.why == refusedConflict {
		return failure("declare schedule", d.declarations[i].Name, protocol.ErrConflict)
	}
	partition, err := d.store.partitionOf(ctx, d.homes[i].queue, d.declarations[i].Name)
	if err != nil {
		return err
	}
	now, err := d.store.client.Time(ctx).Result()
	if err != nil {
		return failure("read the time to declare schedule", d.declarations[i].Name, err)
	}
	h, _ := parseHead(refused.definition)
	d.answers[i] = protocol.DeclareAnswer{
		Partition: partition, Created: h.created, Revision: h.revision, Stored: []byte(refused.definition), Now: now,
		Outdated: refused.why == refusedOutdated, Newer: refused.why == refusedNewer,
	}
	return nil
}

// calls returns the script calls, one or more for each partition.
func (d *declaring) calls(ctx context.Context, which []int) (calls []call, batches [][]int, err error) {
	groups := map[protocol.Partition][]int{}
	succeeded := map[protocol.Owner]bool{}
	for _, i := range which {
		owner := d.declarations[i].Owner
		if _, known := succeeded[owner]; !known {
			if succeeded[owner], err = d.store.isSucceeded(ctx, owner); err != nil {
				return nil, nil, err
			}
		}
		partition, err := d.store.partitionOf(ctx, d.declarations[i].Queue, d.declarations[i].Name)
		if err != nil {
			return nil, nil, err
		}
		d.answers[i].Partition = partition
		groups[partition] = append(groups[partition], i)
	}
	for partition, members := range groups {
		k := d.store.keys.partition(partition)
		for _, batch := range declareBatches(d.declarations, members) {
			var args []any
			for _, i := range batch {
				declared := &d.declarations[i]
				args = append(args, declared.Name, d.homes[i].generation, d.deleted[i], declared.Overlap, declared.Body)
				if c := declared.Change; c != nil {
					args = append(args, c.Revision, storedCursor(c.Cursor), c.Until.UTC().Format(time.RFC3339), c.Missed)
				} else {
					args = append(args, d.seen[i], "", "", "")
				}
				note := ""
				if declared.Paused != nil {
					if note, err = storedNote(*declared.Paused); err != nil {
						return nil, nil, err
					}
				}
				args = append(args, expected(declared), flag(declared.Absent), note, declared.Owner.Name, declared.Owner.Version, declared.KeepRuns, declared.PauseAfter,
					flag(succeeded[declared.Owner]), declared.Form, d.token+" "+declared.Name)
			}
			calls = append(calls, newCall(&declareScript,
				[]string{k.schedules, k.cursors, k.owed, k.due, k.state, k.jobs, k.crashes, k.gone, k.counters, k.notes, k.owners, k.last, k.history, k.callers, k.idle, k.zones, k.line, k.places, k.turns, k.groups, k.grules, k.opens, k.ends}, args))
			batches = append(batches, batch)
		}
	}
	return calls, batches, nil
}

// declareBatches splits members into calls within the limits of one.
func declareBatches(declarations []protocol.Declaration, members []int) [][]int {
	var batches [][]int
	start, bytes := 0, 0
	for j, i := range members {
		size := len(declarations[i].Body)
		if j > start && (j-start == protocol.MaxDeclared || bytes+size > maxDeclareBytes) {
			batches = append(batches, members[start:j])
			start, bytes = j, 0
		}
		bytes += size
	}
	return append(batches, members[start:])
}

// read reads the script's answer for one schedule, from values[at] on. again is true if it must be declared again.
func (d *declaring) read(ctx context.Context, values reply, at, i int) (again bool, err error) {
	declared, answer := &d.declarations[i], &d.answers[i]
	status, old, text, cursor, since := values.number(at), values.text(at+1), values.text(at+2), values.text(at+3), values.number(at+4)
	generation := values.number(at + 5)
	switch status {
	case declaredElsewhere:
		return true, d.store.settleMark(ctx, declared.Name, d.homes[i].queue, old)
	case declaredGone:
		if err := d.store.settleAbsent(ctx, declared.Name, d.homes[i]); err != nil {
			return false, err
		}
		draw := max(values.number(0), generation+1)
		_, err := d.store.changeHome(ctx, declared.Name, d.homes[i], home{d.homes[i].queue, draw})
		return true, err
	case declaredChanges:
		h, _ := parseHead(old)
		d.seen[i] = h.revision
		if stored := "{" + h.rest; declared.AnyFirst && withoutFirst(stored) == withoutFirst(string(declared.Body)) {
			d.declarations[i].Body = []byte(stored)
		}
		return true, nil
	case declaredConflict:
		return false, failure("declare schedule", declared.Name, protocol.ErrConflict)
	case declaredMissing:
		return false, notFound(declared.Name)
	case declaredBefore:
		if text == "" {
			return false, notFound(declared.Name)
		}
	case declaredOutdated:
		if text == "" { // it was pruned: the registry entry that this call has created is removed again
			if _, err := d.store.changeHome(ctx, declared.Name, d.homes[i], home{}); err != nil {
				return false, err
			}
		}
	case declaredAhead:
		_, err := d.store.changeHome(ctx, declared.Name, d.homes[i], home{d.homes[i].queue, generation})
		return true, err
	}
	answer.Outdated, answer.Newer = status == declaredOutdated, status == declaredNewer
	answer.New, answer.Changed, answer.Recount = status == declaredNew, status == declaredChanged, status == declaredRecount
	if answer.Changed || answer.Recount {
		answer.Old = []byte(old)
	}
	answer.Now, answer.Stored, answer.Cursor, answer.Zoned = values.now(), []byte(text), parseCursor(cursor), parseZoned(values.text(at+6))
	h, _ := parseHead(text)
	answer.Created, answer.Revision = h.created, h.revision
	if since >= 0 {
		answer.Owed = &protocol.Owed{
			Partition: answer.Partition, Name: declared.Name, Definition: answer.Stored,
			Cursor: answer.Cursor, Since: time.UnixMilli(since).UTC(), Now: values.now(), Zoned: answer.Zoned,
		}
	}
	return false, nil
}
