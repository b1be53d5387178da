package main

import (
	"context"
	"errors"
	"time"

	"github.com/hibiken/asynq"
)

var (
	asynqDefaults = peer{library: "asynq", setting: "defaults", about: "as its README shows", open: openAsynq(asynqSetting{})}
	asynqTuned    = peer{
		library: "asynq", setting: "tuned",
		about: "TaskCheckInterval and DelayedTaskCheckInterval 10 ms, PoolSize 100",
		open:  openAsynq(asynqSetting{check: 10 * time.Millisecond, pool: 100}),
	}
)

// An asynqSetting has the options of asynq that affect speed; zero values are its defaults.
type asynqSetting struct {
	check time.Duration
	pool  int
}

type asynqLibrary struct {
	setting   asynqSetting
	redis     asynq.RedisClientOpt
	client    *asynq.Client
	inspector *asynq.Inspector
}

func openAsynq(setting asynqSetting) func(context.Context, *testbed) (library, error) {
	return func(_ context.Context, r *testbed) (library, error) {
		opt := asynq.RedisClientOpt{Addr: r.redis.addr, PoolSize: setting.pool}
		return &asynqLibrary{setting, opt, asynq.NewClient(opt), asynq.NewInspector(opt)}, nil
	}
}

func (l *asynqLibrary) Enqueue(ctx context.Context, payload []byte) error {
	_, err := l.client.EnqueueContext(ctx, asynq.NewTask(jobName, payload))
	return err
}

func (l *asynqLibrary) EnqueueIn(ctx context.Context, payload []byte, d time.Duration) error {
	_, err := l.client.EnqueueContext(ctx, asynq.NewTask(jobName, payload), asynq.ProcessIn(d))
	return err
}

// EnqueueMany is not supported: asynq has no bulk call.
func (l *asynqLibrary) EnqueueMany(context.Context, [][]byte) error { return errors.ErrUnsupported }

// EnqueueTo sends them from many goroutines, because asynq has no bulk call.
func (l *asynqLibrary) EnqueueTo(ctx context.Context, queue string, payloads [][]byte) error {
	return eachOf(ctx, payloads, func(ctx context.Context, payload []byte) error {
		_, err := l.client.EnqueueContext(ctx, asynq.NewTask(jobName, payload), asynq.Queue(queue))
		return err
	})
}

func (l *asynqLibrary) Work(concurrency int, handle func(payload []byte)) (func() error, error) {
	return l.start(l.config(concurrency), func(_ string, payload []byte) { handle(payload) })
}

// WorkQueues uses the weights as priorities that are not strict: a queue with jobs is read first in proportion to its priority.
func (l *asynqLibrary) WorkQueues(weights map[string]int, concurrency int, handle func(queue string, payload []byte)) (func() error, error) {
	config := l.config(concurrency)
	config.Queues = weights
	return l.start(config, handle)
}

func (l *asynqLibrary) config(concurrency int) asynq.Config {
	return asynq.Config{
		Concurrency:              concurrency,
		TaskCheckInterval:        l.setting.check,
		DelayedTaskCheckInterval: l.setting.check,
		Logger:                   asynqSilence{},
	}
}

func (l *asynqLibrary) start(config asynq.Config, handle func(queue string, payload []byte)) (func() error, error) {
	server := asynq.NewServer(l.redis, config)
	err := server.Start(asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		queue, _ := asynq.GetQueueName(ctx)
		handle(queue, task.Payload())
		return nil
	}))
	return func() error { server.Shutdown(); return nil }, err
}

func (l *asynqLibrary) Held(ctx context.Context) (int64, error) {
	return l.HeldIn(ctx, []string{"default"})
}

func (l *asynqLibrary) HeldIn(_ context.Context, queues []string) (held int64, err error) {
	for _, queue := range queues {
		info, err := l.inspector.GetQueueInfo(queue)
		if errors.Is(err, asynq.ErrQueueNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		held += int64(info.Size)
	}
	return held, nil
}

func (l *asynqLibrary) Close() error { return errors.Join(l.client.Close(), l.inspector.Close()) }

// asynqSilence is a logger without output.
type asynqSilence struct{}

func (asynqSilence) Debug(...any) {}
func (asynqSilence) Info(...any)  {}
func (asynqSilence) Warn(...any)  {}
func (asynqSilence) Error(...any) {}
func (asynqSilence) Fatal(...any) {}
