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

// stuckAfter is how long, in real time, nothing may move in a test that waits for its roles to rest.
var stuckAfter = 30 * time.Second

// A watchdog stands outside a test's bubble and ends the program if nothing moves in it. What waits there for something outside, a
// channel for example, neither rests nor goes on: without the watchdog the test would hang without a word.
type watchdog struct {
	waits atomic.Int64 // odd: the test waits
	stop  chan struct{}
	done  sync.WaitGroup

	mu   sync.Mutex
	runs func() []*chime.RunInfo // the attempts under way
}

// watch begins to watch. It is called outside the bubble, where time is real.
func watch() *watchdog {
	w := &watchdog{stop: make(chan struct{})}
	w.done.Go(w.run)
	return w
}

// end ends the watch.
func (w *watchdog) end() {
	close(w.stop)
	w.done.Wait()
}

// enter and leave are called where the test begins to wait, and when it goes on; moves where it waits on, but time has passed in it or an
// attempt has begun or ended.
func (w *watchdog) enter() { w.waits.Add(1) }
func (w *watchdog) leave() { w.waits.Add(1) }
func (w *watchdog) moves() { w.waits.Add(2) }

// A store that is called moves, too: on a busy machine seconds may pass between two attempts.
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

// running sets what says which handlers run.
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
		"made before Run, a lock, or a connection (roles must be on c.Store())", stuckAfter)
	if w.runs != nil {
		if running := w.runs(); len(running) > 0 {
			text += "; handlers that have not returned: " + names(running)
		}
	}
	return text
}
