package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	sharingProcesses = 4
	sharingAtOnce    = 25 // each: together as many as one process has in process 100 and handlers 5ms
	tallyEvery       = 5 * time.Millisecond
)

// sharedMeasure lets several processes work off one queue.
func sharedMeasure(name string, each time.Duration) measure {
	handlers := "empty handlers"
	if each > 0 {
		handlers = fmt.Sprintf("handlers that wait %v", each)
	}
	return measure{
		name: name, group: "processes", slow: true, long: each != shortFormHandler,
		about: fmt.Sprintf("the backlog of one queue worked off by %d processes that start at the same time, %d at once each, with %s; "+
			"least to most share is what the process with the fewest jobs ran, in percent of what the one with the most ran", sharingProcesses, sharingAtOnce, handlers),
		run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
			lib, err := p.open(ctx, r)
			if err != nil {
				return nil, err
			}
			defer lib.Close()
			own := *r
			if each > 0 {
				own.sizes = r.sizes.forHandlers(each, sharingProcesses*sharingAtOnce)
			}
			if err := fillBulk(ctx, lib, own.sizes.backlog); err != nil {
				return nil, err
			}
			var handler waiting
			e, shares, err := workOffTogether(ctx, &own, p, lib, each, &handler)
			if err != nil {
				return nil, err
			}
			figures := []figure{e.rate()}
			if each > 0 {
				figures = append(figures, busyShare(e.rate().value, each, sharingProcesses*sharingAtOnce), handler.share(e.rate().value, sharingProcesses*sharingAtOnce))
			}
			return append(append(figures, evenness(shares)), e.each().cpu()...), nil
		},
	}
}

// evenness is how evenly the jobs went to the processes.
func evenness(shares []int64) figure {
	return figure{name: "least to most share", unit: "%", value: 100 * float64(slices.Min(shares)) / float64(max(1, slices.Max(shares)))}
}

// workOffTogether lets several children run the jobs of fillBulk, until all have run or the time is over. It returns the time and the number of jobs
// of each child, and adds the time of handlers to handler. Afterwards the store must have exactly the jobs that have not run.
func workOffTogether(ctx context.Context, r *testbed, p peer, lib library, each time.Duration, handler *waiting) (e resources, shares []int64, err error) {
	role := r.roleOf(workRole, p, sharingAtOnce)
	role.Handler = each
	all, err := startChildren(ctx, role, sharingProcesses)
	if err != nil {
		return resources{}, nil, err
	}
	defer all.kill()
	total, idle := int64(r.sizes.backlog), all.cpu()
	var used time.Duration
	e, err = watch(ctx, r.server(p), func() (int64, time.Duration, error) {
		began := time.Now()
		if err := all.begin(); err != nil {
			return 0, 0, err
		}
		tallies, err := all.awaitJobs(ctx, total, r.sizes.workOff)
		if err != nil {
			return 0, 0, err
		}
		took := time.Since(began)
		var jobs, last int64
		for _, t := range tallies {
			shares = append(shares, t.jobs)
			jobs, last = jobs+t.jobs, max(last, t.last)
		}
		if jobs == total {
			took = time.Duration(last - began.UnixNano())
		}
		used = all.cpu() - idle
		if err := all.stop(); err != nil {
			return 0, 0, err
		}
		if jobs == 0 {
			return 0, 0, fmt.Errorf("no job ran in %v", took.Round(time.Millisecond))
		}
		return jobs, took, nil
	})
	if err != nil {
		return resources{}, nil, err
	}
	e.client = used // the children's, not this process's
	var ran int64
	for _, c := range all {
		t := c.tally.Load()
		ran += t.jobs
		handler.ended.Add(t.jobs)
		handler.spent.Add(t.spent)
	}
	held, err := lib.Held(ctx)
	if err == nil && held != total-ran {
		err = fmt.Errorf("the store holds %d jobs after %d of %d ran", held, ran, total)
	}
	return e, shares, err
}

// A tally is how many jobs a child has run, when it ended the last one, Unix ns, and how long their handlers took in all, ns.
type tally struct{ jobs, last, spent int64 }

// awaitJobs waits until the children have run a number of jobs together, or until the time is over. It returns the number of each child.
func (all children) awaitJobs(ctx context.Context, total int64, limit time.Duration) ([]tally, error) {
	for end := time.Now().Add(limit); ; {
		tallies := make([]tally, len(all))
		var jobs int64
		for i, c := range all {
			tallies[i] = *c.tally.Load()
			jobs += tallies[i].jobs
			select {
			case <-c.ended:
				return nil, fmt.Errorf("a child ended too early: %v", c.err)
			default:
			}
		}
		if jobs >= total || time.Now().After(end) {
			return tallies, nil
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// begin starts the workers of the waiting children.
func (all children) begin() error {
	for _, c := range all {
		if _, err := io.WriteString(c.stdin, beginLine+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// stop drains all children at the same time.
func (all children) stop() error {
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, c := range all {
		wait.Go(func() { errs[i] = c.stop() })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// work is the child's side: it starts its worker when begin is closed and prints its tally while it works, and at the end.
func (role role) work(ctx context.Context, lib library, begin <-chan struct{}) (stop func() error) {
	done := make(chan error, 1)
	go func() { done <- role.workUntil(ctx, lib, begin) }()
	return func() error { return errors.Join(<-done, lib.Close()) }
}

func (role role) workUntil(ctx context.Context, lib library, begin <-chan struct{}) error {
	select {
	case <-begin:
	case <-ctx.Done():
		return nil
	}
	var jobs, last atomic.Int64
	var handler waiting
	printed := int64(0)
	printTally := func() {
		if n := jobs.Load(); n != printed {
			fmt.Printf("%s%d %d %d\n", ranLine, n, last.Load(), handler.spent.Load())
			printed = n
		}
	}
	drain, err := lib.Work(role.Concurrency, func(payload []byte) {
		if _, err := numberIn(payload); err != nil {
			return // it counts as not run
		}
		handler.wait(role.Handler)
		last.Store(time.Now().UnixNano())
		jobs.Add(1)
	})
	if err != nil {
		return err
	}
	for ticker := time.NewTicker(tallyEvery); ctx.Err() == nil; {
		select {
		case <-ticker.C:
			printTally()
		case <-ctx.Done():
			ticker.Stop()
		}
	}
	err = drain()
	printTally()
	return err
}

// tallyIn reads the rest of a ranLine.
func tallyIn(text string) *tally {
	jobs, rest, _ := strings.Cut(text, " ")
	last, spent, _ := strings.Cut(rest, " ")
	return &tally{number(jobs), number(last), number(spent)}
}
