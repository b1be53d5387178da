package redisstore

import (
	"context"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

var countGroupsScript = scripts.Load("groups/count_groups")

// CountGroups counts the next groups with jobs that wait. It registers nothing and writes nothing. A call takes about as long as a page of the list.
func (s *store) CountGroups(ctx context.Context, queue, after string) (sum protocol.GroupSum, err error) {
	if after != "" {
		if err := protocol.CheckID("after", after); err != nil {
			return sum, err
		}
	}
	p, err := s.groupQueue(ctx, queue, false)
	if err != nil {
		return sum, err
	}
	k := s.keys.partition(p)
	keys, args := []string{k.state, k.line, k.groups, k.grules}, []any{after, protocol.MaxItems}
	values, err := s.runOne(ctx, "count groups of", queue, newCall(&countGroupsScript, keys, args).readOnly())
	if err != nil && strings.Contains(err.Error(), timeIsAWrite) {
		values, err = s.runOne(ctx, "count groups of", queue, newCall(&countGroupsScript, keys, args))
	}
	if err != nil {
		return sum, err
	}
	sum.Now, sum.Next = values.now(), values.text(1)
	for i, kind := range []*protocol.GroupTally{&sum.MayStart, &sum.Paused, &sum.Ordered, &sum.Running, &sum.Starts} {
		at := 2 + 3*i
		*kind = protocol.GroupTally{Groups: values.number(at), Since: placeTime(values.text(at + 1)), Key: values.text(at + 2)}
	}
	return sum, nil
}
