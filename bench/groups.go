package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

const (
	manyGroups   = 1000
	groupsAtOnce = 100 // jobs of a call, and the concurrency
)

// tenant is the option that puts a job into one of n groups, in turn.
func tenant(n int) func(number int) []chime.EnqueueOption {
	return func(number int) []chime.EnqueueOption {
		return []chime.EnqueueOption{chime.Group(fmt.Sprint("tenant-", number%n))}
	}
}

// openTenants opens chime on an empty store. Its jobs are in n groups of the default queue with this rule for each; n = 0: in no group.
func openTenants(ctx context.Context, r *testbed, n int, rule protocol.GroupRule) (*chimeLibrary, error) {
	if err := r.redis.empty(ctx); err != nil {
		return nil, err
	}
	lib := openObserved(r, nil)
	if n == 0 {
		return lib, nil
	}
	lib.options = tenant(n)
	if rule == (protocol.GroupRule{}) {
		return lib, nil
	}
	return lib, lib.store.Protocol().SetGroups(ctx, "default", rule)
}

// groupsLife takes plain jobs, jobs of groups, and jobs of groups with limits through their whole life.
var groupsLife = measure{
	name: "groups life", group: "groups", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("what a job costs from enqueue to end: %d enqueued in a call and %[1]d at once, empty handlers; plain jobs, jobs of %d groups, those of "+
		"groups that may run 10 jobs at once, and those of groups that may also start 1,000,000 jobs a minute, so no limit is reached. A job with a limit of "+
		"starts is not taken ahead", groupsAtOnce, manyGroups),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		var all []figure
		var plain, plainRate float64
		for _, kind := range []struct {
			name   string
			groups int
			rule   protocol.GroupRule
		}{
			{"", 0, protocol.GroupRule{}},
			{"to plain ones", manyGroups, protocol.GroupRule{}},
			{"to plain ones, 10 at once", manyGroups, protocol.GroupRule{Running: 10}},
			{"to plain ones, 10 at once and starts", manyGroups, protocol.GroupRule{Running: 10, Starts: 1_000_000, Per: time.Minute}},
		} {
			in, out, err := lifeInGroups(ctx, r, p, kind.groups, kind.rule)
			if err != nil {
				return nil, err
			}
			cpu, rate := in.each().server+out.each().server, out.rate().value
			switch {
			case kind.groups == 0:
				plain, plainRate = cpu, rate
			case kind.rule == (protocol.GroupRule{}):
				all = append(all,
					figure{name: "jobs/s", unit: "1/s", value: rate},
					figure{name: "jobs/s of plain ones", unit: "%", value: 100 * rate / plainRate},
					figure{name: "server CPU a job, in", unit: "µs", value: in.each().server, less: true},
					figure{name: "server CPU a job, out", unit: "µs", value: out.each().server, less: true},
					figure{name: "plain jobs, server CPU a job", unit: "µs", value: plain, less: true})
			}
			if kind.groups > 0 {
				all = append(all, figure{name: "server CPU " + kind.name, unit: "×", value: cpu / plain, less: true})
			}
		}
		return all, nil
	},
}

// lifeInGroups enqueues a backlog of jobs in groups and works it off.
func lifeInGroups(ctx context.Context, r *testbed, p peer, groups int, rule protocol.GroupRule) (in, out resources, err error) {
	lib, err := openTenants(ctx, r, groups, rule)
	if err != nil {
		return in, out, err
	}
	defer lib.Close()
	in, err = watch(ctx, r.redis, func() (int64, time.Duration, error) {
		began := time.Now()
		err := fillBatches(ctx, lib, r.sizes.backlog, groupsAtOnce)
		return int64(r.sizes.backlog), time.Since(began), err
	})
	if err == nil {
		out, err = workOff(ctx, r, p, lib, groupsAtOnce, doNothing)
	}
	return in, out, err
}

