package service

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
)

// A cut stops a writer after a number of calls to the store: its process was killed, or it lost the network. Until then each call may wait.
type cut struct {
	mu     sync.Mutex
	calls  int                  // allowed calls
	made   int                  // calls so far
	answer bool                 // the last call reaches the store, and its answer is lost
	wait   func() time.Duration // before a call; nil: none waits
}

var errCut = errors.New("this writer is gone")

type cutKey struct{}

// cutHook passes the calls of a ctx with a cut, until the cut is reached.
type cutHook struct{}

func (cutHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (cutHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return throughCut(ctx, func() error { return next(ctx, cmd) }, func(err error) { cmd.SetErr(err) })
	}
}

func (cutHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return throughCut(ctx, func() error { return next(ctx, cmds) }, func(err error) {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		})
	}
}

func throughCut(ctx context.Context, call func() error, fail func(error)) error {
	c, _ := ctx.Value(cutKey{}).(*cut)
	if c == nil {
		return call()
	}
	c.mu.Lock()
	c.calls, c.made = c.calls-1, c.made+1
	left, last := c.calls >= 0, c.calls == 0 && c.answer
	wait := time.Duration(0)
	if c.wait != nil {
		wait = c.wait()
	}
	c.mu.Unlock()
	time.Sleep(wait) // fake time
	if left && !last {
		return call()
	}
	if last {
		_ = call()
	}
	fail(errCut)
	return errCut
}

// cutStore is the fixture's store for writers with a cut.
func (f *fixture) cutStore() chime.Store {
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true, MaxRetries: -1, PoolSize: 100,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer:                   func(context.Context, string, string) (net.Conn, error) { return f.server.Dial() },
	})
	client.AddHook(cutHook{})
	f.stops = append(f.stops, func() { _ = client.Close() })
	return redisstore.New(client, redisstore.Options{})
}
