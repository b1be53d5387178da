package schedules_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// namedZone is the time zone of the rules in these tests. In the winter in which a bubble begins it is an hour ahead of UTC. A process with other data
// has the rules of another zone under this name.
const namedZone = "Europe/Berlin"

// otherRules has the rules that namedZone has for a process with other data: two hours ahead of UTC.
const otherRules = "Africa/Tripoli"

// A zonedProcess is the store of a process that has the rules of another zone under the name namedZone.
type zonedProcess struct {
	*hookstore.Store
	rules string
}

// newProcess returns the store of a process with this data. It shares only the server with other processes.
func newProcess(f *fixture.Fixture, rules string) *zonedProcess {
	return &zonedProcess{hookstore.New(f.T, redisstore.New(f.Server.Client(), redisstore.Options{Logger: fixture.Quiet()})), rules}
}

func (s *zonedProcess) Protocol() protocol.Store { return s }

// here returns a definition with the zone whose rules this process has.
func (s *zonedProcess) here(definition []byte) []byte {
	return bytes.ReplaceAll(definition, []byte(`"timeZone":"`+namedZone+`"`), []byte(`"timeZone":"`+s.rules+`"`))
}

func (s *zonedProcess) zoned(z protocol.Zoned) protocol.Zoned {
	if z.Zone == namedZone {
		z.Zone = s.rules
	}
	return z
}

func (s *zonedProcess) owed(o *protocol.Owed) {
	if o != nil {
		o.Definition, o.Zoned = s.here(o.Definition), s.zoned(o.Zoned)
	}
}

func (s *zonedProcess) placements(placements []protocol.Placement) []protocol.Placement {
	placements = slices.Clone(placements)
	for i := range placements {
		if placements[i].Zone == s.rules {
			placements[i].Zone = namedZone
		}
	}
	return placements
}

func (s *zonedProcess) Place(ctx context.Context, placements []protocol.Placement) []protocol.PlaceAnswer {
	return s.Store.Place(ctx, s.placements(placements))
}

func (s *zonedProcess) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	calls = slices.Clone(calls)
	for i := range calls {
		if len(calls[i].Place) > 0 {
			calls[i].Place = s.placements(calls[i].Place)
		}
	}
	answers := s.Store.Work(ctx, calls)
	for i := range answers {
		for j := range answers[i].Taken {
			answers[i].Taken[j].Definition = s.here(answers[i].Taken[j].Definition)
		}
		for j := range answers[i].Owed {
			s.owed(&answers[i].Owed[j])
		}
	}
	return answers
}

func (s *zonedProcess) Owed(ctx context.Context, partitions []protocol.Partition) ([]protocol.Owed, error) {
	owed, err := s.Store.Owed(ctx, partitions)
	for i := range owed {
		s.owed(&owed[i])
	}
	return owed, err
}

func (s *zonedProcess) Declare(ctx context.Context, declarations []protocol.Declaration) []protocol.DeclareAnswer {
	answers := s.Store.Declare(ctx, declarations)
	for i := range answers {
		answers[i].Stored, answers[i].Old = s.here(answers[i].Stored), s.here(answers[i].Old)
		answers[i].Zoned = s.zoned(answers[i].Zoned)
		s.owed(answers[i].Owed)
	}
	return answers
}

func (s *zonedProcess) PauseSchedule(ctx context.Context, pausing protocol.Pausing) (protocol.PauseAnswer, error) {
	answer, err := s.Store.PauseSchedule(ctx, pausing)
	answer.Definition = s.here(answer.Definition)
	s.owed(answer.Owed)
	return answer, err
}

func (s *zonedProcess) Find(ctx context.Context, names []string) ([]protocol.Stored, error) {
	found, err := s.Store.Find(ctx, names)
	for i := range found {
		found[i].Definition = s.here(found[i].Definition)
	}
	return found, err
}

func (s *zonedProcess) ZonedIn(ctx context.Context, partition protocol.Partition, cursor string) ([]protocol.ZonedEntry, string, error) {
	found, next, err := s.Store.ZonedIn(ctx, partition, cursor)
	for i := range found {
		found[i].Zoned = s.zoned(found[i].Zoned)
	}
	return found, next, err
}

// without makes an action fail, so that a test shows what the others achieve.
func (s *zonedProcess) without(action string) *zonedProcess {
	s.SetFault(func(called string, _ protocol.Partition) (before, after error) {
		if called == action {
			return hookstore.ErrReset, nil
		}
		return nil, nil
	})
	return s
}

// A zoneWalk has a schedule of a rule, two kinds of processes, and what its occurrences did.
type zoneWalk struct {
	*testing.T
	f      *fixture.Fixture
	random *rand.Rand

	mu   sync.Mutex // of random in faults, and of ran
	ran  map[string]int
	log  fixture.LogBuffer
	live []*walkProcess
}

// A walkProcess is a worker, with or without a scheduler, that ends in order or by a crash.
type walkProcess struct {
	store *zonedProcess
	stops []func() error
	dead  bool
}

func (w *zoneWalk) pick(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

// start starts a process with one of the two data. If it is mortal, it dies before or after one of its next commands.
func (w *zoneWalk) start(mortal bool) {
	p := &walkProcess{store: newProcess(w.f, []string{namedZone, otherRules}[w.pick(2)])}
	if mortal {
		left := 1 + w.pick(40)
		p.store.SetFault(func(string, protocol.Partition) (before, after error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if p.dead {
				return hookstore.ErrReset, nil
			}
			if left--; left > 0 {
				return nil, nil
			}
			if p.dead = true; w.random.IntN(2) == 0 {
				return hookstore.ErrReset, nil
			}
			return nil, hookstore.ErrReset
		})
	}
	worker := chime.NewWorker(p.store, chime.WorkerOptions{
		Queues: map[string]int{"default": 1, "mail": 1}, Logger: w.log.Logger(), SessionTTL: 6 * time.Second, DrainTimeout: time.Second,
	})
	worker.Handle("j", func(_ context.Context, job *chime.Job) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if p.dead {
			return errors.New("the process is dead")
		}
		w.ran[job.ID]++
		return nil
	})
	p.stops = append(p.stops, fixture.Start(worker))
	if w.pick(2) == 0 {
		p.stops = append(p.stops, fixture.Start(chime.NewScheduler(p.store, chime.SchedulerOptions{Logger: w.log.Logger()})))
	}
	w.live = append(w.live, p)
}

// stop ends a process.
func (w *zoneWalk) stop(i int) {
	for _, stop := range w.live[i].stops {
		_ = stop() // a dead process ends with an error
	}
	w.live = slices.Delete(w.live, i, i+1)
}
