package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	idleSettle      = 3 * time.Second // after the start, before it counts
	idleConcurrency = 10              // of every idle worker
	idleMany        = 50              // processes
	idleDeclared    = 100             // schedules

	// longestPoll is the longest time between two polls of an idle worker of chime; 10 s is the shortest. Processes that start together
	// poll together: a window that is no multiple of it has too many polls, or none.
	longestPoll = 12 * time.Second
	sparseTime  = 2 * longestPoll
)

// What idle processes ask of the server and use themselves. Every peer runs at the same time, each on a server of its own, and
// so do all rounds but those of fifty processes of every peer.
var (
	idleOne = measure{
		name: "idle", group: "idle", concurrent: true,
		about: fmt.Sprintf("one worker process of %d at once on one empty queue, %v after its start; the server's CPU includes what it uses by itself",
			idleConcurrency, idleSettle),
		run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
			return idleAtDefaults(ctx, r, p, 1)
		},
	}
	idleFifty = measure{
		name: "idle 50", group: "idle", concurrent: true, roundByRound: true, long: true,
		about: "the same with fifty worker processes of every peer at the same time",
		run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
			return idleAtDefaults(ctx, r, p, idleMany)
		},
	}
	idleQueues = measure{
		name: "idle 4 queues", group: "idle", concurrent: true, only: []string{chimePeer.library},
		about: "one worker process on four empty queues",
		run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
			role := r.roleOf(queuesRole, p, idleConcurrency)
			role.Queues = 4
			return idle(ctx, r, role, 1)
		},
	}
	idleLeader = measure{
		name: "idle leader", group: "idle", concurrent: true, only: []string{chimePeer.library},
		about: "one scheduler process, the leader, without schedules, with one queue",
		run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
			if err := fillAndClose(ctx, r, p, 1, fillBulk); err != nil {
				return nil, err
			}
			return idle(ctx, r, r.roleOf(scheduleRole, p, 0), 1)
		},
	}
	idleSchedules = measure{
		name: "idle leader of schedules", group: "idle", concurrent: true, only: []string{chimePeer.library},
		about: fmt.Sprintf("one scheduler process, the leader, with %d yearly schedules that it has declared", idleDeclared),
		run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
			role := r.roleOf(scheduleRole, p, 0)
			role.Schedules = idleDeclared
			return idle(ctx, r, role, 1)
		},
	}
	idleSparse = measure{
		name: "idle 50 + 1/s", group: "idle", concurrent: true, slow: true, only: []string{chimePeer.library},
		about: fmt.Sprintf("fifty idle worker processes while one job a second is enqueued: all commands, for each job, of %v that begin "+
			"%v after the start, the longest time between two polls", sparseTime, longestPoll),
		run: sparse,
	}
)

func idleAtDefaults(ctx context.Context, r *testbed, p peer, processes int) ([]figure, error) {
	if p.setting != "" && p.setting != "defaults" {
		return nil, errors.ErrUnsupported
	}
	return idle(ctx, r, r.roleOf(idleRole, p, idleConcurrency), processes)
}

func idle(ctx context.Context, r *testbed, role role, processes int) ([]figure, error) {
	watched := r.sizes.idle
	if processes > 1 {
		watched = r.sizes.idleMany
	}
	used, seconds, err := r.usageMeanwhile(ctx, role, processes, idleSettle, func(ctx context.Context) error { return pause(ctx, watched) })
	if err != nil {
		return nil, err
	}
	var figures []figure
	if used.commands > 0 {
		figures = append(figures, figure{name: "commands/s", unit: "1/s", value: float64(used.commands) / seconds, less: true})
	}
	return append(figures,
		figure{name: "server CPU", unit: "ms/s", value: float64(used.server.Microseconds()) / 1e3 / seconds, less: true},
		figure{name: "client CPU", unit: "ms/s", value: float64(used.client.Microseconds()) / 1e3 / seconds, less: true},
	), nil
}

// sparse enqueues a job a second while many processes are idle.
func sparse(ctx context.Context, r *testbed, p peer) ([]figure, error) {
	lib, err := p.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	var jobs atomic.Int64
	used, _, err := r.usageMeanwhile(ctx, r.roleOf(idleRole, p, idleConcurrency), idleMany, longestPoll, func(ctx context.Context) error {
		for range int(sparseTime / time.Second) {
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
	return []figure{{name: "commands a job", value: float64(used.commands) / float64(jobs.Load()), less: true}}, err
}

// An idleUsage is what processes and their server used while there was little or nothing to do.
type idleUsage struct {
	commands       int64 // those inside of scripts too; 0 where the server does not count them
	server, client time.Duration
}

// usageMeanwhile starts the processes, waits, and returns what is used during meanwhile, and how many seconds that took.
func (r *testbed) usageMeanwhile(ctx context.Context, role role, processes int, wait time.Duration, meanwhile func(context.Context) error) (
	idleUsage, float64, error,
) {
	p, err := peerNamed(role.Peer)
	if err != nil {
		return idleUsage{}, 0, err
	}
	all, err := startChildren(ctx, role, processes)
	if err != nil {
		return idleUsage{}, 0, err
	}
	defer all.kill()
	if err := pause(ctx, wait); err != nil {
		return idleUsage{}, 0, err
	}
	before, err := r.idleUsage(ctx, p, all)
	if err != nil {
		return idleUsage{}, 0, err
	}
	began := time.Now()
	if err := meanwhile(ctx); err != nil {
		return idleUsage{}, 0, err
	}
	seconds := time.Since(began).Seconds()
	after, err := r.idleUsage(ctx, p, all)
	if err != nil {
		return idleUsage{}, 0, err
	}
	return idleUsage{after.commands - before.commands, after.server - before.server, after.client - before.client}, seconds, nil
}

func (r *testbed) idleUsage(ctx context.Context, p peer, all children) (idleUsage, error) {
	used, err := r.server(p).usage(ctx)
	if err != nil {
		return idleUsage{}, err
	}
	return idleUsage{used.commands, used.cpu, all.cpu()}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
