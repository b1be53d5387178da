package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

func quietEnqueuer(store chime.Store, options chime.EnqueuerOptions) *chime.Enqueuer {
	options.Logger = fixture.Quiet()
	return chime.NewEnqueuer(store, options)
}

// A sendStore is the store of an enqueuer, with faults for each call that an enqueuer makes. It fails the test if the enqueuer violates the
// protocol of EnqueueCall.
type sendStore struct {
	*hookstore.Store
	f *fixture.Fixture

	// askFault, if set, returns the error of the n-th call of Partitions; checkFault returns that of Check. A call without a fault is executed.
	askFault   func(n int) error
	checkFault func(ctx context.Context, n int) error
}

// newSendStore returns the store of a fixture whose queue "default" has this number of partitions.
func newSendStore(f *fixture.Fixture, partitions int) *sendStore {
	f.Partition("default", partitions)
	s := &sendStore{f: f}
	s.Store = hookstore.New(f.T, checkedStore{f.Server.Store().Protocol(), s})
	s.KeepEnqueue = true
	s.SetFault(func(action string, _ protocol.Partition) (before, after error) {
		if action == "partitions" && s.askFault != nil {
			return s.askFault(s.Count(action)), nil
		}
		return nil, nil
	})
	return s
}

// fail sets a function that returns an error before or after each call of Enqueue is executed. n counts the calls from now on.
func (s *sendStore) fail(fault func(n int, call *protocol.EnqueueCall) (before, after error)) {
	if fault == nil {
		s.EnqueueFault = nil
		return
	}
	var n atomic.Int64
	s.EnqueueFault = func(call *protocol.EnqueueCall) (before, after error) { return fault(int(n.Add(1)), call) }
}

// order returns the waiting jobs of the queue "default", in the order in which they are taken.
func (s *sendStore) order() (ids []string) {
	s.f.T.Helper()
	for job, err := range chime.NewJobs(s.f.Server.Store()).List(s.f.T.Context(), chime.JobFilter{Queue: "default", State: chime.JobWaiting}) {
		if err != nil {
			s.f.T.Fatal(err)
		}
		ids = append(ids, job.ID)
	}
	return ids
}

// waiting returns the number of these jobs.
func (s *sendStore) waiting() int {
	s.f.T.Helper()
	return int(s.f.Stats().Waiting)
}

// has reports whether a job exists.
func (s *sendStore) has(id string) bool {
	s.f.T.Helper()
	found, err := s.f.Server.Store().Protocol().FindJobs(s.f.T.Context(), "default", []string{id})
	if err != nil {
		s.f.T.Fatal(err)
	}
	return found[0].ID != ""
}

// A checkedStore has the checkFault of a sendStore.
type checkedStore struct {
	protocol.Store
	of *sendStore
}

func (s checkedStore) Protocol() protocol.Store { return s }

func (s checkedStore) Check(ctx context.Context) error {
	if s.of.checkFault == nil {
		return s.Store.Check(ctx)
	}
	return s.of.checkFault(ctx, s.of.Count("check"))
}

func TestOptionsSetTheEnqueuedJob(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Partition("mail", 4)
		store := newSendStore(f, 4)
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		at := time.Now().Add(time.Hour)
		for name, test := range map[string]struct {
			options []chime.EnqueueOption
			want    func(protocol.EnqueueItem, wire.Envelope, protocol.Partition) bool
		}{
			"now": {nil, func(i protocol.EnqueueItem, e wire.Envelope, p protocol.Partition) bool {
				return i.In == 0 && i.At.IsZero() && !i.Own && e.MaxAttempts == 0 && e.Timeout == 0 && p.Queue == "default" && e.Planned.Equal(time.Now())
			}},
			"in": {[]chime.EnqueueOption{chime.In(time.Minute)}, func(i protocol.EnqueueItem, e wire.Envelope, p protocol.Partition) bool {
				return i.In == time.Minute && e.Planned.Equal(time.Now().Add(time.Minute))
			}},
			"in the past": {[]chime.EnqueueOption{chime.In(-time.Minute)}, func(i protocol.EnqueueItem, e wire.Envelope, p protocol.Partition) bool {
				return i.In == 0 && i.At.IsZero()
			}},
			"at": {[]chime.EnqueueOption{chime.At(at)}, func(i protocol.EnqueueItem, e wire.Envelope, p protocol.Partition) bool {
				return i.In == 0 && i.At.Equal(at) && e.Planned.Equal(at)
			}},
			"own": {[]chime.EnqueueOption{chime.ID("own"), chime.Queue("mail"), chime.MaxAttempts(3), chime.Timeout(time.Minute)}, func(i protocol.EnqueueItem, e wire.Envelope, p protocol.Partition) bool {
				return i.ID == "own" && i.Own && p.Queue == "mail" && e.MaxAttempts == 3 && e.Timeout == time.Minute
			}},
		} {
			receipt, err := e.Enqueue(t.Context(), "report", []byte("payload"), test.options...)
			if err != nil || receipt.Existing {
				t.Errorf("%s: got %+v, %v", name, receipt, err)
				continue
			}
			calls := store.EnqueueCalls()
			call := calls[len(calls)-1]
			item := call.Items[0]
			env, err := wire.DecodeEnvelope(item.Body)
			if err != nil || env.Name != "report" || string(env.Payload) != "payload" || !test.want(item, env, call.Partition) {
				t.Errorf("%s: sent %+v with %+v to %v", name, item, env, call.Partition)
			}
			if item.ID != receipt.ID || call.Partition.Index != protocol.PartitionOf(item.ID, 4) {
				t.Errorf("%s: the receipt has ID %q, but %q was sent to %v", name, receipt.ID, item.ID, call.Partition)
			}
		}
		if receipt, err := e.Enqueue(t.Context(), "report", nil, chime.ID("own"), chime.Queue("mail")); err != nil || !receipt.Existing {
			t.Errorf("the same ID again: got %+v, %v; want Existing", receipt, err)
		}
	})
}

