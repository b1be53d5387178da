package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// maxCrashWait limits the wait for a job; some libraries take an hour.
const maxCrashWait = 180 * time.Second

// crashMeasure kills the process that runs a job while another one waits for work.
var crashMeasure = measure{
	name:  "crash",
	group: "crash",
	about: fmt.Sprintf("the process that runs a job is killed with SIGKILL while another worker waits: time until the job "+
		"starts again; default settings, waited for %v at most", maxCrashWait),
	concurrent: true,
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		if p.setting != "" && p.setting != "defaults" || r.sizes.short && p.library != chimePeer.library {
			return nil, errors.ErrUnsupported
		}
		took, err := crash(ctx, r, p)
		over := errors.Is(err, errOver)
		if err != nil && !over {
			return nil, err
		}
		return []figure{{name: "until it runs again", unit: "s", value: took.Seconds(), less: true, over: over}}, nil
	},
}

var errOver = errors.New("the job did not start again in time")

// crash returns the time from the kill to the job's second start, or maxCrashWait with errOver.
func crash(ctx context.Context, r *testbed, p peer) (time.Duration, error) {
	lib, err := p.open(ctx, r)
	if err != nil {
		return 0, err
	}
	defer lib.Close()
	first, err := startChild(ctx, r.roleOf(holdRole, p, 1))
	if err != nil {
		return 0, err
	}
	defer first.kill()
	if err := lib.Enqueue(ctx, payloadOf(1)); err != nil {
		return 0, err
	}
	if _, err := first.awaitJob(ctx, time.Minute); err != nil {
		return 0, fmt.Errorf("before the crash: %w", err)
	}
	second, err := startChild(ctx, r.roleOf(holdRole, p, 1))
	if err != nil {
		return 0, err
	}
	defer second.kill()
	// The worker is killed at a random phase of its heartbeat, and the other one has been idle for some seconds.
	if err := pause(ctx, 2*time.Second+rand.N(5*time.Second)); err != nil {
		return 0, err
	}
	killed := time.Now()
	first.kill()
	began, err := second.awaitJob(ctx, maxCrashWait)
	if errors.Is(err, errOver) {
		return maxCrashWait, err
	}
	return began.Sub(killed), err
}

// awaitJob waits until the child begins a job, and returns the time.
func (c *child) awaitJob(ctx context.Context, limit time.Duration) (time.Time, error) {
	select {
	case _, ok := <-c.begun:
		if !ok {
			<-c.ended
			return time.Time{}, fmt.Errorf("the child ended: %w", c.err)
		}
		return time.Now(), nil
	case <-time.After(limit):
		return time.Time{}, errOver
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}
