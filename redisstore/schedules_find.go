package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	maxFind      = 200  // schedules read in one round trip
	maxRead      = 50   // read by one call: definitions may be long
	namesPerCall = 2000 // about how many names a call reads
)

var readSchedulesScript = scripts.Load("schedules/read_schedules")

// Find returns stored schedules by name, in the order of the names. A schedule that is not stored is zero, and one that cannot be read has an
// Err. It writes nothing.
func (s *store) Find(ctx context.Context, names []string) ([]protocol.Stored, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	found := make([]protocol.Stored, 0, len(names))
	for chunk := range slices.Chunk(names, maxFind) {
		homes, err := s.lookUpHomes(ctx, chunk...)
		if err != nil {
			return nil, err
		}
		stored, err := s.readSchedules(ctx, chunk, homes)
		if err == nil {
			err = s.followMarks(ctx, stored)
		}
		if err != nil {
			return nil, err
		}
		found = append(found, stored...)
	}
	return found, nil
}

// Names returns some names of schedules, in order, and the last one that it read, after which the next call continues; at the end that
// is "". The cost of a call depends on what it reads, not on the number of schedules.
func (s *store) Names(ctx context.Context, of protocol.NameRange) (names []string, last string, err error) {
	if s.bad != nil {
		return nil, "", s.bad
	}
	from, to, count := "["+of.Prefix, "+", int64(namesPerCall)
	if of.Prefix == "" {
		from = "-"
	} else {
		to = "(" + of.Prefix + "\xff" // which is in no UTF-8
	}
	if of.After != "" && of.After >= of.Prefix {
		from = "(" + of.After + "\n" // after the entry of that name, in which a tab follows the name
	}
	if of.Max > 0 && of.Queue == "" {
		count = int64(of.Max)
	}
	for {
		members, err := s.client.ZRangeByLex(ctx, s.keys.registry(), &redis.ZRangeBy{Min: from, Max: to, Count: count}).Result()
		if err != nil {
			return nil, "", failure("list schedules in", s.keys.registry(), err)
		}
		for _, member := range members {
			name, home, err := parseMember(member)
			if err != nil {
				s.unreadableSchedule(ctx, member, err)
			}
			if name == "" {
				continue
			}
			if last = name; of.Queue == "" || home.queue == of.Queue {
				names = append(names, name)
			}
			if len(names) == of.Max && of.Max > 0 {
				return names, last, nil
			}
		}
		if len(members) < int(count) {
			return names, "", nil
		}
		if last != "" {
			return names, last, nil
		}
		from = "(" + members[len(members)-1] // a whole page that cannot be read
	}
}

// A reading is what is read, with one call, of schedules that live in one partition.
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

// text returns a text of the j-th schedule of the reading; empty: there is none.
func (r *reading) text(list, j int) string { return r.answer.list(list).text(j) }

var counterNames = []any{"/started", "/skipped", "/missed", "/caught_up", "/superseded", "/cancelled", "/done", "/failed", "/died", "/full"}

// readSchedules reads schedules where they live; a schedule that lives nowhere is zero.
func (s *store) readSchedules(ctx context.Context, names []string, homes []foundHome) ([]protocol.Stored, error) {
	queues := make([]string, len(homes))
	for i := range homes {
		queues[i] = homes[i].queue
	}
	sizes, err := s.sizesOf(ctx, queues)
	if err != nil {
		return nil, err
	}
	stored := make([]protocol.Stored, len(names))
	of := map[protocol.Partition]*reading{}
	var readings []*reading
	for i, name := range names {
		if homes[i].queue == "" && homes[i].err == nil {
			continue
		}
		size := sizes[homes[i].queue]
		if stored[i].Name, stored[i].Err = name, cmp.Or(homes[i].err, size.err); stored[i].Err != nil {
			continue
		}
		partition := protocol.Partition{Queue: homes[i].queue, Index: protocol.PartitionOf(name, size.partitions)}
		stored[i].Partition = partition
		r := of[partition]
		if r == nil || len(r.at) == maxRead {
			r = &reading{partition: partition}
			of[partition], readings = r, append(readings, r)
		}
		r.at = append(r.at, i)
	}
	if len(readings) == 0 {
		return stored, nil
	}
	if err := s.readHashes(ctx, stored, readings); err != nil {
		return nil, err
	}
	if err := s.addOrigins(ctx, stored, readings); err != nil {
		return nil, err
	}
	if err := s.addWaiting(ctx, stored, readings); err != nil {
		return nil, err
	}
	return stored, nil
}