func TestConcurrentCallsShareRoundTrips(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		store.Latency, store.Lag = time.Millisecond/2, time.Millisecond/2
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		start := time.Now()
		var all sync.WaitGroup
		for range 1000 {
			all.Go(func() {
				if _, err := e.Enqueue(t.Context(), "a", nil); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if store.waiting() != 1000 || store.RoundTrips("enqueue") > 4 || time.Since(start) > 4*time.Millisecond {
			t.Errorf("%d jobs in %d round trips and %v; want 1000 in 4 and 4ms", store.waiting(), store.RoundTrips("enqueue"), time.Since(start))
		}
		if store.Count("partitions") != 1 {
			t.Errorf("the number of partitions was requested %d times, want once", store.Count("partitions"))
		}
	})
}

func TestACancelledCallerEndsOnlyItsOwnWait(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		store.Latency, store.Lag = time.Second/2, time.Second/2
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		var all sync.WaitGroup
		ended := make([]error, 4)
		took := make([]time.Duration, 4)
		receipts := make([]chime.Receipt, 4)
		call := func(i int, d time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			start := time.Now()
			receipts[i], ended[i] = e.Enqueue(ctx, "a", nil)
			took[i] = time.Since(start)
		}
		all.Go(func() { call(0, 100*time.Millisecond) }) // is sent at once
		synctest.Wait()
		all.Go(func() { call(1, 100*time.Millisecond) }) // waits behind the first call
		all.Go(func() { call(2, time.Minute) })
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond) // fake time: the last caller comes later
		all.Go(func() { call(3, time.Minute) })
		all.Wait()
		for i, want := range []struct {
			text string
			took time.Duration
			job  bool
		}{{"outcome unknown", 100 * time.Millisecond, true}, {"not sent", 100 * time.Millisecond, false}, {"", 2 * time.Second, true}, {"", 1500 * time.Millisecond, true}} {
			if (ended[i] == nil) != (want.text == "") || ended[i] != nil && (!strings.Contains(ended[i].Error(), want.text) || !errors.Is(ended[i], context.DeadlineExceeded)) {
				t.Errorf("call %d: got %v, want %q", i, ended[i], want.text)
			}
			if there := store.has(receipts[i].ID); there != want.job || took[i] != want.took {
				t.Errorf("call %d: took %v, job exists: %v; want %v, %v", i, took[i], there, want.took, want.job)
			}
		}
		if _, err := e.Enqueue(cancelled(t), "a", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("with a ctx that has ended: got %v, want context.Canceled", err)
		}
	})
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestALargeCallDoesNotDelayASmallOne(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := newSendStore(f, 1)
		store.Latency, store.Lag = time.Millisecond/2, time.Millisecond/2
		e := quietEnqueuer(store, chime.EnqueuerOptions{})
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := e.EnqueueMany(t.Context(), slices.Repeat([]chime.Item{{Name: "a"}}, 10_000)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		start := time.Now()
		if _, err := e.Enqueue(t.Context(), "a", nil); err != nil || time.Since(start) > 3*time.Millisecond {
			t.Errorf("took %v, %v; want at most 3ms", time.Since(start), err)
		}
		all.Wait()
		if store.waiting() != 10_001 {
			t.Errorf("%d jobs, want 10001", store.waiting())
		}
	})
}
