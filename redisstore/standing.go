package redisstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var standingsScript = load("standings")

const maxStandings = 100 // schedules in a call of the script, which reads their definitions

// Standings returns how schedules stand that were declared before. It writes nothing.
func (s *store) Standings(ctx context.Context, asked []protocol.Address) ([]protocol.Standing, error) {
	if s.bad != nil {
		return nil, s.bad
	}
	standings := make([]protocol.Standing, len(asked))
	groups := map[protocol.Partition][]int{}
	for i, a := range asked {
		groups[a.Partition] = append(groups[a.Partition], i)
	}
	var calls []call
	var batches [][]int
	for partition, members := range groups {
		k := s.keys.partition(partition)
		for batch := range slices.Chunk(members, maxStandings) {
			names := make([]any, len(batch))
			for j, i := range batch {
				names[j] = asked[i].Name
			}
			calls, batches = append(calls, newCall(&standingsScript, []string{k.schedules}, names)), append(batches, batch)
		}
	}
	if len(calls) == 0 {
		return standings, nil
	}
	var elsewhere []int
	for b, cmd := range s.run(ctx, s.client, calls...) {
		values, err := list("read the revisions of schedules of", asked[batches[b][0]].Partition.Queue, cmd)
		if err != nil {
			return nil, err
		}
		for j, i := range batches[b] {
			switch revision := values.number(j); revision {
			case -2:
				standings[i].Unreadable = true
			case -1, 0:
				standings[i].Moved = revision == -1 // until the registry says that it lives nowhere
				elsewhere = append(elsewhere, i)
			default:
				standings[i].Revision = revision
			}
		}
	}
	return standings, s.readElsewhere(ctx, asked, standings, elsewhere)
}

// readElsewhere asks the registry about the schedules that are not where they were.
func (s *store) readElsewhere(ctx context.Context, asked []protocol.Address, standings []protocol.Standing, which []int) error {
	if len(which) == 0 {
		return nil
	}
	names := make([]string, len(which))
	for j, i := range which {
		names[j] = asked[i].Name
	}
	homes, err := s.homes(ctx, names...)
	if err != nil {
		return err
	}
	deleted := s.client.ZMScore(ctx, s.keys.deleted(), names...)
	if err := cmp.Or(deleted.Err(), complete(deleted)); err != nil {
		return failure("look up deleted schedules in", s.keys.deleted(), err)
	}
	for j, i := range which {
		s := &standings[i]
		s.Moved = homes[j].queue != "" && (s.Moved || homes[j].queue != asked[i].Partition.Queue)
		if ms := deleted.Val()[j]; ms > 0 {
			s.Deleted = time.UnixMilli(int64(ms)).UTC()
		}
	}
	return nil
}
