package chime

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

const (
	maxUpcoming = 1000
	maxSoonest  = 500
)

// Upcoming returns the planned instants of a schedule's next n runs, n from 1 to 1000, as it stands: fewer if its count or its end comes
// before that, none if it is paused or has completed; ErrNotFound if there is none of that name. An occurrence that is placed and that
// nobody has taken yet is the first of them, also where its instant has passed; so are those that are caught up. One that was cancelled is none of them. With a [Spread] each is due
// [Schedule.Offset] later. Nothing is placed for it, and whether a run will be skipped because the last one is not over nobody knows.
func (s *Schedules) Upcoming(ctx context.Context, name string, n int) ([]time.Time, error) {
	err := s.check(ctx, name)
	if err == nil && (n < 1 || n > maxUpcoming) {
		err = protocol.Invalid("n", strconv.Itoa(n), fmt.Sprintf("1 to %d", maxUpcoming))
	}
	if err != nil {
		return nil, fmt.Errorf("chime: upcoming runs of a schedule: %w", err)
	}
	found, plan, err := s.readPlan(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("chime: upcoming runs of schedule %q: %w", name, err)
	}
	return plan.UpcomingOf(&found, n), nil
}

// Soonest returns the n live schedules, 1 to 500, whose next occurrences are due first, over all queues, in that order; fewer if there are
// not so many. One that is owed its next occurrence, because the last one was taken a moment ago, stands where that will be, and has it as
// Next. A schedule that this program cannot read is left out; List tells of it.
//
// It looks at no more than 10,000 delayed jobs of each partition of a queue, and at 500 schedules that are owed: where more jobs than that
// wait for a retry, or where a backlog was declared a moment ago, schedules may be missing.
func (s *Schedules) Soonest(ctx context.Context, n int) ([]*Schedule, error) {
	err := s.usable(ctx)
	if err == nil && (n < 1 || n > maxSoonest) {
		err = protocol.Invalid("n", strconv.Itoa(n), fmt.Sprintf("1 to %d", maxSoonest))
	}
	if err != nil {
		return nil, fmt.Errorf("chime: soonest schedules: %w", err)
	}
	all, err := s.soonest(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("chime: soonest schedules: %w", err)
	}
	return all, nil
}

// soonest reads the schedules that the store names. An occurrence may be taken meanwhile: then its schedule is owed the next one.
func (s *Schedules) soonest(ctx context.Context, n int) ([]*Schedule, error) {
	coming, err := s.store.Soonest(ctx, n)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(coming))
	for i := range coming {
		names[i] = coming[i].Name
	}
	slices.Sort(names)
	found, err := s.store.Find(ctx, slices.Compact(names))
	if err != nil {
		return nil, err
	}
	var all []*Schedule
	for i := range found {
		if found[i].Name == "" {
			continue
		}
		one, err := stored(found[i])
		if err != nil || one.State != StateLive {
			continue
		}
		if one.Next.IsZero() {
			plan, err := schedule.Compile(found[i].Definition)
			if err != nil {
				continue
			}
			next := plan.UpcomingOf(&found[i], 1)
			if len(next) == 0 {
				continue
			}
			one.Next = next[0]
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *Schedule) int {
		return cmp.Or(a.Next.Add(a.Offset).Compare(b.Next.Add(b.Offset)), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(n, len(all))], nil
}
