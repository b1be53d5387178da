package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	dueAtOnce   = 1_000 // occurrences that run between two readings of the server's CPU time
	costRounds  = 7
	takenInCall = 100 // in batches
)

// occurrenceCosts measures the server CPU of one occurrence, one at a time and in batches, and compares it with few schedules.
// Both namespaces take turns, so that other load on the machine affects both.
func occurrenceCosts(ctx context.Context, r *testbed, few, many *namespace) ([]figure, error) {
	var figures []figure
	for _, way := range []struct {
		name string
		take int
	}{{"alone", 1}, {"in batches", takenInCall}} {
		var costs, ratios []float64
		for range costRounds {
			small, err := few.runSome(ctx, r, way.take)
			if err != nil {
				return nil, err
			}
			large, err := many.runSome(ctx, r, way.take)
			if err != nil {
				return nil, err
			}
			costs, ratios = append(costs, large), append(ratios, large/small)
		}
		figures = append(figures,
			figure{name: "an occurrence " + way.name, unit: "µs", value: middle(costs), less: true},
			figure{name: "an occurrence " + way.name + " to one of " + fmt.Sprint(fewSchedules), unit: "×", value: middle(ratios), less: true})
	}
	return figures, nil
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// runSome makes occurrences of some random schedules due, takes and settles a number of them in each call, places what
// follows them, and returns the server CPU of one, in microseconds.
func (s *namespace) runSome(ctx context.Context, r *testbed, take int) (float64, error) {
	names := make([]string, 0, dueAtOnce)
	for _, i := range rand.Perm(s.n)[:min(dueAtOnce, s.n)] {
		names = append(names, scheduleName(i))
	}
	follow, err := s.makeDue(ctx, names)
	if err != nil {
		return 0, err
	}
	before, err := r.redis.usage(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.workOffDue(ctx, follow, take); err != nil {
		return 0, err
	}
	after, err := r.redis.usage(ctx)
	if err != nil {
		return 0, err
	}
	return micros(after.since(before).cpu) / float64(len(names)), nil
}

// makeDue places an occurrence of its creation for each schedule beside the one of next month, which its worker then places again.
func (s *namespace) makeDue(ctx context.Context, names []string) (follow map[string]protocol.Placement, err error) {
	stored, err := s.store.Protocol().Find(ctx, names)
	if err != nil {
		return nil, err
	}
	follow = make(map[string]protocol.Placement, len(names))
	due := make([]protocol.Placement, len(names))
	for i, found := range stored {
		var head struct {
			Revision int64
			Created  time.Time
		}
		if err := json.Unmarshal(found.Definition, &head); err != nil {
			return nil, fmt.Errorf("schedule %q: %w", found.Name, err)
		}
		next := protocol.Placement{Partition: found.Partition, Name: found.Name, Revision: head.Revision, Instants: []time.Time{found.Cursor.At}}
		follow[found.Name] = next
		due[i] = next
		due[i].Cursor, due[i].Instants = found.Cursor, []time.Time{head.Created}
	}
	for _, answer := range s.store.Protocol().Place(ctx, due) {
		if answer.Err != nil || answer.Placed != 1 {
			return nil, fmt.Errorf("make schedules due: %+v", answer)
		}
	}
	return follow, nil
}

// workOffDue makes the calls of a worker whose handlers take no time.
func (s *namespace) workOffDue(ctx context.Context, follow map[string]protocol.Placement, take int) error {
	call := protocol.WorkCall{
		Partition: protocol.Partition{Queue: "default"}, Worker: "bench", Session: fmt.Sprintf("%016x", rand.Uint64()),
		TTL: sessionTTL, Take: take,
	}
	for ran := 0; ; {
		call.Number++
		answer := s.store.Protocol().Work(ctx, []protocol.WorkCall{call})[0]
		if answer.Err != nil {
			return answer.Err
		}
		if len(answer.Refused) > 0 {
			return errors.New("an occurrence was taken by somebody else")
		}
		for _, placed := range answer.Placed {
			if placed.Err != nil || placed.Placed != 1 {
				return fmt.Errorf("place what follows: %+v", placed)
			}
		}
		if ran += len(answer.Taken); len(answer.Taken) == 0 {
			if ran != len(follow) {
				return fmt.Errorf("%d of %d occurrences ran", ran, len(follow))
			}
			return s.store.Protocol().CloseSession(ctx, call.Partition, call.Session, nil)
		}
		call.Settle, call.Place = call.Settle[:0], call.Place[:0]
		for _, job := range answer.Taken {
			call.Settle = append(call.Settle, protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone, Run: &protocol.RunRecord{
				Started: answer.Now, Ended: answer.Now, Outcome: "done", Attempt: 1, Fence: job.Fence, Worker: "BENCHBENCHBENCHBENCHBENCHB",
			}})
		}
		for _, owed := range answer.Owed {
			next := follow[owed.Name]
			next.Cursor = owed.Cursor
			call.Place = append(call.Place, next)
		}
	}
}
