//go:build !race

// With the race detector a sync.Pool drops some of what it is given, and the numbers are others.

package enqueue

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A quietStore adds all jobs, and allocates nothing.
type quietStore struct {
	fullStore
	answers [1]protocol.EnqueueAnswer
}

func (s *quietStore) Enqueue(context.Context, []protocol.EnqueueCall) []protocol.EnqueueAnswer {
	s.answers[0] = protocol.EnqueueAnswer{Ticket: protocol.EnqueueTicket{Brief: true}}
	return s.answers[:]
}

// How many allocations the enqueuer makes for a job, without those of the store.
func TestAllocationsOfEnqueuing(t *testing.T) {
	e := New(&quietStore{fullStore: fullStore{partitions: 1}}, Options{MaxPayload: 1 << 20, SendTimeout: time.Minute, Log: slog.New(slog.DiscardHandler)})
	mayEnd, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	payload := make([]byte, 100)
	var job Job
	one := func(ctx context.Context) func() {
		return func() {
			job = Job{Name: "j", Queue: "q", Args: payload}
			if _, err := e.One(ctx, &job); err != nil {
				t.Fatal(err)
			}
		}
	}
	many := Jobs{Len: 100, Job: func(_ int, job *Job) { *job = Job{Name: "j", Queue: "q", Args: payload} }, Named: func(int, string, string) {}}
	for _, c := range []struct {
		path string
		jobs int
		act  func()
		want float64 // a job: its ID, and the arguments as an any
	}{
		{"one job, with a ctx that never ends", 1, one(context.Background()), 2},
		{"one job, with a ctx that may end", 1, one(mayEnd), 2},
		{"100 jobs in one call", 100, func() {
			if err := e.Many(mayEnd, many); err != nil {
				t.Fatal(err)
			}
		}, 1.2},
	} {
		c.act() // makes what is reused
		if n := testing.AllocsPerRun(200, c.act) / float64(c.jobs); n > c.want {
			t.Errorf("%s: %.2f allocations a job, want %v at most", c.path, n, c.want)
		}
	}
}
