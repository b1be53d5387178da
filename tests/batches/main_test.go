package batches_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/faketime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestMain(m *testing.M) { faketime.Main(m) }

// A site is a store with an enqueuer, and a worker that keeps the jobs that follow batches.
type site struct {
	*fixture.Fixture
	store    chime.Store
	enqueuer *chime.Enqueuer
	batches  *chime.Batches
	jobs     *chime.Jobs
	worker   *chime.Worker

	mu       sync.Mutex
	followed []string                    // "<name> of <batch>: <done> done, <dead> dead, <cancelled> cancelled, <state>", in the order of the runs
	infos    map[string]*chime.BatchInfo // of the jobs that follow batches, by their IDs
	ran      map[string]int              // attempts of members, by their job names
}

// at runs a scenario. The worker handles "member", which succeeds, "bad", which is discarded, "done" and "ended"; other handlers are added before Start.
func at(t *testing.T, scenario func(t *testing.T, s *site)) {
	t.Helper()
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) { scenario(t, newSite(f, f.Server.Store())) })
}

func newSite(f *fixture.Fixture, store chime.Store) *site {
	s := &site{
		Fixture: f, store: store, enqueuer: chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: fixture.Quiet()}), batches: chime.NewBatches(store), jobs: chime.NewJobs(store),
		ran: map[string]int{}, infos: map[string]*chime.BatchInfo{},
	}
	s.worker = s.newWorker(10)
	return s
}

func (s *site) newWorker(concurrency int) *chime.Worker {
	w := chime.NewWorker(s.store, chime.WorkerOptions{
		Queues: map[string]int{"default": 1, "a": 1, "b": 1}, Concurrency: concurrency, Logger: fixture.Quiet(),
		Defaults: []chime.HandlerOption{chime.Retry(chime.Fixed(time.Second))},
	})
	w.Handle("member", func(_ context.Context, job *chime.Job) error {
		s.note(job)
		return nil
	})
	w.Handle("bad", func(_ context.Context, job *chime.Job) error {
		s.note(job)
		return chime.Discard(errors.New("bad"))
	})
	for _, name := range []string{"done", "ended"} {
		w.Handle(name, s.follow)
	}
	return w
}

// note counts an attempt of a member.
func (s *site) note(job *chime.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran[job.Name]++
}

// locked calls f while no other handler does.
func (s *site) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// follow is the handler of the jobs that follow batches.
func (s *site) follow(_ context.Context, job *chime.Job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := job.BatchInfo
	if b == nil || job.Batch != "" {
		s.T.Errorf("job %s has BatchInfo %v and Batch %q, want the batch, which it does not belong to", job.ID, b, job.Batch)
		return nil
	}
	s.infos[job.ID] = b
	s.followed = append(s.followed, fmt.Sprintf("%s of %s: %d done, %d dead, %d cancelled, %s", job.Name, b.ID, b.Done, b.Dead, b.Cancelled, b.State))
	return nil
}

// wantFollowed fails unless these jobs have followed batches, in any order.
func (s *site) wantFollowed(when string, want ...string) {
	s.T.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	got := slices.Sorted(slices.Values(s.followed))
	if slices.Sort(want); !slices.Equal(got, want) {
		s.T.Errorf("%s: these jobs have followed: %q, want %q", when, got, want)
	}
}

// run starts the worker until the scenario ends.
func (s *site) run() (stop func()) {
	end := s.Start(s.worker)
	return func() {
		if err := end(); err != nil {
			s.T.Error(err)
		}
	}
}

// sequence yields items.
func sequence(items ...chime.Item) iter.Seq2[chime.Item, error] {
	return func(yield func(chime.Item, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// members yields n members with these options.
func members(n int, options ...chime.EnqueueOption) iter.Seq2[chime.Item, error] {
	return func(yield func(chime.Item, error) bool) {
		for range n {
			if !yield(chime.Item{Name: "member", Options: options}, nil) {
				return
			}
		}
	}
}

// named returns an item of the default queue.
func named(name string, options ...chime.EnqueueOption) chime.Item {
	return chime.Item{Name: name, Options: options}
}

// batch returns a batch with Done and Ended.
func batch(id string, items iter.Seq2[chime.Item, error]) chime.Batch {
	return chime.Batch{ID: id, Items: items, Done: named("done"), Ended: named("ended")}
}

// enqueue creates a batch.
func (s *site) enqueue(b chime.Batch) chime.BatchReceipt {
	s.T.Helper()
	receipt, err := s.enqueuer.EnqueueBatch(s.T.Context(), b)
	if err != nil {
		s.T.Fatal(err)
	}
	return receipt
}

// get returns a batch.
func (s *site) get(id string) *chime.BatchInfo {
	s.T.Helper()
	info, err := s.batches.Get(s.T.Context(), id)
	if err != nil {
		s.T.Fatal(err)
	}
	return info
}

// wantState fails unless a batch has this state and these numbers.
func (s *site) wantState(when, id string, want chime.BatchState, total, left, done, dead, cancelled int64) {
	s.T.Helper()
	if b := s.get(id); b.State != want || b.Total != total || b.Left != left || b.Done != done || b.Dead != dead || b.Cancelled != cancelled {
		s.T.Errorf("%s: batch %s is %s with %d members: %d left, %d done, %d dead, %d cancelled; want %s with %d: %d, %d, %d, %d", when, id, b.State, b.Total, b.Left, b.Done, b.Dead, b.Cancelled,
			want, total, left, done, dead, cancelled)
	}
}

// queue returns the stats of a queue.
func (s *site) queue(name string) *chime.QueueInfo {
	s.T.Helper()
	info, err := chime.NewQueues(s.store).Get(s.T.Context(), name)
	if err != nil {
		s.T.Fatal(err)
	}
	return info
}
