package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Why a handler's ctx ended, as context.Cause tells; protocol.ErrSessionLost is another reason.
var (
	ErrTimeout  = errors.New("job timed out")
	ErrShutdown = errors.New("worker shuts down")
	ErrReplaced = errors.New("occurrence replaced by the next one")
)

// A handlerContext is what the contexts of all handlers of a worker are derived from. It never ends.
type handlerContext struct{ ctx context.Context }

func newHandlerContext(ctx context.Context) *handlerContext {
	return &handlerContext{context.WithoutCancel(ctx)}
}

// jobContext is a handler's context: it ends when its job's time is up, or for the reasons that context.Cause tells. The
// deadlines of all handlers are kept by the slots, not by a timer each.
//
// Most handlers never ask for Done, so the cancellable context of the standard library behind it, which costs an entry in
// its parent's books, is made when it is first asked for: by Done, or by a search for it in Value, as context.Cause and
// every derived context make. What has ended before is ended in it at once.
type jobContext struct {
	base     *handlerContext
	deadline time.Time

	mu    sync.Mutex
	ended bool
	cause error        // nil: none but that the handler has returned
	live  *liveContext // nil: nobody has asked for it yet
}

// A liveContext is the standard library's.
type liveContext struct {
	context.Context
	cancel context.CancelCauseFunc
}

// begin makes the context ready for a handler.
func (c *jobContext) begin(base *handlerContext) { c.base = base }

// setDeadline is called before the handler is.
func (c *jobContext) setDeadline(at time.Time) { c.deadline = at }

// end ends the context. The first end counts. Done is closed before Err tells.
func (c *jobContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended, c.cause = true, cause
	if c.live != nil {
		c.live.cancel(cause)
	}
}

// reason is why the context has ended; nil: it has not, or only because its handler has returned.
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

// Err is context.DeadlineExceeded where the job's time was up.
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

// Value is the base's. The key by which the standard library finds what can be cancelled finds the cancellable context.
func (c *jobContext) Value(key any) any {
	if key == cancellableKey || cancellableKey == nil {
		return c.cancellable().Value(key)
	}
	return (c.base.ctx).Value(key)
}

func (c *jobContext) String() string { return fmt.Sprintf("chime job context until %v", c.deadline) }

// cancellableKey is what context.Cause asks a context's Value for: learnt from it, for the key is not exported. Should it
// ask for nothing one day, every Value is taken for such a question.
var cancellableKey = func() any {
	probe := &keyProbe{Context: context.Background()}
	_ = context.Cause(probe)
	return probe.key
}()

// keyProbe has ended and remembers the key of the last question.
type keyProbe struct {
	context.Context
	key any
}

func (p *keyProbe) Err() error { return context.Canceled }

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}
