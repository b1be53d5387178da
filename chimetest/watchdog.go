package chimetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
)

// stuckAfter is the maximum real time without activity in a test that waits until its roles are idle.
var stuckAfter = 30 * time.Second

// A watchdog runs outside a test's bubble and ends the program if there is no activity in it. A goroutine in the bubble that waits for something
// outside, for example a channel, is neither idle nor active: without the watchdog the test would hang without a message.
type watchdog struct {
	waits atomic.Int64 // odd: the test is waiting
	stop  chan struct{}
	done  sync.WaitGroup

	mu   sync.Mutex
	runs func() []*chime.RunInfo // the unfinished attempts
}

// watch starts a watchdog. It is called outside the bubble, where time is real.
func watch() *watchdog {
	w := &watchdog{stop: make(chan struct{})}
	w.done.Go(w.run)
	return w
}

// end stops the watchdog.
func (w *watchdog) end() {
	close(w.stop)
	w.done.Wait()
}

// enter is called when the test begins to wait, and leave when it continues. moves is called while it waits, when time has passed in it or an
// attempt has begun or ended.
func (w *watchdog) enter() { w.waits.Add(1) }
func (w *watchdog) leave() { w.waits.Add(1) }
func (w *watchdog) moves() { w.waits.Add(2) }

// A call of the store counts as activity: on a busy machine seconds may pass between two attempts.
func (w *watchdog) DialHook(next redis.DialHook) redis.DialHook { return next }

func (w *watchdog) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		w.moves()
		return next(ctx, cmd)
	}
}

func (w *watchdog) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		w.moves()
		return next(ctx, cmds)
	}
}

// running sets the function that returns the running attempts.
func (w *watchdog) running(runs func() []*chime.RunInfo) {
	w.mu.Lock()
	w.runs = runs
	w.mu.Unlock()
}

func (w *watchdog) run() {
	ticker := time.NewTicker(stuckAfter / 4)
	defer ticker.Stop()
	seen, since := w.waits.Load(), time.Now()
	for {
		select {
		case <-w.stop:
			return
		case <-ticker.C:
		}
		if waits := w.waits.Load(); waits != seen || waits%2 == 0 {
			seen, since = waits, time.Now()
		} else if time.Since(since) >= stuckAfter {
			panic(w.message())
		}
	}
}

func (w *watchdog) message() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := fmt.Sprintf("chimetest: nothing has moved for %v: a goroutine of the test waits for something outside of it, such as a channel that was "+
		"created before Run, a lock, or a connection (roles must be on c.Store())", stuckAfter)
	if w.runs != nil {
		if running := w.runs(); len(running) > 0 {
			text += "; handlers that have not returned: " + names(running)
		}
	}
	return text
}
