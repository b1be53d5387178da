package redisstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var (
	copiesScript = scripts.Load("schedules/copies")
	barScript    = scripts.Load("schedules/bar")
	raiseScript  = scripts.Load("schedules/raise")
)

const copyValues = 7 // values that the script returns for one schedule

// A judged schedule has the data that was read about a schedule, in the order that schedules_survivor.go requires.
type judged struct {
	protocol.Address
	copy    copyRead
	entry   home
	err     error // why the entry cannot be read
	there   copyRead
	removal removalRead
}

func (j *judged) survival() survival {
	if j.err != nil {
		return survives
	}
	if j.copy.kind == markCopy {
		return judgeMark(j.copy, j.entry, j.there, j.removal)
	}
	return judgeCopy(j.copy, j.entry, j.there, j.removal)
}

// readCopies reads what partitions have of schedules; readOnly: for a user who may not write.
func (s *store) readCopies(ctx context.Context, asked []protocol.Address, readOnly bool) ([]copyRead, error) {
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
			c := newCall(&copiesScript, []string{k.schedules, k.gone, k.owners}, names)
			if readOnly {
				c = c.readOnly()
			}
			calls, batches = append(calls, c), append(batches, batch)
		}
	}
	read := make([]copyRead, len(asked))
	if len(calls) == 0 {
		return read, nil
	}
	for b, cmd := range s.run(ctx, s.client, calls...) {
		values, err := list("read the schedules of", asked[batches[b][0]].Partition.Queue, cmd)
		if err != nil {
			return nil, err
		}
		for j, i := range batches[b] {
			read[i] = parseCopy(asked[i].Partition.Queue, values[copyValues*j:])
		}
	}
	return read, nil
}

func parseCopy(queue string, values reply) copyRead {
	c := copyRead{queue: queue, generation: values.number(1), revision: values.number(2), movedTo: values.text(4), gone: values.number(5), owner: parseOwner(values.text(6))}
	c.created, _ = time.Parse(time.RFC3339, values.text(3))
	c.kind = map[string]copyKind{"definition": definitionCopy, "mark": markCopy, "unreadable": unreadableCopy}[values.text(0)]
	return c
}

// readHomes reads what decides about schedules in these places.
func (s *store) readHomes(ctx context.Context, asked []protocol.Address, readOnly bool) ([]judged, error) {
	copies, err := s.readCopies(ctx, asked, readOnly)
	if err != nil {
		return nil, err
	}
	names, all := make([]string, len(asked)), make([]judged, len(asked))
	for i, a := range asked {
		names[i], all[i] = a.Name, judged{Address: a, copy: copies[i]}
	}
	homes, err := s.lookUpHomes(ctx, names...)
	if err != nil {
		return nil, err
	}
	queues := make([]string, len(homes))
	for i := range homes {
		all[i].entry, all[i].err, queues[i] = homes[i].home, homes[i].err, homes[i].queue
	}
	sizes, err := s.sizesOf(ctx, queues)
	if err != nil {
		return nil, err
	}
	var which []int
	var places []protocol.Address
	for i := range all {
		size := sizes[queues[i]]
		if all[i].err = cmp.Or(all[i].err, size.err); all[i].err == nil && queues[i] != "" {
			p := protocol.Partition{Queue: queues[i], Index: protocol.PartitionOf(names[i], size.partitions)}
			which, places = append(which, i), append(places, protocol.Address{Partition: p, Name: names[i]})
		}
	}
	there, err := s.readCopies(ctx, places, readOnly)
	if err != nil {
		return nil, err
	}
	for j, i := range which {
		all[i].there = there[j]
	}
	return all, s.readRemovals(ctx, names, all)
}

func (s *store) readRemovals(ctx context.Context, names []string, all []judged) error {
	owners := make([]string, len(all))
	for i := range all {
		owners[i] = all[i].copy.owner.Name
	}
	pruned, err := s.prunings(ctx, owners)
	if err != nil {
		return err
	}
	members := slices.Grow(slices.Clone(names), len(names))
	for _, name := range names {
		members = append(members, removed(name))
	}
	instants, err := s.lookUpInstants(ctx, members)
	if err != nil {
		return err
	}
	intended, done := instants[:len(names)], instants[len(names):]
	for i := range all {
		all[i].removal = removalRead{intended: intended[i], done: done[i], pruned: pruned[owners[i]].version, prunedAt: pruned[owners[i]].at}
	}
	return nil
}

