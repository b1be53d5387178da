package main

import (
	"context"
	"errors"
	"time"

	"github.com/gocraft/work"
	"github.com/gomodule/redigo/redis"
)

var (
	gocraftDefaults = peer{
		library: "gocraft", setting: "defaults",
		about: "a pool of 5 connections, as its README shows",
		open:  openGocraft(5),
	}
	gocraftTuned = peer{
		library: "gocraft", setting: "tuned",
		about: "a pool of 120 connections",
		open:  openGocraft(120),
	}
)

const gocraftNamespace = "bench"

type gocraftLibrary struct {
	pool     *redis.Pool
	enqueuer *work.Enqueuer
}

func openGocraft(connections int) func(context.Context, *testbed) (library, error) {
	return func(_ context.Context, r *testbed) (library, error) {
		pool := &redis.Pool{
			MaxActive: connections, MaxIdle: connections, Wait: true,
			Dial: func() (redis.Conn, error) { return redis.Dial("tcp", r.redis.addr) },
		}
		return &gocraftLibrary{pool, work.NewEnqueuer(gocraftNamespace, pool)}, nil
	}
}

// Enqueue: its arguments are JSON, where the payload is a string of the same length.
func (l *gocraftLibrary) Enqueue(_ context.Context, payload []byte) error {
	_, err := l.enqueuer.Enqueue(jobName, work.Q{"p": string(payload)})
	return err
}

// EnqueueIn rounds up: it counts in whole seconds.
func (l *gocraftLibrary) EnqueueIn(_ context.Context, payload []byte, d time.Duration) error {
	seconds := int64((d + time.Second - 1) / time.Second)
	_, err := l.enqueuer.EnqueueIn(jobName, seconds, work.Q{"p": string(payload)})
	return err
}

// EnqueueMany is not supported: gocraft/work has no bulk call.
func (l *gocraftLibrary) EnqueueMany(context.Context, [][]byte) error { return errors.ErrUnsupported }

func (l *gocraftLibrary) Work(concurrency int, handle func(payload []byte)) (func() error, error) {
	pool := work.NewWorkerPool(struct{}{}, uint(concurrency), gocraftNamespace, l.pool)
	pool.Job(jobName, func(job *work.Job) error {
		handle([]byte(job.ArgString("p")))
		return job.ArgError()
	})
	pool.Start()
	return func() error { pool.Stop(); return nil }, nil
}

// EnqueueTo has a type of job for each queue: that is what gocraft's queues are.
func (l *gocraftLibrary) EnqueueTo(ctx context.Context, queue string, payloads [][]byte) error {
	return eachOf(ctx, payloads, func(_ context.Context, payload []byte) error {
		_, err := l.enqueuer.Enqueue(queue, work.Q{"p": string(payload)})
		return err
	})
}

// WorkQueues has the weights as priorities of the types of jobs.
func (l *gocraftLibrary) WorkQueues(weights map[string]int, concurrency int, handle func(queue string, payload []byte)) (func() error, error) {
	pool := work.NewWorkerPool(struct{}{}, uint(concurrency), gocraftNamespace, l.pool)
	for queue, weight := range weights {
		pool.JobWithOptions(queue, work.JobOptions{Priority: uint(weight)}, func(job *work.Job) error {
			handle(job.Name, []byte(job.ArgString("p")))
			return job.ArgError()
		})
	}
	pool.Start()
	return func() error { pool.Stop(); return nil }, nil
}

func (l *gocraftLibrary) Held(ctx context.Context) (int64, error) {
	return l.HeldIn(ctx, []string{jobName})
}

func (l *gocraftLibrary) HeldIn(_ context.Context, queues []string) (held int64, err error) {
	c := l.pool.Get()
	defer c.Close()
	for _, set := range []string{"scheduled", "retry", "dead"} {
		n, err := redis.Int64(c.Do("ZCARD", gocraftNamespace+":"+set))
		if err != nil {
			return 0, err
		}
		held += n
	}
	for _, queue := range queues {
		lists, err := redis.Strings(c.Do("KEYS", gocraftNamespace+":jobs:"+queue+":*:inprogress")) // one a worker process
		if err != nil {
			return 0, err
		}
		for _, list := range append(lists, gocraftNamespace+":jobs:"+queue) {
			n, err := redis.Int64(c.Do("LLEN", list))
			if err != nil {
				return 0, err
			}
			held += n
		}
	}
	return held, nil
}

func (l *gocraftLibrary) Close() error { return l.pool.Close() }
