package dashboard

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// canaryAddress is the Redis address in the errors of an outage. No viewer may see it.
const canaryAddress = "canary-host.internal:6379"

var errOutage = errors.New("dial tcp " + canaryAddress + ": connect: connection refused")

// An outage is a hook that makes a client's server unavailable while down is set.
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

// A page that is open during an outage of Redis shows the outage, and is updated again afterwards.
func TestAnOpenPageOutlivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		store := server.Store()
		d := newDashboard(t, store, Options{Authorize: as(View)})
		var out outage
		server.Client().AddHook(&out)
		next := watch(t, d, "/events?page=queues")
		next("event: region")
		next("event: beat")
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet}).Enqueue(t.Context(), "resize", nil, chime.Queue("media")))
		out.down.Store(true)
		next("event: trouble")
		next("No answer from Redis for ")
		out.down.Store(false)
		next("event: region")
		next("media")
		next("event: beat")
	})
}
