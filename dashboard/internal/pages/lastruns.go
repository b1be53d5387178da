package pages

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/history"
	"github.com/chimejobs/chime/internal/plain"
)

// A PastRun is a run that has ended.
type PastRun struct {
	Schedule       string
	Queue, ID      string // the queue and ID of its job; empty: not known
	Planned, Ended time.Time
	Outcome        plain.State
	Fence          int64 // of its attempt: several attempts may end in one millisecond
}

// lastRuns caches the runs that ended last. The newest n of all runs are among the newest n of the n schedules whose runs ended last. The runs of such
// a schedule are read again when another one has ended. The zero value is empty.
type lastRuns struct {
	mu    sync.Mutex
	known map[string]knownRuns
}

// knownRuns are the newest runs of a schedule, read after its last run had ended.
type knownRuns struct {
	last chime.LastRun
	runs []PastRun
}

// read returns the newest n runs of the schedules of a listing.
func (l *lastRuns) read(ctx context.Context, store chime.Store, listing Listing, n int) ([]PastRun, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ended := slices.DeleteFunc(slices.Clone(listing.Schedules), func(s ListedSchedule) bool { return s.Unread != nil || s.Last.Ended.IsZero() })
	slices.SortFunc(ended, func(a, b ListedSchedule) int {
		return cmp.Or(b.Last.Ended.Compare(a.Last.Ended), cmp.Compare(a.Name, b.Name))
	})
	ended = ended[:min(len(ended), n)]
	known, all := map[string]knownRuns{}, []PastRun{}
	var news []*chime.Schedule
	for _, s := range ended {
		if before, ok := l.known[s.Name]; ok && before.last == s.Last {
			known[s.Name] = before
		} else {
			news = append(news, s.Schedule)
		}
	}
	if err := readLast(ctx, store, news, n, known); err != nil {
		return nil, err
	}
	for _, s := range ended {
		all = append(all, known[s.Name].runs...)
	}
	l.known = known
	slices.SortStableFunc(all, func(a, b PastRun) int { return b.Ended.Compare(a.Ended) })
	return all[:min(len(all), n)], nil
}

// readLast adds the newest n runs of each schedule. If a schedule keeps no runs, its last one is still known.
func readLast(ctx context.Context, store chime.Store, schedules []*chime.Schedule, n int, known map[string]knownRuns) error {
	if len(schedules) == 0 {
		return nil
	}
	names := make([]string, len(schedules))
	for i, s := range schedules {
		names[i] = s.Name
	}
	read, err := history.Runs(ctx, store, names)
	if err != nil {
		return err
	}
	for i, s := range schedules {
		found := knownRuns{last: s.Last}
		for _, run := range read[i][:min(len(read[i]), n)] {
			found.runs = append(found.runs, PastRun{s.Name, run.Queue, run.ID, run.Planned, run.Ended, plain.Outcome(run.Outcome), run.Fence})
		}
		if len(found.runs) == 0 && read[i] != nil { // otherwise it was deleted meanwhile
			found.runs = []PastRun{{Schedule: s.Name, Planned: s.Last.Planned, Ended: s.Last.Ended, Outcome: plain.Outcome(s.Last.Outcome)}}
		}
		known[s.Name] = found
	}
	return nil
}
