package dashboard

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// canaryAddress is where the Redis of an outage is said to be: no viewer is told of it.
const canaryAddress = "canary-host.internal:6379"

var errOutage = errors.New("dial tcp " + canaryAddress + ": connect: connection refused")

// An outage is a hook of a client, whose server is away for as long as it is down.
type outage struct{ down atomic.Bool }

func (o *outage) DialHook(next redis.DialHook) redis.DialHook { return next }

func (o *outage) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if o.down.Load() {
			cmd.SetErr(errOutage)
			return errOutage
		}
		return next(ctx, cmd)
	}
}

func (o *outage) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if o.down.Load() {
			for _, cmd := range cmds {
				cmd.SetErr(errOutage)
			}
			return errOutage
		}
		return next(ctx, cmds)
	}
}
