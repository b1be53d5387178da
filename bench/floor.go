package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// The floor is the cost of chime's messages alone in go-redis and Redis: scripts that do nothing, with the same number of keys and arguments. It is
// the minimum for a library with these messages on this machine.
var floorPeer = peer{library: "floor", about: "the same messages, by scripts that do nothing", open: openFloor}

// floorAlone is enqueue alone, floorSteady is life steady.
var floorAlone, floorSteady = asFloor(enqueueAlone, "floor alone"), asFloor(lifeSteady, "floor steady")

func asFloor(m measure, name string) measure {
	m.about = "the messages of " + m.name + " with scripts that do nothing: what no library can go below that needs them"
	m.name, m.group, m.peers = name, "floor", []peer{floorPeer}
	return m
}

const floorChannel = "floor"

var (
	nothingScript = redis.NewScript("return 1")
	wakingScript  = redis.NewScript("redis.call('PUBLISH', ARGV[1], ARGV[7]) return 1")
	floorKeys     = []string{"{floor}:a", "{floor}:b", "{floor}:c", "{floor}:d", "{floor}:e", "{floor}:f"}
)

type floorLibrary struct {
	client   *redis.Client
	enqueued atomic.Int64
	listens  atomic.Bool
}

func openFloor(_ context.Context, r *testbed) (library, error) {
	return &floorLibrary{client: redis.NewClient(&redis.Options{Addr: r.redis.addr})}, nil
}

// Enqueue sends the payload through a script, which wakes the worker if there is one.
func (l *floorLibrary) Enqueue(ctx context.Context, payload []byte) error {
	script := nothingScript
	if l.listens.Load() {
		script = wakingScript
	}
	l.enqueued.Add(1)
	return script.Run(ctx, l.client, floorKeys, floorChannel, 1, "prefix", 0, 1, "job", payload).Err()
}

// Work calls a script for each message and hands the message's payload over.
func (l *floorLibrary) Work(_ int, handle func(payload []byte)) (func() error, error) {
	ctx, cancel := context.WithCancel(context.Background())
	subscription := l.client.Subscribe(ctx, floorChannel)
	if _, err := subscription.Receive(ctx); err != nil {
		cancel()
		return nil, err
	}
	l.listens.Store(true)
	done := make(chan error, 1)
	go func() {
		for message := range subscription.Channel(redis.WithChannelSize(10_000)) {
			if err := nothingScript.Run(ctx, l.client, floorKeys, floorChannel, 1, "prefix", 0, 1, "job", 1).Err(); err != nil {
				done <- err
				return
			}
			handle([]byte(message.Payload))
		}
		done <- nil
	}()
	return func() error {
		defer cancel()
		l.listens.Store(false)
		return errors.Join(subscription.Close(), <-done)
	}, nil
}

func (l *floorLibrary) Held(context.Context) (int64, error) { return l.enqueued.Load(), nil }

func (l *floorLibrary) EnqueueIn(context.Context, []byte, time.Duration) error {
	return errors.ErrUnsupported
}

func (l *floorLibrary) EnqueueMany(context.Context, [][]byte) error { return errors.ErrUnsupported }

func (l *floorLibrary) Close() error { return l.client.Close() }
