package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

const (
	historySchedules = 10 // jobs of a backlog for each schedule
	fullHistory      = 20 // attempts that a schedule keeps by default
)

// historyMeasure measures the server's memory for the attempts of schedules.
var historyMeasure = measure{
	name: "schedules with history", group: "schedules", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("10,000 schedules (2,000 in the short form), each of which has run %d times: what that has added to what is kept of a schedule, by "+
		"MEMORY USAGE; the last attempts of each are kept, without notes, as by default, and with KeepRuns(0) none. Its counters are apart; the record of the "+
		"runs of a queue is as long with one schedule", fullHistory),
	run: func(ctx context.Context, r *testbed, _ peer) ([]figure, error) {
		kept, counters, err := historyBytes(ctx, r, nil)
		if err != nil {
			return nil, err
		}
		if err := r.redis.empty(ctx); err != nil {
			return nil, err
		}
		none, _, err := historyBytes(ctx, r, []chime.ScheduleOption{chime.KeepRuns(0)})
		if err != nil {
			return nil, err
		}
		return []figure{
			{name: "a history adds", unit: "B", value: kept, less: true},
			{name: "without a history", unit: "B", value: none, less: true},
			{name: "the counters of one", unit: "B", value: counters, less: true},
		}, nil
	},
}

// historyBytes returns the memory of a schedule's attempts when its history is full, and the memory of its counters.
func historyBytes(ctx context.Context, r *testbed, options []chime.ScheduleOption) (grown, counters float64, err error) {
	s := openNamespace(r, "history")
	defer s.close()
	s.n = r.sizes.backlog / historySchedules
	if err := s.declare(ctx, r, func(i int) (recurrence.Recurrence, []chime.ScheduleOption) {
		return yearly(i), append([]chime.ScheduleOption{chime.JobName(jobName)}, options...)
	}); err != nil {
		return 0, 0, err
	}
	before, err := s.bytesEach(ctx, "last", "history")
	if err != nil {
		return 0, 0, err
	}
	all := make([]string, s.n)
	for i := range all {
		all[i] = scheduleName(i)
	}
	for range fullHistory {
		follow, err := s.makeDue(ctx, all)
		if err == nil {
			err = s.workOffDue(ctx, follow, takenInCall)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	after, err := s.bytesEach(ctx, "last", "history")
	if err != nil {
		return 0, 0, err
	}
	counters, err = s.bytesEach(ctx, "counters")
	return after - before, counters, err
}

// bytesEach returns the memory of some keys together, divided by the number of schedules.
func (s *namespace) bytesEach(ctx context.Context, names ...string) (float64, error) {
	var all int64
	for _, name := range names {
		bytes, err := s.client.MemoryUsage(ctx, s.key(name), 0).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return 0, err
		}
		all += bytes
	}
	return float64(all) / float64(s.n), nil
}
