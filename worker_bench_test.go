package chime

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// A benchStore hands out the same body again and again and keeps nothing, so that only the worker is measured.
type benchStore struct {
	*fakeJobStore
	mu        sync.Mutex
	left      int
	fence     int64
	body      []byte
	roundTrip time.Duration
}

func (s *benchStore) Work(_ context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	if s.roundTrip > 0 {
		time.Sleep(s.roundTrip) // the benchmark sets how long a round trip takes
	}
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

func (s *benchStore) Listen(name string) protocol.Listener {
	return benchListener{s.fakeJobStore.Listen(name)}
}

// A benchListener keeps every session alive.
type benchListener struct{ protocol.Listener }

func (benchListener) Extend(_ context.Context, calls []protocol.ExtendCall) []protocol.ExtendAnswer {
	return make([]protocol.ExtendAnswer, len(calls))
}

func (s *benchStore) CloseSession(context.Context, protocol.Partition, string, *protocol.Measured) error {
	return nil
}

// BenchmarkLoop measures the worker's own work for a job: taking it, running an empty handler, settling it.
func BenchmarkLoop(b *testing.B) {
	for _, concurrency := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(concurrency), func(b *testing.B) {
			store := &benchStore{fakeJobStore: newFakeJobStore(b), left: b.N, body: benchBody()}
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
