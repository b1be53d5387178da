package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	firstPage   = 4      // fewest delayed jobs of a partition that the first call reads
	soonestPage = 500    // most delayed jobs of a partition, and names of owed schedules, that a command reads
	maxLooked   = 10_000 // delayed jobs of a partition that are read
)

// A comingPartition is the state of the search in a partition.
type comingPartition struct {
	keys   partitionKeys
	page   int // delayed jobs to read next
	looked int
	last   time.Time // when the last one that was read is due
	groups bool      // a job of the partition belongs to a group
	found  []protocol.Coming
	void   []protocol.Coming // whose next occurrences were cancelled: without an instant, like owed ones
	ended  bool
}

// A dueOccurrence is an occurrence among the delayed jobs.
type dueOccurrence struct {
	protocol.Coming
	instant string // planned, from its ID
}

// Soonest returns the n schedules, or fewer, whose next occurrences are due first. It also returns the schedules whose next occurrence is
// owed, or will be owed when their next occurrence, which was cancelled, is due.
// It reads the delayed jobs of each partition with schedules from the front: first twice as many as are needed of all partitions together, then more of those
// partitions that may have an earlier one, until n schedules of the partition are found or maxLooked jobs were read. A job that is not the occurrence at its
// schedule's cursor is a retry or belongs to no schedule. Then it reads which of about maxLooked schedules wait for the turns of their groups: their next
// occurrences are overdue, and not among the delayed jobs.
func (s *store) Soonest(ctx context.Context, n int, queues []protocol.QueueSize) ([]protocol.Coming, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	var all, owed []protocol.Coming
	for cursor := ""; ; {
		some, next, err := queues, "", error(nil)
		if queues == nil {
			some, next, err = s.Queues(ctx, cursor)
		}
		if err != nil {
			return nil, err
		}
		var partitions []*comingPartition
		for _, queue := range some {
			for index := range queue.Partitions {
				partitions = append(partitions, &comingPartition{keys: s.keys.partition(protocol.Partition{Queue: queue.Queue, Index: index})})
			}
		}
		for some := range slices.Chunk(partitions, maxSoonestPartitions) {
			waiting, names, err := s.soonestOf(ctx, some, n)
			if err != nil {
				return nil, err
			}
			all, owed = earliest(append(all, waiting...), n), append(owed, names...)
		}
		if cursor = next; next == "" {
			return append(owed, all...), nil
		}
	}
}

const maxSoonestPartitions = 50 // searched in a round trip

// earliest sorts schedules by their instants and returns the first n.
func earliest(all []protocol.Coming, n int) []protocol.Coming {
	slices.SortFunc(all, func(a, b protocol.Coming) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Name, b.Name)) })
	return all[:min(n, len(all))]
}

// soonestOf searches partitions.
func (s *store) soonestOf(ctx context.Context, partitions []*comingPartition, n int) (waiting, owed []protocol.Coming, err error) {
	for _, p := range partitions {
		p.page = min(max(2*n/len(partitions), firstPage), soonestPage)
	}
	for left := partitions; len(left) > 0; {
		names, err := s.searchDue(ctx, left, n)
		if err != nil {
			return nil, nil, err
		}
		owed = append(owed, names...)
		enough := enoughAt(partitions, n)
		left = slices.DeleteFunc(slices.Clone(left), func(p *comingPartition) bool { return p.ended || !enough.IsZero() && p.last.After(enough) })
	}
	if err := s.searchLines(ctx, partitions); err != nil {
		return nil, nil, err
	}
	for _, p := range partitions {
		waiting, owed = append(waiting, p.found...), append(owed, p.void...)
	}
	return waiting, owed, nil
}

