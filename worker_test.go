package chime

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

func TestRunReturnsBadWorkerOptions(t *testing.T) {
	for _, options := range []WorkerOptions{
		{Concurrency: -1},
		{SessionTTL: time.Millisecond},
		{Queues: map[string]int{"a": 0}},
		{MaxCrashes: -1},
	} {
		if err := NewWorker(nil, options).Run(context.Background()); err == nil {
			t.Errorf("Run with %+v returned nil, want an error", options)
		}
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// A benchStore returns the same body repeatedly and keeps nothing, so that only the worker is measured. Methods that a worker does not call
// meanwhile panic.
type benchStore struct {
	protocol.Store
	mu    sync.Mutex
	left  int
	fence int64
	body  []byte
}

func newBenchStore(jobs int) *benchStore { return &benchStore{left: jobs, body: benchBody()} }

func (s *benchStore) Work(_ context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	answers := make([]protocol.WorkAnswer, len(calls))
	for i := range calls {
		c, a := &calls[i], &answers[i]
		a.Now = time.Now()
		for j := range c.Settle {
			if c.Settle[j].Kind == protocol.SettleBack {
				s.left++
			}
		}
		n := min(c.Take, s.left)
		s.left -= n
		a.Taken = make([]protocol.TakenJob, n)
		for j := range a.Taken {
			s.fence++
			a.Taken[j] = protocol.TakenJob{ID: "0123456789abc", Fence: s.fence, Begun: j < c.Take-c.Ahead, Body: s.body}
		}
		a.More = s.left > 0
	}
	return answers
}

func (s *benchStore) Poll(_ context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	answers := make([]protocol.PollAnswer, len(calls))
	for i := range answers {
		answers[i] = protocol.PollAnswer{Now: time.Now(), Since: time.Now(), WaitHint: protocol.WaitHint{More: s.more()}}
	}
	return answers
}

func (s *benchStore) more() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left > 0
}

// Lease: there is always a leader, so that a worker does not replace one.
func (s *benchStore) Lease(context.Context) (string, error) { return time.Now().String(), nil }

func (s *benchStore) Check(context.Context) error                                { return nil }
func (s *benchStore) CheckUse(context.Context, protocol.Use, []string) error     { return nil }
func (s *benchStore) Server() string                                             { return "none" }
func (s *benchStore) Node(protocol.Partition) string                             { return "" }
func (s *benchStore) Partitions(context.Context, string) (int, error)            { return 1, nil }
func (s *benchStore) Leave(context.Context, []protocol.LeaveCall) error          { return nil }
func (s *benchStore) Announce(context.Context, string, []protocol.Handled) error { return nil }
func (s *benchStore) AnnounceWorker(context.Context, protocol.WorkerEntry) error { return nil }
func (s *benchStore) Beat(context.Context, string, time.Time) (time.Time, bool, error) {
	return time.Now(), false, nil
}
func (s *benchStore) RetireWorker(context.Context, string) error { return nil }
func (s *benchStore) CloseSession(context.Context, protocol.Partition, string, *protocol.Measured) error {
	return nil
}

func (s *benchStore) Listen(string) protocol.Listener {
	signals := make(chan protocol.Signal, 1)
	signals <- protocol.Signal{Connected: true}
	return benchListener{signals}
}

// A benchListener keeps every session alive.
type benchListener struct{ signals chan protocol.Signal }

func (l benchListener) Signals() <-chan protocol.Signal { return l.signals }

func (benchListener) Extend(_ context.Context, calls []protocol.ExtendCall) []protocol.ExtendAnswer {
	return make([]protocol.ExtendAnswer, len(calls))
}

func (benchListener) Close() error { return nil }

// BenchmarkLoop measures the worker's own work for a job: taking it, running an empty handler, settling it.
func BenchmarkLoop(b *testing.B) {
	for _, concurrency := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(concurrency), func(b *testing.B) {
			store := newBenchStore(b.N)
			w := NewWorker(asStore(store), WorkerOptions{Concurrency: concurrency})
			ctx, stop := context.WithCancel(context.Background())
			var mu sync.Mutex
			ran := 0
			w.Handle("work", func(context.Context, *Job) error {
				mu.Lock()
				defer mu.Unlock()
				if ran++; ran == b.N {
					stop()
				}
				return nil
			})
			b.ReportAllocs()
			b.ResetTimer()
			if err := w.Run(ctx); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

func benchBody() []byte {
	e := wire.Envelope{Name: "work", Payload: make([]byte, 100)}
	return e.Encode()
}
