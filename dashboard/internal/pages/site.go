package pages

import (
	"context"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
)

// readAgain is the maximum age of the data that all pages share: the interval of the poller for open pages.
const readAgain = 2 * time.Second

// A Site reads the pages of one store.
type Site struct {
	store      chime.Store
	hooks      Hooks
	schedules  *chime.Schedules
	queues     *chime.Queues
	jobs       *chime.Jobs
	batches    *chime.Batches
	directory  *directory
	poller     *overview.Poller
	clock      func() time.Time // the clock of an embedded store, whose time does not pass by itself; nil: it does
	drawn      drawings
	lastRuns   lastRuns
	coming     nextRuns
	hours      hours
	shapes     shapes
	names      names
	kinds      kinds
	nextHours  nextHours
	versions   versions
	runs       *histories[*chime.RunInfo]
	days       *histories[chime.RunDay]
	summaries  *summaries
	calendar   calendar
	found      cache[*jobList]
	batchLists cache[*batchList]
	grouped    cache[*grouping]
	failure    cache[*failureReading]
	sampled    cache[*groupSample]

	reads   sync.Mutex // one reading at a time
	mu      sync.Mutex
	last    *Standing
	changed time.Time // time of the last change, by this process's clock
}

// NewSite returns the pages of a store. It does no I/O.
func NewSite(store chime.Store, hooks Hooks) *Site {
	timed, isTimed := store.(interface{ Now() time.Time })
	if hooks.Bare {
		store = bareStore{store}
	}
	s := &Site{
		store: store, hooks: hooks, schedules: chime.NewSchedules(store), queues: chime.NewQueues(store), jobs: chime.NewJobs(store), batches: chime.NewBatches(store), poller: overview.NewPoller(store),
	}
	if isTimed {
		s.clock = timed.Now
	}
	s.runs, s.days = newHistories(s.readRuns), newHistories(s.readDays)
	s.summaries = newSummaries(s.summarize)
	s.directory = newDirectory(func(ctx context.Context) schedulesSeq { return s.schedules.List(ctx, chime.ScheduleFilter{}) })
	s.directory.find = s.schedules.Get
	return s
}

// Close ends the reading in the background. Pages can still be read.
func (s *Site) Close() { s.summaries.close() }

// A Standing is the last reading of a store: the data that all pages share.
type Standing struct {
	*overview.Snapshot
	read  time.Time        // time of the reading, by this process's clock
	clock func() time.Time // the store's clock; nil: it runs like this process's clock
}

// Now returns the current time of the store's clock.
func (s *Standing) Now() time.Time {
	if s.clock != nil {
		return s.clock()
	}
	return s.At.Add(time.Since(s.read))
}

// Counts returns the numbers in the rail: dead jobs and workers.
func (s *Standing) Counts() map[string]int {
	dead := 0
	for _, q := range s.Queues {
		dead += int(q.Dead)
	}
	return map[string]int{"failures": dead, "workers": len(s.Workers)}
}

// A Hand is the worker of an attempt.
type Hand struct {
	Name    string // empty: no worker
	Text    string // its address, or the beginning of a random name, which workers of earlier versions had
	Version string // of its program; empty: unknown
	Lives   bool
}

// hand returns a worker by its name.
func (s *Standing) hand(name string) Hand {
	address, version := plain.Worker(name)
	for _, w := range s.Workers {
		if w.Name == name {
			return Hand{name, w.Address(), version, true}
		}
	}
	return Hand{name, address, version, false}
}

// queues returns all queues of the reading.
func (s *Standing) queues() []*chime.QueueInfo {
	queues := make([]*chime.QueueInfo, len(s.Queues))
	for i, q := range s.Queues {
		queues[i] = q.QueueInfo
	}
	return queues
}

// Read reads the state of the store.
func (s *Site) Read(ctx context.Context) (*Standing, error) {
	s.reads.Lock()
	defer s.reads.Unlock()
	return s.read(ctx)
}

func (s *Site) read(ctx context.Context) (*Standing, error) {
	began := time.Now()
	snapshot, err := s.poller.Rest(ctx, overview.Hour)
	if err != nil {
		return nil, err
	}
	if s.clock != nil { // without queues, no request was sent to the store
		snapshot.At = s.clock()
	}
	standing := &Standing{Snapshot: snapshot, read: began, clock: s.clock}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = standing
	return standing, nil
}

// Standing returns a reading that is at most readAgain old.
func (s *Site) Standing(ctx context.Context) (*Standing, error) {
	if last := s.fresh(); last != nil {
		return last, nil
	}
	s.reads.Lock()
	defer s.reads.Unlock()
	if last := s.fresh(); last != nil { // another request has read it meanwhile
		return last, nil
	}
	return s.read(ctx)
}

// fresh returns the last reading if it is at most readAgain old and newer than the last change, or nil.
func (s *Site) fresh() *Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || !s.last.read.After(s.changed) || time.Since(s.last.read) >= readAgain {
		return nil
	}
	return s.last
}

// Last returns the last reading of any age, or nil.
func (s *Site) Last() *Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Now returns the time of the store's clock, as far as it is known.
func (s *Site) Now() time.Time {
	switch last := s.Last(); {
	case last != nil:
		return last.Now()
	case s.clock != nil:
		return s.clock()
	}
	return time.Now()
}

// Forget removes all readings after a change. The list of all schedules is expensive to read, so it is kept unless schedules were changed; of these only
// those with the given names are read again, or all if there are no names.
func (s *Site) Forget(schedules bool, names ...string) {
	s.found.forget()
	s.batchLists.forget()
	s.grouped.forget()
	s.failure.forget()
	s.sampled.forget()
	if schedules {
		s.directory.forget(names...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = time.Now()
}

// Namespace returns the namespace of the store, or "" if it is not known.
func (s *Site) Namespace() string { return namespaceOf(s.store) }

func namespaceOf(store chime.Store) string {
	if named, ok := store.(interface{ Namespace() string }); ok {
		return named.Namespace()
	}
	return ""
}
