package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

const (
	loadJobs      = 1_000_000 // or ten backlogs in the short form
	loadSchedules = 10_000    // or a tenth of a backlog
	loadRuns      = 20        // that each schedule has made, and that are kept
	loadQueues    = 10        // on which jobs wait, and nobody takes them
	loadPatience  = 2 * time.Minute
	everyFailing  = 50 // one of this many runs fails
)

// What the jobs and the schedules of a load are called, and where they are. Workers take from the queues of schedules alone.
var (
	loadNames     = []string{"resize", "send", "import", "report", "charge"}
	servedQueues  = []string{"default", "mail", "media", "reports", "billing"}
	loadMoved     = []string{"moved-0", "moved-1"} // queues of which nothing but failures is known
	loadFailures  = []string{"dial tcp 10.0.%d.7:5432: connect: connection refused", "context deadline exceeded after %d ms", "no row %d", "status 503 from host %d", "card %d was declined"}
	awayFromToday = 24 * time.Hour // what is delayed and retried comes after the measure
)

// A load is a store with much in it, of which a little moves: schedules run, and are taken by a worker, which also has jobs that stay.
type load struct {
	*testbed
	client          *redis.Client
	store           *redisstore.Store
	jobs, schedules int

	ran     atomic.Int64  // runs of schedules
	failed  atomic.Int64  // jobs that were made to fail
	release chan struct{} // closed: the jobs that stay end
	stop    func() error  // of the roles
}

