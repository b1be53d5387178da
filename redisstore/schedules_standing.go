package redisstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

var standingsScript = scripts.Load("schedules/standings")

const maxStandings = 100 // schedules in a call of the script, which reads their definitions

// Standings returns the state of schedules that were declared before. It writes nothing but lost registry entries.
func (s *store) Standings(ctx context.Context, asked []protocol.Address) ([]protocol.Standing, error) {
	if len(asked) == 0 || s.bad != nil {
		return nil, s.bad
	}
	read, err := s.readRevisions(ctx, asked)
	if err != nil {
		return nil, err
	}
	standings := make([]protocol.Standing, len(asked))
	var elsewhere []int
	var living []resident
	for i, r := range read {
		switch r.revision {
		case -2:
			standings[i].Unreadable = true
		case -1, 0:
			standings[i].Moved = r.revision == -1 // until the registry shows that it lives nowhere
			elsewhere = append(elsewhere, i)
		default:
			standings[i].Revision = r.revision
			living = append(living, resident{Address: asked[i], generation: r.generation})
		}
	}
	if err := s.readElsewhere(ctx, asked, standings, elsewhere); err != nil {
		return nil, err
	}
	for i, r := range read {
		if r.revision == -1 && !standings[i].Moved { // not in the registry: it was deleted meanwhile, or the entry is lost
			found, ok, err := s.followMark(ctx, asked[i], r)
			if err != nil {
				return nil, err
			}
			if standings[i].Moved = ok; ok {
				living = append(living, found)
			}
		}
	}
	if err := s.readDeleted(ctx, asked, standings, read); err != nil {
		return nil, err
	}
	return standings, s.registerAgain(ctx, living)
}

// A revisionRead is the script's answer for a schedule: its revision, or 0, -1 or -2, see the script; its generation; for a mark, the queue
// to which the schedule moves.
type revisionRead struct {
	revision, generation int64
	movedTo              string
}

// readRevisions reads the revisions of schedules where they were declared.
func (s *store) readRevisions(ctx context.Context, asked []protocol.Address) ([]revisionRead, error) {
	return s.callStandings(ctx, asked, false)
}

// callStandings is readRevisions; readOnly: for a user who may not write.
func (s *store) callStandings(ctx context.Context, asked []protocol.Address, readOnly bool) ([]revisionRead, error) {
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
			c := newCall(&standingsScript, []string{k.schedules}, names)
			if readOnly {
				c = c.readOnly()
			}
			calls, batches = append(calls, c), append(batches, batch)
		}
	}
	read := make([]revisionRead, len(asked))
	for b, cmd := range s.run(ctx, s.client, calls...) {
		values, err := list("read the revisions of schedules of", asked[batches[b][0]].Partition.Queue, cmd)
		if err != nil {
			return nil, err
		}
		for j, i := range batches[b] {
			read[i] = revisionRead{values.number(3 * j), values.number(3*j + 1), values.text(3*j + 2)}
		}
	}
	return read, nil
}

// followMark follows the marks of a schedule to where it lives, without the registry.
func (s *store) followMark(ctx context.Context, at protocol.Address, mark revisionRead) (found resident, ok bool, err error) {
	for range maxMovesFollowed {
		sizes, err := s.sizesOf(ctx, []string{mark.movedTo})
		if err != nil || sizes[mark.movedTo].err != nil {
			return resident{}, false, cmp.Or(err, sizes[mark.movedTo].err)
		}
		at.Partition = protocol.Partition{Queue: mark.movedTo, Index: protocol.PartitionOf(at.Name, sizes[mark.movedTo].partitions)}
		read, err := s.readRevisions(ctx, []protocol.Address{at})
		if err != nil || read[0].generation < mark.generation { // it has not arrived, or was deleted there
			return resident{}, false, err
		}
		if mark = read[0]; mark.revision > 0 {
			return resident{Address: at, generation: mark.generation}, true, nil
		}
	}
	return resident{}, false, failure("find schedule", at.Name, errKeepMoving)
}

// readElsewhere looks up schedules in the registry that are not where they were.
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
	for j, i := range which {
		s := &standings[i]
		s.Moved = homes[j].queue != "" && (s.Moved || homes[j].queue != asked[i].Partition.Queue)
	}
	return nil
}

// readDeleted reads when schedules were deleted. If a schedule still exists although a deletion was recorded after its generation was
// drawn, that deletion has not ended: it is not reported.
func (s *store) readDeleted(ctx context.Context, asked []protocol.Address, standings []protocol.Standing, read []revisionRead) error {
	names := make([]string, len(asked))
	for i := range asked {
		names[i] = asked[i].Name
	}
	deleted, err := s.lookUpDeleted(ctx, names)
	if err != nil {
		return err
	}
	for i := range asked {
		if ms := deleted[i]; ms > 0 && !standings[i].Moved && (standings[i].Revision == 0 || ms*1000 <= read[i].generation) {
			standings[i].Deleted = time.UnixMilli(ms).UTC()
		}
	}
	return nil
}
