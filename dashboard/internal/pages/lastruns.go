package pages

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/plain"
)

// A PastRun is a run that has ended.
type PastRun struct {
	Schedule       string
	Queue, ID      string // of its job; empty: not known
	Planned, Ended time.Time
	Outcome        plain.State
}

// lastRuns are the runs that ended last. The newest n of all schedules are among the newest n of the n schedules that ended one last; each of
// these is read when it has ended another one. The zero value knows none.
type lastRuns struct {
	mu    sync.Mutex
	known map[string]knownRuns
}

// knownRuns are the newest runs of a schedule, as they were when its last one had ended.
type knownRuns struct {
	last chime.LastRun
	runs []PastRun
}

// read returns the newest n runs of the schedules of a listing.
func (l *lastRuns) read(ctx context.Context, schedules *chime.Schedules, listing Listing, n int) ([]PastRun, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ended := slices.DeleteFunc(slices.Clone(listing.Schedules), func(s ListedSchedule) bool { return s.Unread != nil || s.Last.Ended.IsZero() })
	slices.SortFunc(ended, func(a, b ListedSchedule) int {
		return cmp.Or(b.Last.Ended.Compare(a.Last.Ended), cmp.Compare(a.Name, b.Name))
	})
	ended = ended[:min(len(ended), n)]
	known, all := map[string]knownRuns{}, []PastRun{}
	var group sync.WaitGroup
	read, failed := make([]knownRuns, len(ended)), make([]error, len(ended))
	for i, s := range ended {
		if before, ok := l.known[s.Name]; ok && before.last == s.Last {
			read[i] = before
			continue
		}
		group.Go(func() { read[i], failed[i] = readRuns(ctx, schedules, s.Schedule, n) })
	}
	group.Wait()
	if err := cmp.Or(failed...); err != nil {
		return nil, err
	}
	for i, s := range ended {
		known[s.Name] = read[i]
		all = append(all, read[i].runs...)
	}
	l.known = known
	slices.SortStableFunc(all, func(a, b PastRun) int { return b.Ended.Compare(a.Ended) })
	return all[:min(len(all), n)], nil
}

// readRuns reads the newest n runs of a schedule. Of one that keeps none, the last is known all the same.
func readRuns(ctx context.Context, schedules *chime.Schedules, s *chime.Schedule, n int) (knownRuns, error) {
	found := knownRuns{last: s.Last}
	for run, err := range schedules.Runs(ctx, s.Name) {
		switch {
		case errors.Is(err, chime.ErrNotFound): // it was deleted meanwhile
			return found, nil
		case err != nil:
			return found, err
		}
		if len(found.runs) < n {
			found.runs = append(found.runs, PastRun{s.Name, run.Queue, run.ID, run.Planned, run.Ended, plain.Outcome(run.Outcome)})
		}
	}
	if len(found.runs) == 0 {
		found.runs = []PastRun{{Schedule: s.Name, Planned: s.Last.Planned, Ended: s.Last.Ended, Outcome: plain.Outcome(s.Last.Outcome)}}
	}
	return found, nil
}
