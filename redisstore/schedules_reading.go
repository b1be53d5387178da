package redisstore

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var readSchedulesScript = scripts.Load("schedules/read_schedules")

const (
	// maxScripted is how many schedules of a partition are read with one call of a script, if they are in more than maxCommanded partitions. Others are read with
	// ten commands for each partition: that costs the server a quarter of the time, because the script copies each value twice. For a few in each of many
	// partitions the number of commands counts more.
	maxScripted = 10
	// maxCommanded is how many partitions with few schedules are read with commands: 80 of the 400 that a page of the dashboard may send.
	maxCommanded = 8
)

// A reading is what is read of schedules that live in one partition.
type reading struct {
	partition protocol.Partition
	at        []int // positions of the schedules in the answer
	answer    reply // a list for each of the following constants
}

const (
	readDefinitions = iota
	readCursors
	readCounters
	readOrigins // queues that they have left
	readNotes
	readOwners
	readLasts // their last outcomes
	readOwed
	readDue    // of those whose cursor is an occurrence's: its score in due
	readBodies // and its envelope: it has one once it has failed, or was cancelled before its instant
	readLists
)

// text returns a text of the j-th schedule of the reading; empty: not stored.
func (r *reading) text(list, j int) string { return r.answer.list(list).text(j) }

// score returns a score of the j-th schedule of the reading; 0: not stored. A script returns scores as texts.
func (r *reading) score(list, j int) float64 {
	if score, ok := r.answer.list(list)[j].(float64); ok {
		return score
	}
	score, _ := strconv.ParseFloat(r.text(list, j), 64)
	return score
}

var counterNames = []any{"/started", "/skipped", "/missed", "/caught_up", "/superseded", "/cancelled", "/done", "/failed", "/died", "/full"}

// readHashes reads definitions, cursors and counters. A schedule without a definition becomes zero.
func (s *store) readHashes(ctx context.Context, stored []protocol.Stored, readings []*reading) error {
	few, many := split(readings)
	clock, err := s.readMany(ctx, stored, many)
	if err != nil {
		return err
	}
	if err := s.readFew(ctx, stored, few); err != nil {
		return err
	}
	for _, r := range readings {
		for which := range readLists {
			want := len(r.at)
			if which == readCounters {
				want *= len(counterNames)
			}
			if len(r.answer.list(which)) != want { // a proxy may answer so, and a missing value must not be read as one that is not stored
				return failure("read schedules of", r.partition.Queue, errShortAnswer)
			}
		}
		for j, i := range r.at {
			definition, cursor := r.text(readDefinitions, j), r.text(readCursors, j)
			if r.answer.list(readDefinitions)[j] == nil {
				stored[i] = protocol.Stored{}
				continue
			}
			found := &stored[i]
			found.Now = clock
			if _, ok := parseHead(definition); !ok || !readableCursor(cursor) {
				found.Err = protocol.ErrUnreadable
			}
			found.Definition, found.Cursor = []byte(definition), parseCursor(cursor)
			found.Placed = int64(found.Cursor.Used)
			if note := r.text(readNotes, j); note != "" {
				found.Note = parseNote(note)
			}
			if owner := r.text(readOwners, j); owner != "" {
				found.Owner = parseOwner(owner)
			}
			if last := r.text(readLasts, j); last != "" {
				found.Last = parseLast(last)
			}
			found.Since = owedSince(r.score(readOwed, j))
			addCounters(&found.Counters, r.answer.list(readCounters)[len(counterNames)*j:])
		}
	}
	return nil
}

// split returns the readings to read with scripts, and those to read with commands.
func split(readings []*reading) (few, many []*reading) {
	for _, r := range readings {
		if len(r.at) <= maxScripted {
			few = append(few, r)
		} else {
			many = append(many, r)
		}
	}
	if len(few) <= maxCommanded {
		return nil, readings
	}
	return few, many
}

// readFew reads schedules with one call of a script for each reading.
func (s *store) readFew(ctx context.Context, stored []protocol.Stored, readings []*reading) error {
	var calls []call
	for _, r := range readings {
		k := s.keys.partition(r.partition)
		data := append([]any{len(counterNames)}, counterNames...)
		for _, i := range r.at {
			data = append(data, stored[i].Name)
		}
		calls = append(calls, newCall(&readSchedulesScript, []string{k.schedules, k.cursors, k.counters, k.origins, k.notes, k.owners, k.last, k.owed, k.due, k.jobs}, data).readOnly())
	}
	if len(calls) == 0 {
		return nil
	}
	for n, cmd := range s.run(ctx, s.client, calls...) {
		var err error
		if readings[n].answer, err = list("read schedules of", readings[n].partition.Queue, cmd); err != nil {
			return err
		}
	}
	return nil
}