// openLoad fills the store, and leaves a scheduler and a worker running.
func openLoad(ctx context.Context, r *testbed) (*load, error) {
	client := redis.NewClient(&redis.Options{Addr: r.redis.addr})
	l := &load{
		testbed: r, client: client, store: redisstore.New(client, redisstore.Options{Logger: quiet}), release: make(chan struct{}),
		jobs: min(loadJobs, r.sizes.backlog*10), schedules: min(loadSchedules, r.sizes.backlog/10), stop: func() error { return nil },
	}
	for _, fill := range []func(context.Context) error{l.run, l.runBefore, l.pauseSome, l.fail, l.enqueueServed, l.enqueueWaiting} {
		if err := fill(ctx); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	return l, nil
}

func (l *load) close() error { return errors.Join(l.end(), l.client.Close()) }

// end ends the roles.
func (l *load) end() error {
	stop := l.stop
	l.stop = func() error { return nil }
	select {
	case <-l.release:
	default:
		close(l.release)
	}
	return stop()
}

// servedQueue is where a schedule's jobs run.
func servedQueue(i int) string { return servedQueues[i%len(servedQueues)] }

// rule is when a schedule runs: three of a hundred each minute, five each quarter of an hour, the others daily, and so spread that about as many run
// in each second.
func (l *load) rule(i int) (rec recurrence.Recurrence, period, spread time.Duration) {
	switch {
	case i%100 < 3:
		return recurrence.Recurrence{Cron: "* * * * *"}, time.Minute, time.Minute
	case i%100 < 8:
		return recurrence.Recurrence{Cron: "*/15 * * * *"}, 15 * time.Minute, 15 * time.Minute
	}
	return recurrence.Recurrence{Cron: fmt.Sprintf("%d %d * * *", i%60, i/60%24), TimeZone: "Europe/Berlin"}, 24 * time.Hour, time.Minute
}

// run declares the schedules in a scheduler that keeps running, beside a worker.
func (l *load) run(ctx context.Context) error {
	scheduler := chime.NewScheduler(l.store, chime.SchedulerOptions{Owner: "bench", Version: 1, Logger: quiet})
	for i := range l.schedules {
		rec, _, spread := l.rule(i)
		if err := scheduler.Schedule(scheduleName(i), rec, chime.JobName(loadNames[i%len(loadNames)]), chime.Queue(servedQueue(i)),
			chime.Args(map[string]int{"customer": i}), chime.Spread(spread), chime.MaxAttempts(1)); err != nil {
			return err
		}
	}
	weights := map[string]int{}
	for _, queue := range servedQueues {
		weights[queue] = 1
	}
	worker := chime.NewWorker(l.store, chime.WorkerOptions{Queues: weights, Concurrency: loadConcurrency, Logger: quiet})
	for _, name := range loadNames {
		worker.Handle(name, l.runOne)
	}
	worker.Handle("stay", func(ctx context.Context, _ *chime.Job) error {
		select {
		case <-l.release:
		case <-ctx.Done():
		}
		return nil
	})
	l.stop = runChime(scheduler, worker)
	return l.await(ctx, "schedules are declared", func() (bool, error) {
		placed := int64(0)
		queues, err := chime.NewQueues(l.store).List(ctx)
		for _, queue := range queues {
			placed += queue.Schedules
		}
		return placed == int64(l.schedules), err
	})
}

// runOne is the handler of a schedule: some runs fail.
func (l *load) runOne(context.Context, *chime.Job) error {
	if n := l.ran.Add(1); n%everyFailing == 0 {
		return loadFailure(n)
	}
	return nil
}

// loadFailure is one of a handful of errors.
func loadFailure(n int64) error { return fmt.Errorf(loadFailures[n%int64(len(loadFailures))], n) }

// await waits until a condition is true.
func (l *load) await(ctx context.Context, what string, is func() (bool, error)) error {
	for deadline := time.Now().Add(loadPatience); ; {
		done, err := is()
		switch {
		case err != nil || done:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("after %v it is not so that %s", loadPatience, what)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// runBefore runs past occurrences of each schedule, so that its history has runs and days.
func (l *load) runBefore(ctx context.Context) error {
	var next, placed atomic.Int64
	before, now := l.ran.Load(), time.Now()
	schedules := chime.NewSchedules(l.store)
	if err := fromMany(ctx, 16, l.schedules, func(ctx context.Context) error {
		i := int(next.Add(1)) - 1
		_, period, _ := l.rule(i)
		filled, err := schedules.Backfill(ctx, scheduleName(i), now.Add(-loadRuns*period), now)
		placed.Add(int64(filled.Placed))
		return err
	}); err != nil {
		return err
	}
	return l.await(ctx, "schedules have run", func() (bool, error) { return l.ran.Load()-before >= placed.Load(), nil })
}

// pauseSome pauses one schedule of a hundred.
func (l *load) pauseSome(ctx context.Context) error {
	for i := 99; i < l.schedules; i += 100 {
		if err := chime.NewSchedules(l.store).Pause(ctx, scheduleName(i), chime.Note{By: "anna", Text: "migration"}); err != nil {
			return err
		}
	}
	return nil
}

// fail creates dead jobs, as many as a queue keeps, and jobs that wait for another attempt.
func (l *load) fail(ctx context.Context) error {
	dead, retrying := l.jobs/100, l.jobs/50
	if err := errors.Join(
		l.enqueue(ctx, loadMoved[0], dead, func(int) []chime.EnqueueOption { return []chime.EnqueueOption{chime.MaxAttempts(1)} }),
		l.enqueue(ctx, loadMoved[1], dead, func(int) []chime.EnqueueOption { return []chime.EnqueueOption{chime.MaxAttempts(1)} }),
		l.enqueue(ctx, loadMoved[1], retrying, func(int) []chime.EnqueueOption {
			return []chime.EnqueueOption{chime.MaxAttempts(5), chime.Retry(chime.Fixed(awayFromToday))}
		}),
	); err != nil {
		return err
	}
	worker := chime.NewWorker(l.store, chime.WorkerOptions{Queues: map[string]int{loadMoved[0]: 1, loadMoved[1]: 1}, Concurrency: loadConcurrency, Logger: quiet})
	for _, name := range loadNames {
		worker.Handle(name, func(context.Context, *chime.Job) error { return loadFailure(l.failed.Add(1)) })
	}
	stop := runChime(worker)
	err := l.await(ctx, "jobs have failed", func() (bool, error) { return l.failed.Load() == int64(2*dead+retrying), nil })
	return errors.Join(err, stop())
}

// enqueueServed creates jobs that the worker runs, jobs whose results are kept, and jobs that are parked because they have no handler.
func (l *load) enqueueServed(ctx context.Context) error {
	enqueuer := chime.NewEnqueuer(l.store, chime.EnqueuerOptions{})
	var items []chime.Item
	add := func(n int, name string, options ...chime.EnqueueOption) {
		for range n {
			items = append(items, chime.Item{Name: name, Args: payloadOf(1), Options: options})
		}
	}
	add(10, "stay")
	add(100, "nobody-handles-this")
	add(500, loadNames[0], chime.Keep(awayFromToday))
	_, err := enqueuer.EnqueueMany(ctx, items)
	return err
}

// enqueueWaiting adds jobs that no worker takes: nine of ten wait, the others are delayed.
func (l *load) enqueueWaiting(ctx context.Context) error {
	each := (l.jobs - l.jobs/25) / loadQueues // without those that have failed
	for i := range loadQueues {
		if err := l.enqueue(ctx, waitingQueue(i), each, func(n int) []chime.EnqueueOption {
			if n%10 > 0 {
				return nil
			}
			return []chime.EnqueueOption{chime.In(awayFromToday + time.Duration(n)*time.Millisecond)}
		}); err != nil {
			return err
		}
	}
	return nil
}

func waitingQueue(i int) string { return fmt.Sprintf("waiting-%d", i%loadQueues) }

// enqueue adds n jobs to a queue.
func (l *load) enqueue(ctx context.Context, queue string, n int, options func(i int) []chime.EnqueueOption) error {
	enqueuer := chime.NewEnqueuer(l.store, chime.EnqueuerOptions{})
	for first := 0; first < n; first += fillBatch {
		items := make([]chime.Item, min(fillBatch, n-first))
		for i := range items {
			of := append([]chime.EnqueueOption{chime.Queue(queue)}, options(first+i)...)
			items[i] = chime.Item{Name: loadNames[(first+i)%len(loadNames)], Args: payloadOf(int64(first + i)), Options: of}
		}
		if _, err := enqueuer.EnqueueMany(ctx, items); err != nil {
			return err
		}
	}
	return nil
}