// groupsMemory compares what jobs of groups and plain ones take in the server.
var groupsMemory = measure{
	name: "groups memory", group: "groups", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("bytes in the server for a job of 100 bytes that waits in one of %d groups, compared with one without a group", manyGroups),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		if err := r.redis.empty(ctx); err != nil {
			return nil, err
		}
		plain, err := memoryOf(ctx, r, p, fillBulk)
		if err != nil {
			return nil, err
		}
		if err := r.redis.empty(ctx); err != nil {
			return nil, err
		}
		each, err := memoryOf(ctx, r, p, func(ctx context.Context, lib library, n int) error {
			lib.(*chimeLibrary).options = tenant(manyGroups)
			return fillBulk(ctx, lib, n)
		})
		return []figure{
			{name: "memory a job", unit: "B", value: each, less: true},
			{name: "more than a plain one", unit: "B", value: each - plain, less: true},
		}, err
	},
}

// groupsBusy works off jobs of groups of which each may run one job at once, with handlers that wait.
var groupsBusy = measure{
	name: "groups of one slot", group: "groups", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("a backlog of jobs of %d groups, each of which may run one job at once, worked off by one process with handlers that wait %v, %d at "+
		"once; as in handlers", manyGroups, shortFormHandler, groupsAtOnce),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		lib, err := openTenants(ctx, r, manyGroups, protocol.GroupRule{Running: 1})
		if err != nil {
			return nil, err
		}
		defer lib.Close()
		own := *r
		own.sizes = r.sizes.forHandlers(shortFormHandler, groupsAtOnce)
		if err := fillBulk(ctx, lib, own.sizes.backlog); err != nil {
			return nil, err
		}
		var handler waiting
		e, err := workOff(ctx, &own, p, lib, groupsAtOnce, func() { handler.wait(shortFormHandler) })
		if err != nil {
			return nil, err
		}
		rate := e.rate()
		return append([]figure{rate, busyShare(rate.value, shortFormHandler, groupsAtOnce), handler.share(rate.value, groupsAtOnce)}, e.each().cpu()...), nil
	},
}

// besideTries is how many times a job is awaited beside a backlog, and without it.
const besideTries = 15

// groupsBeside starts a worker where one group has a backlog and another one has a single job.
var groupsBeside = measure{
	name: "groups beside a backlog", group: "groups", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("one group has a million jobs (ten backlogs), another one has one: from the start of a worker, %d at once, until the single job starts; and "+
		"that on a queue without the million. The median of %d starts of each kind", groupsAtOnce, besideTries),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		var took [2][]float64
		for kind := range took {
			lib, err := openTenants(ctx, r, 1, protocol.GroupRule{})
			if err != nil {
				return nil, err
			}
			defer lib.Close()
			if kind == 1 {
				err = fillBulk(ctx, lib, 10*r.sizes.backlog)
			}
			for range besideTries {
				if err == nil {
					var d time.Duration
					d, err = untilOther(ctx, lib)
					took[kind] = append(took[kind], micros(d)/1e3)
				}
			}
			if err != nil {
				return nil, err
			}
		}
		empty, beside := middle(took[0]), middle(took[1])
		return []figure{
			{name: "empty queue", unit: "ms", value: empty, less: true},
			{name: "beside the backlog", unit: "ms", value: beside, less: true},
			{name: "to an empty queue", unit: "×", value: beside / empty, less: true},
		}, nil
	},
}

// untilOther enqueues a job of another group, starts a worker and returns the time until that job starts.
func untilOther(ctx context.Context, lib *chimeLibrary) (time.Duration, error) {
	const number = -1 // its payload
	if _, err := lib.enqueuer.Enqueue(ctx, jobName, payloadOf(number), chime.Group("other")); err != nil {
		return 0, err
	}
	started := make(chan time.Time, 1)
	began := time.Now()
	stop, err := lib.Work(groupsAtOnce, func(payload []byte) {
		if n, err := numberIn(payload); err == nil && n == number {
			started <- time.Now()
		}
	})
	if err != nil {
		return 0, err
	}
	var at time.Time
	select {
	case at = <-started:
	case <-time.After(10 * time.Second):
		err = errors.New("the job of the other group has not started within 10 s")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return at.Sub(began), errors.Join(err, stop())
}
