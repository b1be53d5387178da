package redisstore

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var mendScript = scripts.Load("repair/mend")

const maxMend = 500 // schedules that one call of Mend looks at

// Mend looks at the schedules of some entries of the registry, those after the entry cursor, where they live, and lets those go on that
// stand nowhere. It returns the last entry; at the end that is empty. A partition that fails is named in the error and hides no other.
func (s *store) Mend(ctx context.Context, cursor string) (next string, mended []protocol.Mended, err error) {
	if s.bad != nil {
		return "", nil, s.bad
	}
	from := "-"
	if cursor != "" {
		from = "(" + cursor
	}
	members, err := s.client.ZRangeByLex(ctx, s.keys.registry(), &redis.ZRangeBy{Min: from, Max: "+", Count: maxMend}).Result()
	if err != nil {
		return "", nil, failure("list schedules in", s.keys.registry(), err)
	}
	names, homes, queues := make([]string, len(members)), make([]home, len(members)), make([]string, len(members))
	for i, member := range members {
		names[i], homes[i], _ = parseMember(member) // Names logs an entry that cannot be read
		queues[i] = homes[i].queue
	}
	if len(members) == maxMend {
		next = members[maxMend-1]
	}
	sizes, err := s.sizesOf(ctx, queues)
	if err != nil {
		return next, nil, err
	}
	byPartition := map[protocol.Partition][]any{}
	for i, name := range names {
		size := sizes[homes[i].queue]
		if homes[i].queue == "" || size.err != nil {
			continue
		}
		p := protocol.Partition{Queue: homes[i].queue, Index: protocol.PartitionOf(name, size.partitions)}
		byPartition[p] = append(byPartition[p], name)
	}
	var failed []error
	for len(byPartition) > 0 {
		var partitions []protocol.Partition
		var calls []call
		for p, names := range byPartition {
			k := s.keys.partition(p)
			partitions = append(partitions, p)
			calls = append(calls, newCall(&mendScript, []string{k.owed, k.open, k.schedules, k.cursors, k.due, k.counters, k.state}, names))
		}
		byPartition = map[protocol.Partition][]any{}
		for i, cmd := range s.run(ctx, s.client, calls...) {
			values, err := list("mend schedules of", partitions[i].Queue, cmd)
			if err != nil {
				failed = append(failed, err)
			}
			if left := values.list(0); len(left) > 0 { // the others have long definitions
				byPartition[partitions[i]] = left
			}
			for j := 1; j+1 < len(values); j += 2 {
				mended = append(mended, protocol.Mended{Name: values.text(j), Queue: partitions[i].Queue, Reason: reasons[values.text(j+1)]})
			}
		}
	}
	return next, mended, errors.Join(failed...)
}

// reasons are what the script answers, in words.
var reasons = map[string]string{
	"held":   "it waited for the end of a run that nobody runs",
	"due":    "its next occurrence was lost",
	"owed":   "nobody was to place its next occurrence",
	"cursor": "its cursor was lost, or could not be read",
}
