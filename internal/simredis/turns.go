package simredis

import (
	"context"
	"runtime"

	"github.com/redis/go-redis/v9"
)

// Turns is a hook for clients of Dial. It lets other goroutines run before each call, as a network does: without it a goroutine would make all its calls
// before another one makes its next. It does so while the call has no connection: a call that waits for a connection of the pool uses a timer that
// go-redis shares with other bubbles of testing/synctest, which ends the process.
var Turns redis.Hook = turns{}

type turns struct{}

func (turns) DialHook(next redis.DialHook) redis.DialHook { return next }

func (turns) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		runtime.Gosched()
		return next(ctx, cmd)
	}
}

func (turns) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		runtime.Gosched()
		return next(ctx, cmds)
	}
}
