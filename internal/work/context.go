package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// The causes with which a handler's ctx ends, as context.Cause returns them. protocol.ErrSessionLost is another one.
var (
	ErrTimeout   = errors.New("job timed out")
	ErrShutdown  = errors.New("worker shuts down")
	ErrReplaced  = errors.New("occurrence replaced by the next one")
	ErrCancelled = errors.New("job cancelled")
)

// A handlerContext is the parent of the contexts of all handlers of a worker. It never ends.
type handlerContext struct{ ctx context.Context }

func newHandlerContext(ctx context.Context) *handlerContext {
	return &handlerContext{ctx}
}

// A jobContext is a handler's context. It ends when the job's time is up, or for another reason that context.Cause returns. The
// slots keep the deadlines of all handlers; no handler has a timer of its own.
//
// Most handlers never call Done. The cancellable context of the standard library is expensive, because its parent keeps it in a map. So it is
// created on the first use: by Done, or by Value, which context.Cause and every derived context call to find it. If the jobContext has already
// ended, the new context is ended at once.
type jobContext struct {
	base     *handlerContext
	output   Output // of the handler
	deadline time.Time

	mu    sync.Mutex
	ended bool
	cause error        // nil: the handler has returned, if the context has ended
	live  *liveContext // nil: not used yet
}

// A liveContext is the standard library's.
type liveContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

// begin prepares the context for a handler, and returns the handler's Output.
func (c *jobContext) begin(base *handlerContext) *Output {
	c.base = base
	return &c.output
}

// see stores the handler's job.
func (c *jobContext) see(job any) { c.output.See(job) }

// setDeadline must be called before the handler.
func (c *jobContext) setDeadline(at time.Time) { c.deadline = at }

// end ends the context, and reports whether it had not ended; only the first call has an effect. Done is closed before Err returns an error.
func (c *jobContext) end(cause error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.ended, c.cause = true, cause
	if c.live != nil {
		c.live.cancel(cause)
	}
	return true
}

// reason returns the cause with which the context has ended. Nil: it has not ended, or its handler has returned.
func (c *jobContext) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// cancellable returns the context of the standard library that ends with this one.
func (c *jobContext) cancellable() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live == nil {
		ctx, cancel := context.WithCancelCause(c.base.ctx)
		if c.ended {
			cancel(c.cause)
		}
		c.live = &liveContext{ctx, cancel}
	}
	return c.live.Context
}

func (c *jobContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

func (c *jobContext) Done() <-chan struct{} { return c.cancellable().Done() }

// Err is context.DeadlineExceeded if the job's time was up.
func (c *jobContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.ended:
		return nil
	case errors.Is(c.cause, ErrTimeout):
		return context.DeadlineExceeded
	}
	return context.Canceled
}

// JobFrom returns the job of the handler, as the handler received it. ctx is the handler's context or derived from it; otherwise the job is nil.
func JobFrom(ctx context.Context) any {
	if output, ok := ctx.Value(outputKey{}).(*Output); ok && output != nil {
		return output.Seen()
	}
	return nil
}

// outputKey is the key of a handler's Output.
type outputKey struct{}

// Value returns the base's values, and the handler's Output. For the key with which the standard library searches for a cancellable context, it
// returns the one behind this context.
func (c *jobContext) Value(key any) any {
	if key == cancellableKey || cancellableKey == nil {
		return c.cancellable().Value(key)
	}
	if key == (outputKey{}) {
		return &c.output
	}
	return c.base.ctx.Value(key)
}

func (c *jobContext) String() string { return fmt.Sprintf("chime job context until %v", c.deadline) }

// cancellableKey is the key with which context.Cause calls Value. It is not exported, so a probe call finds it. If a later Go version calls Value
// with no key, cancellableKey is nil and every Value counts as such a search.
var cancellableKey = func() any {
	probe := &keyProbe{Context: context.Background()}
	_ = context.Cause(probe)
	return probe.key
}()

// A keyProbe is a context that has ended and remembers the last key that Value was called with.
type keyProbe struct {
	context.Context
	key any
}

func (p *keyProbe) Err() error { return context.Canceled }

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

// WithOutput returns a ctx in which JobFrom finds the job of an Output, for a handler that runs without a worker.
func WithOutput(ctx context.Context, output *Output) context.Context {
	return context.WithValue(ctx, outputKey{}, output)
}
