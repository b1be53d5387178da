package health

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

const (
	storeTimeout = time.Second // of the question
	storeEvery   = time.Second // how often it is asked at most: anybody may call Readyz
)

// A question is whether the store answers. It is under way once at most, and its answer is good for a second.
type question struct {
	ask func(context.Context) error

	mu     sync.Mutex
	at     time.Time     // of the last answer
	fine   bool          // what it was
	asking chan struct{} // closed with the answer; nil: no question is under way
}

// newQuestion asks a store by the cheapest question that it has: until when its leader leads. A server that refuses it because the
// client's user may not read that, as of a process that only enqueues, has answered.
func newQuestion(store chime.Store) *question {
	return &question{ask: func(ctx context.Context) error {
		_, err := store.Protocol().Lease(ctx)
		if err != nil && strings.Contains(err.Error(), "NOPERM") {
			return nil
		}
		return err
	}}
}

// answers reports whether the store answers within a second. It returns when ctx ends, or by then; a client that does not heed its ctx may go
// on for as long as its own timeouts say.
func (q *question) answers(ctx context.Context) bool {
	q.mu.Lock()
	if !q.at.IsZero() && time.Since(q.at) < storeEvery {
		defer q.mu.Unlock()
		return q.fine
	}
	if q.asking == nil {
		q.asking = make(chan struct{})
		go q.put(context.WithoutCancel(ctx), q.asking) // the answer is for others too
	}
	asking := q.asking
	q.mu.Unlock()
	limit := time.NewTimer(storeTimeout)
	defer limit.Stop()
	select {
	case <-asking:
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.fine
	case <-limit.C:
	case <-ctx.Done():
	}
	return false
}

// put asks the store. An answer that comes too late is none.
func (q *question) put(ctx context.Context, asking chan struct{}) {
	defer close(asking)
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	began := time.Now()
	err := q.ask(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.at, q.asking = time.Now(), nil
	q.fine = err == nil && q.at.Sub(began) <= storeTimeout
}
