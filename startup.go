package chime

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func newTaker(w *Worker) *taker {
	t := &taker{
		worker:     w,
		store:      w.store,
		name:       rand.Text(),
		ttl:        w.options.SessionTTL,
		log:        w.options.Logger,
		slots:      newSlots(w.options.Concurrency),
		requests:   make(chan request, 1),
		replies:    make(chan reply, 1),
		unreadable: make(map[string]time.Time),
	}
	t.trouble.log = t.log
	return t
}

// prepare waits for the store and learns the partitions of the queues. It returns an error only where waiting does not help.
// The store is checked first, so that nothing is written into one that is refused, and again when it has seen every queue: it
// looks at the keys of those that it knows.
func (t *taker) prepare(ctx context.Context) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	for queue, weight := range t.worker.options.Queues {
		s := &share{queue: queue, weight: weight}
		n := 0
		err := t.persist(ctx, "partitions", func() (err error) {
			n, err = t.store.Partitions(ctx, queue)
			return err
		})
		if err != nil {
			return fmt.Errorf("chime: worker: queue %q: %w", queue, err)
		}
		for i := range n {
			t.lanes = append(t.lanes, &lane{partition: protocol.Partition{Queue: queue, Index: i}, queue: s})
		}
	}
	if err := t.check(ctx); err != nil {
		return err
	}
	slices.SortFunc(t.lanes, func(a, b *lane) int {
		if c := strings.Compare(a.partition.Queue, b.partition.Queue); c != 0 {
			return c
		}
		return a.partition.Index - b.partition.Index
	})
	return nil
}

func (t *taker) check(ctx context.Context) error {
	if err := t.persist(ctx, "check", func() error { return t.store.Check(ctx) }); err != nil {
		return fmt.Errorf("chime: worker: %w", err)
	}
	return nil
}

// persist repeats an act until it succeeds, ctx ends, or its error says that it never will.
func (t *taker) persist(ctx context.Context, act string, do func() error) error {
	for failures := 1; ; failures++ {
		err := do()
		now := time.Now()
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			t.trouble.end(act, now)
			return nil
		}
		if errors.Is(err, ErrUnfit) {
			return err
		}
		t.trouble.begin(act, act, err, now)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(troubleDelay(failures)):
		}
	}
}

// run takes and runs jobs until ctx ends and the worker has drained. Every goroutine it starts has ended when it returns,
// but for handlers that never return and a call that its store does not end.
func (t *taker) run(ctx context.Context) error {
	t.base = context.WithoutCancel(ctx)
	t.patience = time.Now().Add(subscribing)
	t.line = t.store.Listen(t.name)
	t.heartbeat = newHeartbeat(t.line, t.ttl)
	t.reaper = newReaper(t.store, t.ttl, t.log, nil)

	live, end := context.WithCancel(t.base)
	var loops sync.WaitGroup
	loops.Go(func() { t.heartbeat.run(live) })
	loops.Go(func() { t.reaper.run(live) })
	caller := make(chan struct{})
	go func() {
		defer close(caller)
		t.call(live)
	}()

	err := t.loop(ctx.Done())

	end()
	close(t.requests)
	if closed := t.line.Close(); closed != nil {
		t.log.Debug("chime: closing the line", "error", closed)
	}
	done := make(chan struct{})
	go func() {
		loops.Wait()
		<-caller
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
	return err
}
