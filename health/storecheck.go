package health

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

const (
	storeTimeout = time.Second // of the call
	storeEvery   = time.Second // how often it is repeated at most: anybody may call Readyz
)

// A storeCheck checks whether the store answers. Only one check runs at a time, and its result is used for a second.
type storeCheck struct {
	read func(context.Context) error

	mu      sync.Mutex
	at      time.Time     // of the last result
	fine    bool          // the last result
	running chan struct{} // closed with the result; nil: no check runs
}

// newStoreCheck checks a store with its fastest call: until when its leader leads. If the client's user may not read that, as in a process that
// only enqueues, the server refuses the call; that is an answer too.
func newStoreCheck(store chime.Store) *storeCheck {
	return &storeCheck{read: func(ctx context.Context) error {
		_, err := store.Protocol().Lease(ctx)
		if err != nil && strings.Contains(err.Error(), "NOPERM") {
			return nil
		}
		return err
	}}
}

// answers reports whether the store answers within a second. It returns after a second at most, or when ctx ends. A client that ignores its
// ctx may continue until its own timeouts end the call.
func (c *storeCheck) answers(ctx context.Context) bool {
	c.mu.Lock()
	if !c.at.IsZero() && time.Since(c.at) < storeEvery {
		defer c.mu.Unlock()
		return c.fine
	}
	if c.running == nil {
		c.running = make(chan struct{})
		go c.call(context.WithoutCancel(ctx), c.running) // not cancelled: the result is for other callers too
	}
	running := c.running
	c.mu.Unlock()
	limit := time.NewTimer(storeTimeout)
	defer limit.Stop()
	select {
	case <-running:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.fine
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

// call calls the store. An answer that comes too late does not count.
func (c *storeCheck) call(ctx context.Context, running chan struct{}) {
	defer close(running)
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	began := time.Now()
	err := c.read(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.running = time.Now(), nil
	c.fine = err == nil && c.at.Sub(began) <= storeTimeout
}
