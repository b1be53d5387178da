package httpapi

import (
	"context"
	"sync"
)

// maxWaiters is the number of requests of one principal that may wait for tasks in this process at once. Each holds a connection, and reads the store every
// 10 s.
const maxWaiters = 100

// waiters count the requests that wait for tasks.
type waiters struct {
	closing context.Context // it ends when the server shuts down: then nobody waits any more
	close   context.CancelFunc

	mu sync.Mutex
	of map[string]int // by principal
}

func newWaiters() *waiters {
	w := &waiters{of: map[string]int{}}
	w.closing, w.close = context.WithCancel(context.Background())
	return w
}

// enter adds a waiting request, until leave is called. ok is false if its principal has the maximum.
func (w *waiters) enter(p *Principal) (leave func(), ok bool) {
	if p.unlimited {
		return func() {}, true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[p.Name] >= maxWaiters {
		return nil, false
	}
	w.of[p.Name]++
	return func() { w.leave(p.Name) }, true
}

func (w *waiters) leave(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[name]--; w.of[name] == 0 {
		delete(w.of, name)
	}
}
