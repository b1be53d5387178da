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
	clock     func() time.Time // of a store that is no server, and whose time does not go by itself; nil: it does
	drawn     drawings
	lastRuns  lastRuns
	hours     hours
	names     names
	runs      *histories[*chime.RunInfo]
	days      *histories[chime.RunDay]
	summaries *summaries
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
	if timed, ok := store.(interface{ Now() time.Time }); ok {
		s.clock = timed.Now
	}
	s.runs, s.days = newHistories(s.readRuns), newHistories(s.readDays)
	s.summaries = newSummaries(s.summarize)
	s.directory = newDirectory(func(ctx context.Context) schedulesSeq { return s.schedules.List(ctx, chime.ScheduleFilter{}) })
	return s
}

// Close ends what is read in the background. Pages can be read still.
func (s *Site) Close() { s.summaries.close() }

// A Standing is how a store was when it was read last: what all pages have in common.
type Standing struct {
	*overview.Snapshot
	read  time.Time        // by this process's clock
	clock func() time.Time // of the store; nil: it goes as this process's does
}

// Now is the store's clock, now.
func (s *Standing) Now() time.Time {
	if s.clock != nil {
		return s.clock()
	}
	return s.At.Add(time.Since(s.read))
}

// Counts are the numbers in the rail: of jobs that were given up, and of workers.
func (s *Standing) Counts() map[string]int {
	dead := 0
	for _, q := range s.Queues {
		dead += int(q.Dead)
	}
	return map[string]int{"failures": dead, "workers": len(s.Workers)}
}

// A Hand is the worker of an attempt.
type Hand struct {
	Name  string // its random one; empty: there is none
	Text  string // where it runs, or the beginning of its name where that is no longer known
	Lives bool
}

const handMost = 8 // letters of a name

// hand returns a worker by its name.
func (s *Standing) hand(name string) Hand {
	for _, w := range s.Workers {
		if w.Name == name {
			return Hand{name, w.Address(), true}
		}
	}
	if len(name) > handMost+1 {
		return Hand{name, name[:handMost], false}
	}
	return Hand{name, name, false}
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
	if s.clock != nil { // where there is no queue, nobody has asked the store
		snapshot.At = s.clock()
	}
	standing := &Standing{Snapshot: snapshot, read: began, clock: s.clock}
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

// Now is the store's clock, as far as it is known.
func (s *Site) Now() time.Time {
	switch last := s.Last(); {
	case last != nil:
		return last.Now()
	case s.clock != nil:
		return s.clock()
	}
	return time.Now()
}

// Forget has everything be read anew: something was changed. The list of all schedules, which is dear to read, only if schedules were.
func (s *Site) Forget(schedules bool) {
	s.found.forget()
	s.grouped.forget()
	if schedules {
		s.directory.forget()
	}
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
