package work

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/reap"
	"github.com/chimejobs/chime/internal/retry"
)

// Run takes and runs jobs until ctx ends and the worker has drained. It waits for a store that does not answer. Its error is one
// that waiting does not cure: then no job was taken. Every goroutine it starts has ended when it returns, but for handlers that
// never return and a call that its store does not end.
func Run(ctx context.Context, store protocol.Store, config *Config) (Drained, error) {
	p := newProcessor(store, config)
	if err := p.prepare(ctx); err != nil || ctx.Err() != nil {
		if ctx.Err() != nil {
			err = nil
		}
		return Drained{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var announcing sync.WaitGroup
	announcing.Go(func() { newAnnouncer(store, config).run(ctx) })
	defer announcing.Wait()
	return p.run(ctx), nil
}

// prepare waits for the store and learns the partitions of the queues. The store is checked first, so that nothing is written into
// one that is refused, and again when it knows every queue: it checks the keys of the queues that it knows.
func (p *processor) prepare(ctx context.Context) error {
	if err := retry.WaitFit(ctx, p.store, &p.outage); err != nil {
		return err
	}
	for _, queue := range slices.Sorted(maps.Keys(p.config.Queues)) {
		n := 0
		err := retry.Until(ctx, &p.outage, "partitions", func(ctx context.Context) (err error) {
			n, err = p.store.Partitions(ctx, queue)
			return err
		})
		if err != nil {
			return fmt.Errorf("queue %q: %w", queue, err)
		}
		p.serve(queue, n, p.config.Queues[queue])
	}
	return retry.WaitFit(ctx, p.store, &p.outage)
}

// run runs the parts until ctx ends and the worker has drained.
func (p *processor) run(ctx context.Context) Drained {
	base := context.WithoutCancel(ctx)
	listener := p.store.Listen(p.name)
	heartbeat := newHeartbeat(listener, p.config.SessionTTL)
	reaper := reap.New(p.store, p.config.SessionTTL, p.config.Log)
	p.connect(base, listener, heartbeat, reaper)
	p.logStart()

	live, end := context.WithCancel(base)
	var loops sync.WaitGroup
	loops.Go(func() { heartbeat.run(live) })
	loops.Go(func() { reaper.Run(live) })
	loops.Go(func() { p.caller.run(live) })

	drained := p.loop(ctx.Done())

	end()
	p.caller.stop()
	if err := listener.Close(); err != nil {
		p.config.Log.Debug("chime: closing the subscription", "event", "store.trouble", "action", "close", "error", err)
	}
	done := make(chan struct{})
	go func() {
		loops.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
	return drained
}