// readMany reads schedules with the commands of the script, in two round trips. It returns the server's time before.
func (s *store) readMany(ctx context.Context, stored []protocol.Stored, readings []*reading) (time.Time, error) {
	pipe := s.client.Pipeline()
	clock := pipe.Time(ctx)
	read := map[*reading][]*redis.SliceCmd{}
	for _, r := range readings {
		k := s.keys.partition(r.partition)
		fields, counters := make([]string, len(r.at)), make([]string, 0, len(counterNames)*len(r.at))
		for j, i := range r.at {
			fields[j] = stored[i].Name
			for _, counter := range counterNames {
				counters = append(counters, stored[i].Name+counter.(string))
			}
		}
		for _, key := range []string{k.schedules, k.cursors, k.counters, k.origins, k.notes, k.owners, k.last} { // in the order of the lists
			if key == k.counters {
				read[r] = append(read[r], pipe.HMGet(ctx, key, counters...))
			} else {
				read[r] = append(read[r], pipe.HMGet(ctx, key, fields...))
			}
		}
		read[r] = append(read[r], s.scoresOf(ctx, pipe, k.owed, fields))
	}
	answered, err := pipe.Exec(ctx)
	if err := cmp.Or(err, complete(answered...)); err != nil {
		return time.Time{}, failure("read schedules", "", err)
	}
	if len(read) == 0 {
		return clock.Val(), nil
	}
	pipe = s.client.Pipeline()
	for r, cmds := range read {
		ids := make([]string, len(r.at))
		for j, i := range r.at {
			ids[j] = stored[i].Name // of one without an occurrence at its cursor nobody uses the answer
			if c := parseCursor(reply(cmds[readCursors].Val()).text(j)); c.Placed {
				ids[j] += "@" + c.At.UTC().Format(time.RFC3339)
			}
		}
		k := s.keys.partition(r.partition)
		read[r] = append(cmds, s.scoresOf(ctx, pipe, k.due, ids), pipe.HMGet(ctx, k.jobs, ids...))
	}
	answered, err = pipe.Exec(ctx)
	if err := cmp.Or(err, complete(answered...)); err != nil {
		return time.Time{}, failure("read schedules", "", err)
	}
	for r, cmds := range read {
		for _, cmd := range cmds {
			r.answer = append(r.answer, cmd.Val())
		}
	}
	return clock.Val(), nil
}

// scoresOf reads scores so that a missing one differs from 0.
func (s *store) scoresOf(ctx context.Context, pipe redis.Pipeliner, key string, members []string) *redis.SliceCmd {
	args := []any{"zmscore", key}
	for _, member := range members {
		args = append(args, member)
	}
	cmd := redis.NewSliceCmd(ctx, args...)
	_ = pipe.Process(ctx, cmd) // the command has the error
	return cmd
}

// held is added to the score of an owed schedule that waits for the end of a flight.
const held = 1 << 50

// owedSince returns the instant in a score of owed; zero: nothing is owed.
func owedSince(score float64) time.Time {
	if score == 0 {
		return time.Time{}
	}
	if score >= held {
		score -= held
	}
	return time.UnixMilli(int64(score)).UTC()
}

// addCounters adds the counters of a schedule, in the stored order of counterNames.
func addCounters(counters *protocol.Counters, values []any) {
	for c, to := range []*int64{&counters.Started, &counters.Skipped, &counters.Missed, &counters.CaughtUp, &counters.Superseded, &counters.Cancelled,
		&counters.Done, &counters.Failed, &counters.Dead, &counters.Full} {
		text, _ := values[c].(string)
		n, _ := strconv.ParseInt(text, 10, 64)
		*to += n
	}
}

// addOrigins adds what was counted, after the schedules had left, in their former queues.
func (s *store) addOrigins(ctx context.Context, stored []protocol.Stored, readings []*reading) error {
	left := map[int][]string{} // the queues that each has left
	var queues []string
	for _, r := range readings {
		for j, i := range r.at {
			if origins := r.text(readOrigins, j); origins != "" {
				left[i] = strings.Fields(origins)
				queues = append(queues, left[i]...)
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	sizes, err := s.sizesOf(ctx, queues)
	if err != nil {
		return err
	}
	pipe := s.client.Pipeline()
	counted, lasts := map[*redis.SliceCmd]int{}, map[*redis.SliceCmd]int{}
	for i, origins := range left {
		fields := make([]string, len(counterNames))
		for c, counter := range counterNames {
			fields[c] = stored[i].Name + counter.(string)
		}
		for _, origin := range origins {
			if stored[i].Err = cmp.Or(stored[i].Err, sizes[origin].err); sizes[origin].err == nil {
				partition := protocol.Partition{Queue: origin, Index: protocol.PartitionOf(stored[i].Name, sizes[origin].partitions)}
				counted[pipe.HMGet(ctx, s.keys.partition(partition).counters, fields...)] = i
				lasts[pipe.HMGet(ctx, s.keys.partition(partition).last, stored[i].Name)] = i
				stored[i].Left = append(stored[i].Left, partition)
			}
		}
	}
	cmds, err := pipe.Exec(ctx)
	if err := cmp.Or(err, complete(cmds...)); err != nil {
		return failure("read the counters of schedules that have moved", "", err)
	}
	for cmd, i := range counted {
		addCounters(&stored[i].Counters, cmd.Val())
	}
	for cmd, i := range lasts {
		if text, ok := cmd.Val()[0].(string); ok {
			stored[i].Last = withLeft(stored[i].Last, parseLast(text))
		}
	}
	return nil
}

// addWaiting sets Waiting for the schedules whose occurrence at the cursor was not taken yet.
func (s *store) addWaiting(ctx context.Context, stored []protocol.Stored, readings []*reading) error {
	for _, r := range readings {
		var lined []int // positions of those that may wait in line for the turn of their group
		var ids []string
		for j, i := range r.at {
			if !stored[i].Cursor.Placed {
				continue
			}
			placed, body := r.score(readDue, j) != 0, r.text(readBodies, j) // no occurrence is of 1970
			stored[i].Void = placed && isVoid(body)
			stored[i].Waiting = placed && !stored[i].Void
			if !placed && body == "" {
				lined, ids = append(lined, i), append(ids, stored[i].Name+"@"+stored[i].Cursor.At.UTC().Format(time.RFC3339))
			}
		}
		if len(ids) == 0 {
			continue
		}
		waiting, err := s.jobs(r.partition).waitUntaken(ctx, ids)
		if err != nil {
			return failure("read schedules", "", err)
		}
		for k, i := range lined {
			stored[i].Waiting = waiting[k]
		}
	}
	return nil
}
