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

// An asynqSetting is what of asynq's options bears on speed; zero values are its defaults.
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

func openAsynq(setting asynqSetting) func(context.Context, *rig) (library, error) {
	return func(_ context.Context, r *rig) (library, error) {
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

// EnqueueMany: asynq has no such thing.
func (l *asynqLibrary) EnqueueMany(context.Context, [][]byte) error { return errors.ErrUnsupported }

func (l *asynqLibrary) Work(concurrency int, handle func(payload []byte)) (func() error, error) {
	server := asynq.NewServer(l.redis, asynq.Config{
		Concurrency:              concurrency,
		TaskCheckInterval:        l.setting.check,
		DelayedTaskCheckInterval: l.setting.check,
		Logger:                   asynqSilence{},
	})
	err := server.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
		handle(task.Payload())
		return nil
	}))
	return func() error { server.Shutdown(); return nil }, err
}

func (l *asynqLibrary) Held(context.Context) (int64, error) {
	info, err := l.inspector.GetQueueInfo("default")
	if errors.Is(err, asynq.ErrQueueNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return int64(info.Size), nil
}

func (l *asynqLibrary) Close() error { return errors.Join(l.client.Close(), l.inspector.Close()) }

// asynqSilence is a logger that says nothing.
type asynqSilence struct{}

func (asynqSilence) Debug(...any) {}
func (asynqSilence) Info(...any)  {}
func (asynqSilence) Warn(...any)  {}
func (asynqSilence) Error(...any) {}
func (asynqSilence) Fatal(...any) {}
