package chimetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
)

// An Occurrence is a run that a schedule plans.
type Occurrence struct {
	Schedule string    // its name
	Planned  time.Time // when it is planned to run, UTC
}

// String is the ID that the occurrence has as a job, "<schedule>@<planned instant>".
func (o Occurrence) String() string {
	return o.Schedule + "@" + o.Planned.UTC().Format(time.RFC3339)
}

// maxUpcoming is how many runs of one schedule Upcoming computes.
const maxUpcoming = 1_000_000

// Upcoming returns the runs of the stored schedules at or after from and before to, in order. It uses the present state of the schedules: a paused
// schedule has no runs, a schedule with a count has only its remaining runs, and a schedule with an end has no run after its end. With [chime.Spread]
// a run starts later than planned. Occurrences that are already placed are included. Upcoming runs no job, and no time passes. It returns runs
// unchanged even if they would overlap, fail or wait for a paused queue.
//
// A schedule that a role declares is stored when the role is started.
func (c *Chime) Upcoming(from, to time.Time) []Occurrence {
	c.t.Helper()
	if from.After(to) {
		c.t.Fatalf("chimetest: Upcoming: from %v is after to %v", from, to)
	}
	c.check()
	c.rest()
	type coming struct {
		Occurrence
		due time.Time
	}
	var all []coming
	for after := (protocol.NameRange{}); ; {
		names, last, err := c.protocol().Names(c.t.Context(), after)
		var found []protocol.Stored
		if err == nil && len(names) > 0 {
			found, err = c.protocol().Find(c.t.Context(), names)
		}
		if err != nil {
			c.t.Fatalf("chimetest: Upcoming: %v", err)
		}
		for i := range found {
			if found[i].Name == "" { // deleted meanwhile
				continue
			}
			times, offset, err := upcoming(&found[i], from, to)
			if err != nil {
				c.t.Fatalf("chimetest: Upcoming: schedule %q: %v", found[i].Name, err)
			}
			for _, at := range times {
				all = append(all, coming{Occurrence{Schedule: found[i].Name, Planned: at.UTC()}, at.Add(offset)})
			}
		}
		if after.After = last; last == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b coming) int {
		return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.Schedule, b.Schedule))
	})
	var occurrences []Occurrence
	for _, c := range all {
		occurrences = append(occurrences, c.Occurrence)
	}
	return occurrences
}

// upcoming computes the planned instants of the runs of one schedule that are due in [from, to), each offset after it.
func upcoming(stored *protocol.Stored, from, to time.Time) (times []time.Time, offset time.Duration, err error) {
	if stored.Err != nil {
		return nil, 0, stored.Err
	}
	plan, err := schedule.Compile(stored.Definition)
	if err != nil {
		return nil, 0, err
	}
	for n := 100; ; n *= 10 {
		times = plan.UpcomingOf(stored, n)
		if len(times) < n || !times[n-1].Before(to) {
			break
		}
		if n == maxUpcoming {
			return nil, 0, fmt.Errorf("it has more than %d runs before %v: use a shorter time", maxUpcoming, to)
		}
	}
	return slices.DeleteFunc(times, func(at time.Time) bool {
		due := at.Add(plan.Offset)
		return due.Before(from) || !due.Before(to)
	}), plan.Offset, nil
}
