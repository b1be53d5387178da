package enqueue

import (
	"context"
	"sync/atomic"
	"time"
)

// A sharedDeadline is a ctx that the calls of a while share, because a timer for each would be expensive.
type sharedDeadline struct{ last atomic.Pointer[beganAt] }

type beganAt struct {
	ctx   context.Context
	began time.Time
}

// after returns a ctx for a call that begins now. It ends after the limit, or up to an eighth earlier.
func (s *sharedDeadline) after(limit time.Duration, now time.Time) context.Context {
	shared := s.last.Load()
	if shared == nil || now.Sub(shared.began) > limit/8 {
		ctx, cancel := context.WithDeadline(context.Background(), now.Add(limit))
		context.AfterFunc(ctx, cancel) // not earlier: calls that began before may still use it
		shared = &beganAt{ctx: ctx, began: now}
		s.last.Store(shared)
	}
	return shared.ctx
}
