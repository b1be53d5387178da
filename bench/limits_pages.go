package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore"
)

const (
	pageJobs     = 100     // of a page
	pageDepth    = 300_000 // waiting jobs before a page: pages go no deeper
	deepPage     = 500     // of a page on the way there: the maximum
	pageBacklogs = 10      // number of backlogs that are searched
)

// The content of the store when pages are read and jobs are cancelled.
const (
	manyWaiting   filling = "1,000,000 jobs waiting (pages from the 300,000th on)"
	manyDead      filling = "1,000,000 dead jobs kept"
	manySchedules filling = "1,000,000 schedules around"
)

// pageCalls are the calls of users who read a store and cancel jobs.
var pageCalls = []largestCall{
	{"page of 100 waiting", nil, manyWaiting, func(ctx context.Context, l *limits) error { return l.pageWaiting(ctx) }},
	{"page of 100 dead", nil, manyDead, func(ctx context.Context, l *limits) error { return l.pageDead(ctx) }},
	{"page of 100 schedules", nil, manySchedules, func(ctx context.Context, l *limits) error { return l.pageSchedules(ctx) }},
	{"cancel one waiting", nil, manyWaiting, func(ctx context.Context, l *limits) error { return l.cancel(ctx) }},
}

// fillMany stores a number of items of one kind. ok is false if the filling is of another kind.
func (l *limits) fillMany(ctx context.Context, fill filling, n int) (ok bool, err error) {
	switch fill {
	case manyWaiting:
		return true, l.wait(ctx, n)
	case manyDead:
		return true, l.die(ctx, n)
	case manySchedules:
		l.n = n
		return true, l.declareAll(ctx, l.testbed)
	}
	return false, nil
}

// wait makes n ready.
func (l *limits) wait(ctx context.Context, n int) error {
	for range n / 500 {
		if err := l.jobs(ctx, 500); err != nil {
			return err
		}
	}
	return nil
}

// die makes n jobs dead, in a store that keeps all of them.
func (l *limits) die(ctx context.Context, n int) error {
	l.store = redisstore.New(l.client, redisstore.Options{Namespace: l.name, MaxDead: n, Logger: quiet})
	l.begin()
	for range n / 500 {
		if err := l.jobs(ctx, 500); err != nil {
			return err
		}
		answer, err := l.takenAll(ctx, 500, protocol.WorkCall{})
		if err != nil {
			return err
		}
		if _, err = l.work(ctx, protocol.WorkCall{Settle: settlements(answer.Taken, protocol.SettleDead, nil)}); err != nil {
			return err
		}
	}
	return nil
}

// pageWaiting reads the page that begins after 300,000 jobs, or after nine tenths of them.
func (l *limits) pageWaiting(ctx context.Context) error {
	if l.after == "" {
		filter := chime.JobFilter{Queue: l.part.Queue, State: chime.JobWaiting, Limit: deepPage}
		for seen := 0; seen < min(pageDepth, l.testbed.sizes.backlog*pageBacklogs*9/10)-2*deepPage; {
			page, err := chime.NewJobs(l.store).Page(ctx, filter)
			if err != nil {
				return err
			}
			filter.After = page.Next
			seen += len(page.Jobs)
		}
		l.after = filter.After
	}
	return l.page(ctx, chime.JobWaiting)
}

// pageDead reads a page, each time the next one.
func (l *limits) pageDead(ctx context.Context) error { return l.page(ctx, chime.JobDead) }

func (l *limits) page(ctx context.Context, state chime.JobState) error {
	return l.timed(ctx, func() error {
		page, err := chime.NewJobs(l.store).Page(ctx, chime.JobFilter{Queue: l.part.Queue, State: state, Limit: pageJobs, After: l.after})
		if err != nil {
			return err
		}
		if len(page.Jobs) != pageJobs || page.Restarted {
			return fmt.Errorf("a page has %d jobs, want %d; restarted: %v", len(page.Jobs), pageJobs, page.Restarted)
		}
		l.after = page.Next
		return nil
	})
}

// pageSchedules lists 100 schedules from a random place.
func (l *limits) pageSchedules(ctx context.Context) error {
	after := scheduleName(rand.IntN(l.n - pageJobs))
	return l.timed(ctx, func() error {
		n := 0
		for _, err := range chime.NewSchedules(l.store).List(ctx, chime.ScheduleFilter{After: after}) {
			if err != nil {
				return err
			}
			if n++; n == pageJobs {
				return nil
			}
		}
		return fmt.Errorf("%d schedules follow %s, want %d", n, after, pageJobs)
	})
}

// cancel cancels a random waiting job.
func (l *limits) cancel(ctx context.Context) error {
	id := fmt.Sprintf("job%010d", 1+rand.Int64N(l.ids))
	return l.timed(ctx, func() error {
		how, err := chime.NewJobs(l.store).Cancel(ctx, l.part.Queue, id)
		if err == nil && how != chime.CancelDone {
			err = fmt.Errorf("the cancel of %s says %v", id, how)
		}
		return err
	})
}
