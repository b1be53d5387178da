package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/shape"
	"github.com/chimejobs/chime/redisstore"
)

const (
	deadQueues  = 31
	deadTimes   = 60 // pages of each kind that are timed
	deadMeasure = "dashboard dead"
)

// deadPages are the pages that show what fails.
var deadPages = []pageKind{
	{name: "overview", address: always("")},
	{name: "failures", address: always("failures"), looks: true},
	{name: "a group", address: func(_ *openPages, i int) string {
		kind := i % len(loadNames)
		return "failures/" + loadNames[kind] + "?error=" + url.QueryEscape(shape.Of(loadFailure(int64(kind)).Error()))
	}, looks: true},
	{name: "a filter", address: func(_ *openPages, i int) string {
		return "jobs?q=" + url.QueryEscape(fmt.Sprintf(`state:dead job:%s error:"503 from host %d"`, loadNames[3], 3+5*i*1000))
	}, looks: true},
	{name: "a filter by time", address: func(_ *openPages, i int) string {
		return "jobs?q=" + url.QueryEscape("state:dead newer:2h job:"+loadNames[i%len(loadNames)])
	}, looks: true},
	{name: "newest first", address: always("jobs?state=dead&limit=200")},
	{name: "oldest first", address: always("jobs?state=dead&sort=oldest&limit=200")},
}

// dashboardDead opens the dashboard of a store in which nearly everything is dead.
var dashboardDead = measure{
	name: deadMeasure, group: "watched", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("%d dead jobs on %d queues (a fifth of that in the short form), of five names with five errors. A page is the first one after a change, so that it "+
		"reads all that it shows; %d pages of each kind, one after the other", loadJobs, deadQueues, deadTimes),
	run: func(ctx context.Context, r *testbed, _ peer) (figures []figure, err error) {
		l := openDead(r)
		defer func() { err = errors.Join(err, l.close()) }()
		if err := l.die(ctx); err != nil {
			return nil, err
		}
		p, err := openDashboard(l)
		if err != nil {
			return nil, err
		}
		defer p.close()
		return p.ofDead(ctx)
	},
}

func openDead(r *testbed) *load {
	client := redis.NewClient(&redis.Options{Addr: r.redis.addr})
	n := min(loadJobs, r.sizes.backlog*10)
	return &load{
		testbed: r, client: client, store: redisstore.New(client, redisstore.Options{Logger: quiet, MaxDead: n}), jobs: n, release: make(chan struct{}),
		stop: func() error { return nil },
	}
}

// deadQueue is where dead jobs are. The first one is also the queue that is changed before each page.
func deadQueue(i int) string {
	if i == 0 {
		return waitingQueue(0)
	}
	return fmt.Sprintf("dead-%02d", i)
}

// die fills the queues with dead jobs.
func (l *load) die(ctx context.Context) error {
	if err := l.redis.empty(ctx); err != nil {
		return err
	}
	each, weights := l.jobs/deadQueues, map[string]int{}
	for i := range deadQueues {
		weights[deadQueue(i)] = 1
		if err := l.enqueue(ctx, deadQueue(i), each, func(int) []chime.EnqueueOption { return []chime.EnqueueOption{chime.MaxAttempts(1)} }); err != nil {
			return err
		}
	}
	worker := chime.NewWorker(l.store, chime.WorkerOptions{Queues: weights, Concurrency: loadConcurrency, Logger: quiet})
	for kind, name := range loadNames {
		worker.Handle(name, func(context.Context, *chime.Job) error {
			return loadFailure(l.failed.Add(1)*int64(len(loadFailures)) + int64(kind))
		})
	}
	stop := runChime(worker)
	err := l.await(ctx, "all jobs are dead", func() (bool, error) {
		dead := int64(0)
		queues, err := chime.NewQueues(l.store).List(ctx)
		for _, queue := range queues {
			dead += queue.Dead
		}
		return dead == int64(each*deadQueues), err
	})
	return errors.Join(err, stop())
}

// ofDead measures the pages.
func (p *openPages) ofDead(ctx context.Context) (figures []figure, err error) {
	own, err := p.costOf(ctx, func() error { return nil })
	if err != nil {
		return nil, err
	}
	for _, kind := range deadPages {
		times := make([]float64, deadTimes)
		for i := range times {
			if err := p.change(ctx); err != nil {
				return nil, err
			}
			page, err := p.read(ctx, kind, i)
			if err != nil {
				return nil, err
			}
			times[i] = micros(page.took) / 1e3
		}
		slices.Sort(times)
		i := deadTimes
		each, err := p.costOf(ctx, func() error {
			_, err := p.read(ctx, kind, i)
			i++
			return err
		})
		if err != nil {
			return nil, err
		}
		figures = append(figures,
			figure{name: kind.name + pageTime, unit: "ms", value: percentile(times, 95), less: true},
			figure{name: kind.name + pageCPU, unit: "ms", value: max(0, each.cpu-own.cpu), less: true},
			figure{name: kind.name + pageCommands, value: each.commands, less: true},
			figure{name: kind.name + pageSends, value: each.sent, less: true})
	}
	return figures, nil
}
