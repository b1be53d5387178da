package work

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/batch"
	"github.com/chimejobs/chime/internal/carry"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/reap"
	"github.com/chimejobs/chime/internal/retry"
)

// Run takes and runs jobs until ctx ends and the worker has drained. It waits for a store that does not answer. It returns an error only if
// waiting cannot help; then it has taken no job. All its goroutines have ended when it returns, except handlers that never return and a call that
// the store does not end.
func Run(ctx context.Context, store protocol.Store, config *Config) (Drained, error) {
	outage := &retry.Outage{Log: config.Log, Role: "worker", Trouble: config.Observe.Trouble}
	lanes, err := prepare(ctx, store, config, outage)
	if ctx.Err() != nil {
		return Drained{}, nil
	}
	if err != nil {
		return Drained{}, err
	}
	return runParts(ctx, store, config, lanes, outage), nil
}

// prepare waits for the store and reads the partitions of the queues. It checks the store first, so that nothing is written to an unsuitable one.
func prepare(ctx context.Context, store protocol.Store, config *Config, outage *retry.Outage) (*lanes, error) {
	if err := retry.WaitFit(ctx, store, outage); err != nil {
		return nil, err
	}
	queues := slices.Sorted(maps.Keys(config.Queues))
	err := retry.Until(ctx, outage, "check", func(ctx context.Context) error { return store.CheckUse(ctx, protocol.UseWork, queues) })
	if err != nil {
		return nil, err
	}
	all := &lanes{strict: config.Strict}
	for _, queue := range queues {
		n := 0
		err := retry.Until(ctx, outage, "partitions", func(ctx context.Context) (err error) {
			n, err = store.Partitions(ctx, queue)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("queue %q: %w", queue, err)
		}
		all.add(queue, n, config.Queues[queue])
	}
	return all, nil
}

// carryTimeout is how long a worker that has drained waits until what its last outcomes have added is carried to other queues. Others carry the rest.
const carryTimeout = time.Second

// runParts starts the parts, runs the processor until ctx ends and the worker has drained, and ends the parts.
func runParts(ctx context.Context, store protocol.Store, config *Config, lanes *lanes, outage *retry.Outage) Drained {
	base := context.WithoutCancel(ctx)
	host, _ := os.Hostname() // empty: unknown
	name := protocol.NewWorkerName(host, os.Getpid(), buildVersion())
	config.worker = name
	listener := store.Listen(name)
	heartbeat := newHeartbeat(listener, store.Node, config.SessionTTL, config.Heartbeat)
	reaper, carrier := reap.New(store, config.SessionTTL, config.Log), carry.New(store, config.Log)
	batches := batch.NewReporter(store, carrier.Note, config.Log)
	live, end := context.WithCancel(base)
	callers := newCallers(live, store)
	slots := newSlots(config.Concurrency, config.Observe.Begun != nil || config.Observe.Slots != nil, config.Observe.Slots != nil)
	admission := newAdmission(config, store.MayReplan)
	reporter := newReporter(store)
	flights := newFlights(config, base, reporter, slots, heartbeat, admission)
	p := &processor{
		config: config, name: name, listener: listener, lanes: lanes, callers: callers, slots: slots, flights: flights,
		admission: admission, sessions: newSessions(config, name, heartbeat, flights, outage), reaper: reaper, relay: newRelay(reaper, carrier, batches, config.Log),
		wakeup: newWakeup(time.Now()), outage: outage, gathers: config.gathers(),
	}

	var loops sync.WaitGroup
	loops.Go(func() { heartbeat.run(live) })
	loops.Go(func() { reaper.Run(live) })
	loops.Go(func() { carrier.Run(live) })
	loops.Go(func() { batches.Run(live) })
	loops.Go(func() { reporter.run(live) })
	loops.Go(func() { retry.NewFitWatch(store, config.Log, "worker").Run(live) })
	loops.Go(func() { newAnnouncer(store, config).run(live) })

	logStart(config, name, store.Server())
	drained := p.loop(ctx.Done())
	flights.end(lanes.every())
	finishing, stop := context.WithTimeout(live, carryTimeout)
	batches.Finish(finishing) // it may add something to carry
	carrier.Finish(finishing)
	stop()

	end()
	callers.stop()
	done := make(chan struct{})
	go func() {
		if err := listener.Close(); err != nil {
			config.Log.Debug("chime: closing the subscription", "event", "store.trouble", "action", "close", "error", err)
		}
		callers.wait()
		loops.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
	return drained
}
