package main

import (
	"context"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

const (
	historySchedules = 10 // a schedule for so many jobs of a backlog
	fullHistory      = 20 // attempts that are kept of a schedule unless it says otherwise
)

// historyMeasure has what the attempts of schedules take in the server.
var historyMeasure = measure{
	name: "schedules with history", group: "schedules", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("10,000 schedules (2,000 in the short form), each of which has run %d times: what that has added to what they take in the "+
		"server; the last attempts of each are kept, without notes, as by default, and with KeepRuns(0) none", fullHistory),
	run: func(ctx context.Context, r *testbed, _ peer) ([]figure, error) {
		var figures []figure
		for _, way := range []struct {
			name    string
			options []chime.ScheduleOption
		}{{"a history adds", nil}, {"without a history", []chime.ScheduleOption{chime.KeepRuns(0)}}} {
			if err := r.redis.empty(ctx); err != nil {
				return nil, err
			}
			bytes, err := historyBytes(ctx, r, way.options)
			if err != nil {
				return nil, err
			}
			figures = append(figures, figure{name: way.name, unit: "B", value: bytes, less: true})
		}
		return figures, nil
	},
}

// historyBytes is by how much a schedule has grown once it has run as often as its history tells.
func historyBytes(ctx context.Context, r *testbed, options []chime.ScheduleOption) (float64, error) {
	// A first occurrence leaves behind what does not grow with their number.
	few, err := declareMany(ctx, r, "few", fullHistory)
	if err != nil {
		return 0, err
	}
	defer few.close()
	if _, err := few.runSome(ctx, r, takenInCall); err != nil {
		return 0, err
	}
	s := openNamespace(r, "history")
	defer s.close()
	s.n = r.sizes.backlog / historySchedules
	if err := s.declare(ctx, r, func(i int) (recurrence.Recurrence, []chime.ScheduleOption) {
		return yearly(i), append([]chime.ScheduleOption{chime.JobName(jobName)}, options...)
	}); err != nil {
		return 0, err
	}
	before, err := r.redis.usage(ctx)
	if err != nil {
		return 0, err
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
			return 0, err
		}
	}
	after, err := r.redis.usage(ctx)
	return float64(after.memory-before.memory) / float64(s.n), err
}