// enoughAt returns the instant until which n schedules were found; zero: fewer were found.
func enoughAt(partitions []*comingPartition, n int) time.Time {
	var all []time.Time
	for _, p := range partitions {
		for i := range p.found {
			all = append(all, p.found[i].At)
		}
	}
	if len(all) < n {
		return time.Time{}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all[n-1]
}

var soonestScript = scripts.Load("schedules/soonest")

// searchDue reads the next delayed jobs of partitions, with one call each. The first one returns the schedules that owe an occurrence too.
func (s *store) searchDue(ctx context.Context, partitions []*comingPartition, n int) (owed []protocol.Coming, err error) {
	calls := make([]call, len(partitions))
	for i, p := range partitions {
		k := p.keys
		calls[i] = newCall(&soonestScript, []string{k.schedules, k.owed, k.state, k.due, k.cursors, k.jobs}, []any{p.looked, p.page, soonestPage}).readOnly()
	}
	for i, cmd := range s.run(ctx, s.client, calls...) {
		answer, err := list("list delayed jobs", "", cmd)
		if err == nil && len(answer) < 5 { // a proxy may answer so
			err = failure("list delayed jobs", "", errShortAnswer)
		}
		if err != nil {
			return nil, err
		}
		p, read := partitions[i], int(answer.number(0))
		if read < 0 { // it has no schedules
			p.ended = true
			continue
		}
		p.groups = answer.number(1) == 1
		for _, name := range answer.texts(2) {
			owed = append(owed, protocol.Coming{Name: name})
		}
		found := answer.texts(3)
		for j := 0; j+1 < len(found); j += 2 {
			name, _, ok := protocol.CutOccurrence(found[j])
			switch due, err := strconv.ParseFloat(found[j+1], 64); {
			case !ok:
			case found[j+1] == "":
				p.void = append(p.void, protocol.Coming{Name: name})
			case err == nil:
				p.found = append(p.found, protocol.Coming{Name: name, At: time.UnixMilli(int64(due)).UTC()})
			}
		}
		p.looked += read
		if last, err := strconv.ParseFloat(answer.text(4), 64); err == nil {
			p.last = time.UnixMilli(int64(last)).UTC()
		}
		p.ended = len(p.found) >= n || p.looked >= maxLooked || read < p.page
		p.page = min(4*p.page, soonestPage)
	}
	return owed, nil
}

var inTurnScript = scripts.Load("schedules/in_turn")

// searchLines adds the schedules whose next occurrences wait for the turns of their groups. It comes after the search among the delayed jobs: an occurrence
// that has moved meanwhile is found twice rather than not.
func (s *store) searchLines(ctx context.Context, partitions []*comingPartition) error {
	positions := map[*comingPartition]string{}
	for _, p := range partitions {
		if p.groups {
			positions[p] = "0"
		}
	}
	for read := 0; len(positions) > 0 && read < maxLooked; read += soonestPage {
		var calls []call
		var some []*comingPartition
		for _, p := range partitions {
			if at, left := positions[p]; left {
				some = append(some, p)
				calls = append(calls, newCall(&inTurnScript, []string{p.keys.cursors, p.keys.places, p.keys.line, p.keys.crashes}, []any{at, soonestPage}).readOnly())
			}
		}
		lined := make([][]dueOccurrence, len(some))
		for i, cmd := range s.run(ctx, s.client, calls...) {
			values, err := list("list occurrences in groups", "", cmd)
			if err != nil {
				return err
			}
			p := some[i]
			if positions[p] = values.text(0); positions[p] == "0" {
				delete(positions, p)
			}
			known := map[string]bool{}
			for _, c := range slices.Concat(p.found, p.void) {
				known[c.Name] = true
			}
			for j := 1; j+1 < len(values); j += 2 {
				name, instant := values.text(j), values.text(j+1)
				if at, err := time.Parse(time.RFC3339, instant); err == nil && !known[name] {
					known[name] = true
					lined[i] = append(lined[i], dueOccurrence{protocol.Coming{Name: name, At: at}, instant})
				}
			}
		}
		if err := s.addComing(ctx, some, lined); err != nil {
			return err
		}
	}
	return nil
}

// addComing adds schedules, by the occurrences at their cursors, to the result of each partition.
func (s *store) addComing(ctx context.Context, partitions []*comingPartition, next [][]dueOccurrence) error {
	pipe := s.client.Pipeline()
	bodies := make([]*redis.SliceCmd, len(partitions))
	for i, p := range partitions {
		ids := make([]string, len(next[i]))
		for j, c := range next[i] {
			ids[j] = c.Name + "@" + c.instant
		}
		if len(ids) > 0 {
			bodies[i] = pipe.HMGet(ctx, p.keys.jobs, ids...)
		}
	}
	if pipe.Len() == 0 {
		return nil
	}
	cmds, err := pipe.Exec(ctx)
	if err := cmp.Or(err, complete(cmds...)); err != nil {
		return failure("read the next occurrences of schedules", "", err)
	}
	for i, p := range partitions {
		for j, c := range next[i] {
			if isVoid(reply(bodies[i].Val()).text(j)) {
				p.void = append(p.void, protocol.Coming{Name: c.Name})
				continue
			}
			p.found = append(p.found, c.Coming)
		}
	}
	return nil
}
