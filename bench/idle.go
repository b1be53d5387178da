package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"time"
)

const (
	idleSettle      = 3 * time.Second // after the start, before it counts
	idleConcurrency = 10              // of every idle worker
	idleMany        = 50              // processes
)

// What idle processes ask of the server and use themselves. One process of every peer, and all rounds, run at the same time,
// each on a server of its own; fifty of one peer are enough to fill a machine, and need no second round.
var (
	idleOne = measure{
		name: "idle", group: "idle", asleep: true,
		about: fmt.Sprintf("one worker process of %d at once on one empty queue, %v after its start; the server's CPU includes what it uses by itself",
			idleConcurrency, idleSettle),
		run: func(ctx context.Context, r *rig, p peer) ([]figure, error) {
			return idleAtDefaults(ctx, r, p, 1)
		},
	}
	idleFifty = measure{
		name: "idle 50", group: "idle", once: true, long: true,
		about: "the same with fifty worker processes",
		run: func(ctx context.Context, r *rig, p peer) ([]figure, error) {
			return idleAtDefaults(ctx, r, p, idleMany)
		},
	}
	idleQueues = measure{
		name: "idle 4 queues", group: "idle", asleep: true, only: []string{chimePeer.library},
		about: "one worker process on four empty queues",
		run: func(ctx context.Context, r *rig, p peer) ([]figure, error) {
			role := r.roleOf(queuesAct, p, idleConcurrency)
			role.Queues = 4
			return idle(ctx, r, role, 1)
		},
	}
	idleLeader = measure{
		name: "idle leader", group: "idle", asleep: true, only: []string{chimePeer.library},
		about: "one scheduler process, the leader, without schedules, beside a queue of which it knows",
		run: func(ctx context.Context, r *rig, p peer) ([]figure, error) {
			if err := fillAndClose(ctx, r, p, 1, fillBulk); err != nil {
				return nil, err
			}
			return idle(ctx, r, r.roleOf(scheduleAct, p, 0), 1)
		},
	}
	idleSparse = measure{
		name: "idle 50 + 1/s", group: "idle", once: true, only: []string{chimePeer.library},
		about: "fifty idle worker processes while one job a second is enqueued: all commands, for each job",
		run:   sparse,
	}
)

func idleAtDefaults(ctx context.Context, r *rig, p peer, processes int) ([]figure, error) {
	if p.setting != "" && p.setting != "defaults" {
		return nil, errors.ErrUnsupported
	}
	return idle(ctx, r, r.roleOf(idleAct, p, idleConcurrency), processes)
}

func idle(ctx context.Context, r *rig, role role, processes int) ([]figure, error) {
	spent, seconds, err := r.rest(ctx, role, processes, func(ctx context.Context) error { return pause(ctx, r.sizes.idle) })
	if err != nil {
		return nil, err
	}
	var figures []figure
	if calls := total(spent.calls); calls > 0 {
		figures = append(figures, figure{name: "commands/s", unit: "1/s", value: float64(calls) / seconds, less: true})
	}
	return append(figures,
		figure{name: "server CPU", unit: "ms/s", value: float64(spent.server.Microseconds()) / 1e3 / seconds, less: true},
		figure{name: "client CPU", unit: "ms/s", value: float64(spent.client.Microseconds()) / 1e3 / seconds, less: true},
	), nil
}

// sparse enqueues a job a second while many processes are idle.
func sparse(ctx context.Context, r *rig, p peer) ([]figure, error) {
	lib, err := p.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	var jobs atomic.Int64
	spent, _, err := r.rest(ctx, r.roleOf(idleAct, p, idleConcurrency), idleMany, func(ctx context.Context) error {
		for range int(r.sizes.sparse / time.Second) {
			if err := lib.Enqueue(ctx, payloadOf(jobs.Add(1))); err != nil {
				return err
			}
			if err := pause(ctx, time.Second); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	held, err := lib.Held(ctx)
	if err == nil && held > 0 {
		err = fmt.Errorf("%d of %d jobs have not run", held, jobs.Load())
	}
	return []figure{{name: "commands a job", value: float64(total(spent.calls)) / float64(jobs.Load()), less: true}}, err
}

// A repose is what processes and their server spent while there was little or nothing to do.
type repose struct {
	calls          map[string]int64 // by the command's name, those inside of scripts too
	server, client time.Duration
}

// rest starts the processes, lets them settle, and tells what is spent during meanwhile, and how many seconds that took.
func (r *rig) rest(ctx context.Context, role role, processes int, meanwhile func(context.Context) error) (repose, float64, error) {
	p, err := peerNamed(role.Peer)
	if err != nil {
		return repose{}, 0, err
	}
	all, err := startChildren(ctx, role, processes)
	if err != nil {
		return repose{}, 0, err
	}
	defer all.kill()
	if err := pause(ctx, idleSettle); err != nil {
		return repose{}, 0, err
	}
	before, err := r.repose(ctx, p, all)
	if err != nil {
		return repose{}, 0, err
	}
	began := time.Now()
	if err := meanwhile(ctx); err != nil {
		return repose{}, 0, err
	}
	seconds := time.Since(began).Seconds()
	after, err := r.repose(ctx, p, all)
	if err != nil {
		return repose{}, 0, err
	}
	for name, calls := range before.calls {
		after.calls[name] -= calls
	}
	maps.DeleteFunc(after.calls, func(_ string, calls int64) bool { return calls == 0 })
	return repose{after.calls, after.server - before.server, after.client - before.client}, seconds, nil
}

func (r *rig) repose(ctx context.Context, p peer, all children) (repose, error) {
	used, err := r.server(p).usage(ctx)
	if err != nil {
		return repose{}, err
	}
	now := repose{server: used.cpu, client: all.cpu(), calls: make(map[string]int64)}
	if r.server(p) == server(r.redis) {
		now.calls, err = r.redis.calls(ctx)
	}
	return now, err
}

// calls are the commands that the server has executed, by name, without those that ask for them.
func (s *redisServer) calls(ctx context.Context) (map[string]int64, error) {
	info, err := s.client.InfoMap(ctx, "commandstats").Result()
	if err != nil {
		return nil, err
	}
	calls := make(map[string]int64)
	for key, text := range info["Commandstats"] {
		if name := strings.TrimPrefix(key, "cmdstat_"); name != "info" {
			n, _, _ := strings.Cut(strings.TrimPrefix(text, "calls="), ",")
			calls[name] = number(n)
		}
	}
	return calls, nil
}

func total(calls map[string]int64) int64 {
	var all int64
	for _, n := range calls {
		all += n
	}
	return all
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