// sizesOf returns how many partitions the queues of schedules have. It reads an unknown queue from the registry. A queue that
// is not registered has the number that this process would register. It registers nothing.
func (s *store) sizesOf(ctx context.Context, queues []string) (map[string]lookup, error) {
	sizes := map[string]lookup{}
	var unknown []string
	for _, queue := range queues {
		if _, seen := sizes[queue]; queue == "" || seen {
			continue
		}
		sizes[queue] = lookup{partitions: s.queues.learned(queue)}
		if sizes[queue].partitions == 0 {
			unknown = append(unknown, queue)
		}
	}
	found, err := s.queues.lookUp(ctx, unknown...)
	if err != nil {
		return nil, err
	}
	for i, queue := range unknown {
		found[i].partitions = max(found[i].partitions, s.options.Partitions[queue], 1)
		sizes[queue] = found[i]
	}
	return sizes, nil
}

// readHashes reads definitions, cursors and counters. A schedule without a definition becomes zero.
func (s *store) readHashes(ctx context.Context, stored []protocol.Stored, readings []*reading) error {
	clock, err := s.client.Time(ctx).Result()
	if err != nil {
		return failure("read schedules", "", err)
	}
	calls := make([]call, len(readings))
	for n, r := range readings {
		k := s.keys.partition(r.partition)
		data := append([]any{len(counterNames)}, counterNames...)
		for _, i := range r.at {
			data = append(data, stored[i].Name)
		}
		calls[n] = newCall(&readSchedulesScript, []string{k.schedules, k.cursors, k.counters, k.origins, k.notes, k.owners, k.last, k.owed, k.due, k.jobs}, data).readOnly()
	}
	for n, cmd := range s.run(ctx, s.client, calls...) {
		r := readings[n]
		if r.answer, err = list("read schedules of", r.partition.Queue, cmd); err != nil {
			return err
		}
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
			owed, _ := strconv.ParseFloat(r.text(readOwed, j), 64)
			found.Since = owedSince(owed)
			addCounters(&found.Counters, r.answer.list(readCounters)[len(counterNames)*j:])
		}
	}
	return nil
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
			placed, body := r.text(readDue, j) != "", r.text(readBodies, j)
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

// isVoid reports whether a body is the mark of an occurrence that was cancelled before its instant, see scripts/lib/void.lua. A mark at a cursor, or
// of an occurrence that is shown, counts for its schedule: place.lua removes others.
func isVoid(body string) bool { return strings.HasPrefix(body, "\x00") }

// followMarks reads schedules that were found as marks from where they live. If a move is not complete, the schedule is shown as before
// the move, in its new queue: there it places its next occurrence.
func (s *store) followMarks(ctx context.Context, stored []protocol.Stored) error {
	for i := range stored {
		h, ok := parseHead(string(stored[i].Definition))
		if !ok || h.movedTo == "" {
			continue
		}
		moved, err := s.readSchedules(ctx, []string{stored[i].Name}, []foundHome{{home: home{queue: h.movedTo}}})
		if err != nil {
			return err
		}
		if there, ok := parseHead(string(moved[0].Definition)); ok && there.generation >= h.generation && there.movedTo == "" {
			stored[i] = moved[0]
			continue
		}
		stored[i].Definition, stored[i].Waiting, stored[i].Void = []byte(h.withState(h.before)), false, false
		stored[i].Left = append(stored[i].Left, stored[i].Partition)
		sizes, err := s.sizesOf(ctx, []string{h.movedTo})
		if err != nil {
			return err
		}
		stored[i].Err = sizes[h.movedTo].err
		stored[i].Partition = protocol.Partition{Queue: h.movedTo, Index: protocol.PartitionOf(stored[i].Name, sizes[h.movedTo].partitions)}
	}
	return nil
}