// settleHomes reads what decides about schedules in these places, and carries it out. moves: it may also complete a move that it finds.
func (s *store) settleHomes(ctx context.Context, asked []protocol.Address, moves bool) error {
	if len(asked) == 0 {
		return nil
	}
	slices.SortFunc(asked, func(a, b protocol.Address) int { return strings.Compare(a.Name, b.Name) }) // so that the registry is read with few commands
	all, err := s.readHomes(ctx, asked, false)
	if err != nil {
		return err
	}
	var lost []judged
	for i := range all {
		switch is := all[i].survival(); is {
		case survives:
		case isRegistered:
			lost = append(lost, all[i])
		case waitsForMove:
			if moves {
				_, err = s.settle(ctx, all[i].Name, all[i].there)
			}
		default:
			err = s.carryOut(ctx, &all[i], is)
		}
		if err != nil {
			return err
		}
	}
	return s.registerLost(ctx, lost)
}

// carryOut takes the steps for one copy that is not registered. Every step compares again; if a process ends between two of them, the next reading
// finds the same case, or the copy in its place.
//
// Model: SWEEP in models/home.pml.
func (s *store) carryOut(ctx context.Context, j *judged, is survival) error {
	var err error
	did := ""
	switch is {
	case isRemoved:
		did = "a deleted schedule has come back: it is deleted again"
		if j.entry.queue == j.copy.queue {
			err = s.endRemoval(ctx, j.Name, j.entry)
		} else {
			_, err = s.removeAt(ctx, j.Name, j.copy.home(), "")
		}
	case yields:
		did = "a schedule lived in two queues: it lives only where the registry has it"
		_, err = s.beginMoveWith(ctx, j.Name, j.copy.home(), j.entry.queue, 0, nil, true)
	case endsRemoval:
		did = "the deletion of a schedule was interrupted: it is completed"
		err = s.endRemoval(ctx, j.Name, j.entry)
	case takesHome:
		did = "the queue of a schedule has lost it: it lives where it is still stored"
		err = s.takeHome(ctx, j)
	}
	if err == nil && did != "" {
		s.options.Logger.WarnContext(ctx, "redisstore: "+did, "event", "schedule.lost", "schedule", j.Name, "queue", j.copy.queue)
	}
	return err
}

// takeHome makes the registry name a copy, in three steps: 1. The queue that has lost the schedule is barred, so that no late step writes it there.
// 2. The copy gets a generation above the registry's. 3. The registry's entry is compared and replaced.
//
// Model: TAKEHOME in models/home.pml.
func (s *store) takeHome(ctx context.Context, j *judged) error {
	from, err := s.partitionOf(ctx, j.entry.queue, j.Name)
	if err != nil {
		return err
	}
	k := s.keys.partition(from)
	barred, err := s.run(ctx, s.client, newCall(&barScript, []string{k.schedules, k.gone, k.state}, []any{j.Name, j.entry.generation}))[0].Int64()
	if err != nil {
		return failure("bar schedule", j.Name, err)
	}
	if barred == 0 {
		return nil
	}
	raised, err := s.raise(ctx, j.Address, j.copy.generation, j.entry.generation)
	if err == nil && raised > 0 {
		_, err = s.changeHome(ctx, j.Name, j.entry, home{j.copy.queue, raised})
	}
	return err
}

// raise gives a definition of a generation a new one, above floor; 0: another one is stored there, or none.
func (s *store) raise(ctx context.Context, at protocol.Address, generation, floor int64) (int64, error) {
	k := s.keys.partition(at.Partition)
	raised, err := s.run(ctx, s.client, newCall(&raiseScript, []string{k.schedules, k.state}, []any{at.Name, generation, floor}))[0].Int64()
	if err != nil {
		return 0, failure("raise the generation of schedule", at.Name, err)
	}
	return raised, nil
}

