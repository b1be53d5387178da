package main

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

// A bank is a provider. The replies to its first calls are lost.
type bank struct {
	mu      sync.Mutex
	lost    int
	calls   int
	charged int
	keys    map[string]error
}

func (b *bank) Charge(_ context.Context, key string, cents int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	outcome, known := b.keys[key]
	if !known {
		if cents > 100_000 {
			outcome = errDeclined
		} else {
			b.charged += cents
		}
		b.keys[key] = outcome
	}
	if b.lost > 0 {
		b.lost--
		return errors.New("timeout")
	}
	return outcome
}

func TestAnOrderIsChargedOnceWhateverIsRepeated(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		b := &bank{lost: 2, keys: map[string]error{}}
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Queues: map[string]int{"payments": 1}})
		charge.Handle(worker, chargeWith(b))
		stop := c.Start(worker)
		defer stop()
		for range 2 { // while the job exists, and after it has ended
			for range 2 {
				if err := requestCharge(t.Context(), enqueuer, 7, 1200); err != nil {
					t.Fatal(err)
				}
			}
			c.Advance(time.Hour)
		}
		if b.calls != 4 || b.charged != 1200 {
			t.Errorf("%d calls charged %d cents, want 4 calls, of which one charged 1200", b.calls, b.charged)
		}
		if err := requestCharge(t.Context(), enqueuer, 8, 200_000); err != nil {
			t.Fatal(err)
		}
		c.Advance(24 * time.Hour)
		if b.calls != 5 {
			t.Errorf("a declined card was charged %d times, want once", b.calls-4)
		}
	})
}
