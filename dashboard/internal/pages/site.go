package pages

import (
	"context"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
)

// readAgain is how old what all pages have in common may be: as long as two turns of the live pages' poller are apart.
const readAgain = 2 * time.Second

// A Site reads the pages of one store.
type Site struct {
	store     chime.Store
	hooks     Hooks
	schedules *chime.Schedules
	queues    *chime.Queues
	jobs      *chime.Jobs
	directory *directory
	poller    *overview.Poller
	drawn     drawings
	lastRuns  lastRuns
	hours     hours
	names     names
	runs      *histories[*chime.RunInfo]
	days      *histories[chime.RunDay]
	calendar  calendar
	found     seldom[*jobList]
	grouped   seldom[*grouping]

	reads   sync.Mutex // one reading at a time
	mu      sync.Mutex
	last    *Standing
	changed time.Time // when something was changed last, by this process's clock
}

// NewSite returns the pages of a store. It does no I/O.
func NewSite(store chime.Store, hooks Hooks) *Site {
	s := &Site{
		store: store, hooks: hooks, schedules: chime.NewSchedules(store), queues: chime.NewQueues(store), jobs: chime.NewJobs(store), poller: overview.NewPoller(store),
	}
	s.runs, s.days = newHistories(s.readRuns), newHistories(s.schedules.Days)
	s.directory = newDirectory(func(ctx context.Context) schedulesSeq { return s.schedules.List(ctx, chime.ScheduleFilter{}) })
	return s
}

// A Standing is how a store was when it was read last: what all pages have in common.
type Standing struct {
	*overview.Snapshot
	read time.Time // by this process's clock
}

// Now is the store's clock, now.
func (s *Standing) Now() time.Time { return s.At.Add(time.Since(s.read)) }

// Counts are the numbers in the rail: failures of the hour, and workers.
func (s *Standing) Counts() map[string]int {
	failures := 0
	for _, g := range s.Failures {
		failures += int(g.Count)
	}
	return map[string]int{"failures": failures, "workers": len(s.Workers)}
}

// queues are all queues as they stood.
func (s *Standing) queues() []*chime.QueueInfo {
	queues := make([]*chime.QueueInfo, len(s.Queues))
	for i, q := range s.Queues {
		queues[i] = q.QueueInfo
	}
	return queues
}

// Read reads how the store is.
func (s *Site) Read(ctx context.Context) (*Standing, error) {
	s.reads.Lock()
	defer s.reads.Unlock()
	return s.read(ctx)
}

func (s *Site) read(ctx context.Context) (*Standing, error) {
	began := time.Now()
	snapshot, err := s.poller.Poll(ctx, overview.Hour)
	if err != nil {
		return nil, err
	}
	standing := &Standing{snapshot, began}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = standing
	return standing, nil
}

// Standing returns how the store was at most readAgain ago.
func (s *Site) Standing(ctx context.Context) (*Standing, error) {
	if last := s.fresh(); last != nil {
		return last, nil
	}
	s.reads.Lock()
	defer s.reads.Unlock()
	if last := s.fresh(); last != nil { // somebody else has read it meanwhile
		return last, nil
	}
	return s.read(ctx)
}

// fresh is how the store was at most readAgain ago, and after the last change; nil: that is not known.
func (s *Site) fresh() *Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || !s.last.read.After(s.changed) || time.Since(s.last.read) >= readAgain {
		return nil
	}
	return s.last
}

// Last is how the store was when it was read last, however long ago that is; nil: it never was.
func (s *Site) Last() *Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Forget has everything be read anew: something was changed.
func (s *Site) Forget() {
	s.found.forget()
	s.grouped.forget()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = time.Now()
}

// Namespace is that of the store; empty: it does not say.
func (s *Site) Namespace() string {
	if named, ok := s.store.(interface{ Namespace() string }); ok {
		return named.Namespace()
	}
	return ""
}