// endRemoval completes a deletion, with the registry's entry.
func (s *store) endRemoval(ctx context.Context, name string, entry home) error {
	if err := s.finishRemoval(ctx, name, entry); err != nil {
		return err
	}
	_, err := s.changeHome(ctx, name, entry, home{})
	return err
}

// settleAbsent completes the deletion of a schedule that the registry names, but whose queue has no definition. Where there was none, or
// it was lost, it changes nothing: another queue may have the last copy.
//
// Model: MAYFINISH in models/home.pml.
func (s *store) settleAbsent(ctx context.Context, name string, entry home) error {
	p, err := s.partitionOf(ctx, entry.queue, name)
	if err != nil {
		return err
	}
	there, err := s.readCopies(ctx, []protocol.Address{{Partition: p, Name: name}}, false)
	if err != nil {
		return err
	}
	all := []judged{{copy: there[0]}}
	if err := s.readRemovals(ctx, []string{name}, all); err != nil {
		return err
	}
	// the record of an owner without a definition: a pruning has deleted it
	pruned := there[0].kind == noCopy && there[0].owner.Name != "" && there[0].gone > entry.generation
	if pruned || all[0].removal.hasBegun(there[0], entry) {
		return s.finishRemoval(ctx, name, entry)
	}
	return nil
}

// registerLost writes the registry entries of copies that are still there.
func (s *store) registerLost(ctx context.Context, all []judged) error {
	if len(all) == 0 {
		return nil
	}
	addresses := make([]protocol.Address, len(all))
	for i := range all {
		addresses[i] = all[i].Address
	}
	// A move or a deletion removes the definition first and changes the registry last. So if a definition is still there, its entry is lost.
	read, err := s.readCopies(ctx, addresses, false)
	if err != nil {
		return err
	}
	var args []any
	var homes []home
	for i, c := range read {
		if c.kind == definitionCopy && c.generation == all[i].copy.generation {
			args, homes = append(args, all[i].Name, c.queue, c.generation), append(homes, c.home())
		}
	}
	if len(homes) == 0 {
		return nil
	}
	values, err := s.runOne(ctx, "register schedules in", s.keys.registry(), newCall(&registerSchedulesScript, []string{s.keys.registry()}, args))
	if err != nil {
		return err
	}
	again := 0
	for i, h := range homes {
		if (home{values.text(2 * i), values.number(2*i + 1)}) == h {
			again++
		}
	}
	if again > 0 {
		s.options.Logger.WarnContext(ctx, "redisstore: the registry has lost schedules that are stored: they are registered again",
			"event", "schedule.lost", "count", again)
	}
	return nil
}

// suspects returns the residents for which the registry or a deletion may require a step.
func (s *store) suspects(ctx context.Context, residents []resident) ([]protocol.Address, error) {
	args, owners := []any{"zmscore", s.keys.registry()}, []string(nil)
	for _, r := range residents {
		args = append(args, home{r.Partition.Queue, r.generation}.member(r.Name))
		if r.owner.Name != "" && !slices.Contains(owners, r.owner.Name) {
			owners = append(owners, r.owner.Name)
		}
	}
	registered := redis.NewSliceCmd(ctx, args...)
	err := s.client.Process(ctx, registered)
	if err == nil {
		err = complete(registered)
	}
	if err != nil {
		return nil, failure("look up schedules in", s.keys.registry(), err)
	}
	var names []string // of the registered ones: the others are suspects anyway
	for i, r := range residents {
		if registered.Val()[i] != nil {
			names = append(names, r.Name)
		}
	}
	done, err := s.lookUpRemoved(ctx, names)
	if err != nil {
		return nil, err
	}
	pruned, err := s.prunings(ctx, owners)
	if err != nil {
		return nil, err
	}
	var found []protocol.Address
	for i, r := range residents {
		suspect := registered.Val()[i] == nil
		if !suspect {
			suspect, done = done[0] > 0, done[1:]
		}
		if suspect || pruned[r.owner.Name].version > r.owner.Version {
			found = append(found, r.Address)
		}
	}
	return found, nil
}
