// Package incident fills a store with the data of a day on which things are broken, for tests of everything that shows a store: many queues, tenants,
// long names, failures of several kinds, a deployment, and a worker that has vanished. It also counts the data with plain commands.
package incident

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A Size is how much data a world has.
type Size struct {
	Jobs      int // that are in the store, about; at least 500
	Schedules int // at least 30
	Days      int // for which a schedule has failed
}

// Small is enough for most tests: it costs a few seconds of processor time.
var Small = Size{Jobs: 1200, Schedules: 60, Days: 2}

// The names of the queues that have a special state. The others are plain-01 to plain-22.
const (
	Unserved = "nobody"  // no worker serves it: a schedule places jobs on it, and delayed jobs are due
	Paused   = "paused"  // is paused, with waiting and delayed jobs
	Wide     = "wide"    // has four partitions
	Tenants  = "tenants" // has jobs of groups
	Full     = "full"    // its worker has two slots, and both are busy
	Orphaned = "orphans" // the worker that holds its jobs has vanished a moment ago, and nobody has returned them yet
)

// Long is a queue whose name has 100 letters.
var Long = strings.Repeat("import-of-customers-", 5)

// failing are the queues on which jobs fail.
var failing = []string{"a", "b", "c", "d"}

// The schedules that have a special state. The others are named after their tenants, or job-001 and so on.
const (
	Quiet   = "quiet"   // was created with NoImmediateRun at an instant that its rule plans
	Edited  = "edited"  // its rule was changed an hour ago
	Failing = "failing" // has failed each time for days, with one error
)

// A World is a filled store. Its workers and its scheduler run until the test ends.
type World struct {
	Server *embedded.Server
	Store  *redisstore.Store
	Size   Size

	mu    sync.Mutex
	tries []Try
}

// A Try is an attempt that a handler of the world has made.
type Try struct {
	Queue, Job, ID, Schedule, Error string // Error is empty if it succeeded
	Planned, At                     time.Time
}

// Tries returns all attempts in the order of their ends.
func (w *World) Tries() []Try {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.tries)
}

// quiet discards what roles log.
var quiet = slog.New(slog.DiscardHandler)

// New fills a store. It is called in a bubble of testing/synctest, because it needs days. When it returns, nothing is due soon.
func New(t *testing.T, size Size) *World {
	t.Helper()
	server := embedded.StartInMemory()
	w := &World{Server: server, Size: size}
	w.Store = redisstore.New(server.Client(), redisstore.Options{Partitions: map[string]int{Wide: 4}, Logger: quiet})
	t.Cleanup(func() { _ = server.Close() })
	p := &player{t: t, World: w, schedules: chime.NewSchedules(w.Store), enqueuer: chime.NewEnqueuer(w.Store, chime.EnqueuerOptions{Logger: quiet})}
	p.play()
	return w
}

// handle registers a handler that records its attempts.
func (w *World) handle(worker *chime.Worker, name string, handler chime.Handler, options ...chime.HandlerOption) {
	worker.Handle(name, func(ctx context.Context, job *chime.Job) (err error) {
		defer func() {
			text, broken := "", recover()
			if broken != nil {
				text = fmt.Sprint("panic: ", broken)
			} else if err != nil {
				text = err.Error()
			}
			if ctx.Err() == nil {
				w.mu.Lock()
				w.tries = append(w.tries, Try{job.Queue, job.Name, job.ID, job.Schedule, text, job.Planned, time.Now()})
				w.mu.Unlock()
			}
			if broken != nil {
				panic(broken)
			}
		}()
		return handler(ctx, job)
	}, options...)
}

// errManyLines is an error of many lines, the last of which contains the cause.
var errManyLines = errors.New("import of file 'customers.csv' failed at row 217\nreading the row: unexpected end of line\n\tat import.go:88\nthe cause: disk full")

// worker returns a worker with all handlers of the world.
func (p *player) worker(of program, concurrency int, queues ...string) *chime.Worker {
	weights := map[string]int{}
	for _, queue := range queues {
		weights[queue] = 1
	}
	worker := chime.NewWorker(of, chime.WorkerOptions{Queues: weights, Concurrency: concurrency, DrainTimeout: time.Millisecond, SessionTTL: time.Minute, Logger: quiet})
	p.handle(worker, "done", func(context.Context, *chime.Job) error { return nil })
	p.handle(worker, "panics", func(context.Context, *chime.Job) error { panic("index 7 out of range") })
	p.handle(worker, "imports", func(_ context.Context, job *chime.Job) error {
		if strings.HasPrefix(job.ID, "timeout") {
			return errors.New("timeout after 30 s")
		}
		return errManyLines
	})
	p.handle(worker, "heals", func(_ context.Context, job *chime.Job) error {
		if job.Attempt == 1 {
			return errors.New("connection reset by peer")
		}
		return nil
	}, chime.Retry(chime.Fixed(time.Second)))
	p.handle(worker, "retries", func(context.Context, *chime.Job) error { return errors.New("smtp: 421 try again later") }, chime.Retry(chime.Fixed(24*time.Hour)))
	worker.Handle("hangs", func(ctx context.Context, _ *chime.Job) error {
		<-ctx.Done()
		return ctx.Err()
	}, chime.Timeout(24*time.Hour))
	return worker
}
