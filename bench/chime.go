package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
)

// chime has no setting to tune: there is one peer.
var chimePeer = peer{library: "chime", about: "defaults", open: openChime}

type chimeLibrary struct {
	client   *redis.Client
	store    *redisstore.Store
	enqueuer *chime.Enqueuer
	options  func(number int) []chime.EnqueueOption // of the jobs that EnqueueMany sends; nil: none
	sent     int                                    // by EnqueueMany
	observe  []*chime.Observer                      // of the enqueuer and of Work
}

func openChime(_ context.Context, r *testbed) (library, error) { return openObserved(r, nil), nil }

// openObserved opens chime with observers of what it does.
func openObserved(r *testbed, observers []*chime.Observer) *chimeLibrary {
	client := redis.NewClient(&redis.Options{Addr: r.redis.addr})
	store := redisstore.New(client, redisstore.Options{})
	return &chimeLibrary{client: client, store: store, enqueuer: chime.NewEnqueuer(store, chime.EnqueuerOptions{Observers: observers}), observe: observers}
}

func (l *chimeLibrary) Enqueue(ctx context.Context, payload []byte) error {
	_, err := l.enqueuer.Enqueue(ctx, jobName, payload)
	return err
}

func (l *chimeLibrary) EnqueueIn(ctx context.Context, payload []byte, d time.Duration) error {
	_, err := l.enqueuer.Enqueue(ctx, jobName, payload, chime.In(d))
	return err
}

func (l *chimeLibrary) EnqueueMany(ctx context.Context, payloads [][]byte) error {
	items := make([]chime.Item, len(payloads))
	for i, payload := range payloads {
		items[i] = chime.Item{Name: jobName, Args: payload}
		if l.options != nil {
			items[i].Options = l.options(l.sent + i)
		}
	}
	l.sent += len(payloads)
	_, err := l.enqueuer.EnqueueMany(ctx, items)
	return err
}

func (l *chimeLibrary) Work(concurrency int, handle func(payload []byte)) (func() error, error) {
	worker := chime.NewWorker(l.store, chime.WorkerOptions{Concurrency: concurrency, Logger: quiet, Observers: l.observe})
	worker.Handle(jobName, func(_ context.Context, job *chime.Job) error {
		handle(job.Payload)
		return nil
	})
	return runChime(worker), nil
}

func (l *chimeLibrary) EnqueueTo(ctx context.Context, queue string, payloads [][]byte) error {
	items := make([]chime.Item, len(payloads))
	for i, payload := range payloads {
		items[i] = chime.Item{Name: jobName, Args: payload, Options: []chime.EnqueueOption{chime.Queue(queue)}}
	}
	_, err := l.enqueuer.EnqueueMany(ctx, items)
	return err
}

func (l *chimeLibrary) WorkQueues(weights map[string]int, concurrency int, handle func(queue string, payload []byte)) (func() error, error) {
	worker := chime.NewWorker(l.store, chime.WorkerOptions{Queues: weights, Concurrency: concurrency, Logger: quiet})
	worker.Handle(jobName, func(_ context.Context, job *chime.Job) error {
		handle(job.Queue, job.Payload)
		return nil
	})
	return runChime(worker), nil
}

// Limit sets the limit of the queue of Work.
func (l *chimeLibrary) Limit(ctx context.Context, limit chime.Limit) error {
	return chime.NewQueues(l.store).Limit(ctx, "default", limit)
}

// runChime runs roles until stop is called.
func runChime(roles ...chime.Role) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, roles...) }()
	return func() error { cancel(); return <-done }
}

func (l *chimeLibrary) Held(ctx context.Context) (int64, error) {
	return l.HeldIn(ctx, []string{"default"})
}

func (l *chimeLibrary) HeldIn(ctx context.Context, queues []string) (held int64, err error) {
	for _, queue := range queues {
		n, err := l.client.HLen(ctx, "chime:{"+queue+"}:jobs").Result()
		if err != nil {
			return 0, err
		}
		held += n
	}
	return held, nil
}

func (l *chimeLibrary) Close() error { return l.client.Close() }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))
