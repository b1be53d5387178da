package workers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

type kindArgs struct{ Customer string }

// Each option comes from the nearest level that sets it: call, kind, handler, worker. The order of options does not matter.
func TestTheNearestDefaultWins(t *testing.T) {
	minutes := func(n int) chime.AttemptOption { return chime.Timeout(time.Duration(n) * time.Minute) }
	named := chime.Define[kindArgs]("kind.nearest", chime.MaxAttempts(20), minutes(20), chime.Queue("kinds"), chime.In(time.Hour), chime.Backoff(afterSeconds(20)))
	plain := chime.Define[kindArgs]("kind.nearest") // the same job without defaults
	handlers := []chime.HandlerOption{chime.MaxAttempts(30), minutes(30), chime.Backoff(afterSeconds(30))}
	workers := []chime.HandlerOption{chime.MaxAttempts(40), minutes(40), chime.Backoff(afterSeconds(40))}
	for _, c := range []struct {
		name     string
		kind     chime.Kind[kindArgs] // the kind that enqueues the job
		call     []chime.EnqueueOption
		handles  chime.Kind[kindArgs]
		handler  []chime.HandlerOption
		worker   []chime.HandlerOption
		queue    string
		attempts int
		timeout  int // minutes
		backoff  int // seconds; 0: chime's default
	}{
		{"the call", named, []chime.EnqueueOption{chime.Queue("calls"), minutes(10), chime.MaxAttempts(10), chime.In(0)}, named, handlers, workers, "calls", 10, 10, 20},
		{"the kind", named, []chime.EnqueueOption{chime.In(0)}, named, handlers, workers, "kinds", 20, 20, 20},
		{"the call and the kind", named, []chime.EnqueueOption{chime.MaxAttempts(10), chime.In(0)}, named, handlers, workers, "kinds", 10, 20, 20},
		{"the kind, of a job enqueued without it", plain, nil, named, handlers, workers, "mine", 20, 20, 20},
		{"the handler", plain, nil, plain, handlers, workers, "mine", 30, 30, 30},
		{"the handler and the worker", plain, nil, plain, handlers[:1], workers, "mine", 30, 40, 40},
		{"the worker", plain, nil, plain, nil, workers, "mine", 40, 40, 40},
		{"chime", plain, nil, plain, nil, nil, "mine", 25, 30, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				for _, item := range []bool{false, true} {
					body, queue := enqueued(f, c.kind, item, c.call)
					store := f.Hooked()
					f.Enqueue("default", body, "x")
					w := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet(), Defaults: c.worker})
					var seen chime.Job
					began := time.Now()
					c.handles.Handle(w, func(_ context.Context, job *chime.Job, _ kindArgs) error {
						if job.Attempt == 2 {
							began = time.Now()
							return nil
						}
						seen = *job
						return errors.New("no")
					}, c.handler...)
					stop := fixture.Start(w)
					first := time.Now()
					fixture.Pass(time.Duration(c.backoff+5) * time.Second)
					if err := stop(); err != nil {
						t.Error(err)
					}
					if queue != c.queue || seen.MaxAttempts != c.attempts || seen.Timeout != time.Duration(c.timeout)*time.Minute {
						t.Errorf("queue %s, %d attempts, timeout %v; want %s, %d, %d min", queue, seen.MaxAttempts, seen.Timeout, c.queue, c.attempts, c.timeout)
					}
					lowest, highest := time.Duration(c.backoff)*time.Second, time.Duration(c.backoff+1)*time.Second
					if c.backoff == 0 {
						lowest, highest = 750*time.Millisecond, 1300*time.Millisecond
					}
					if waited := began.Sub(first); waited < lowest || waited > highest {
						t.Errorf("the second attempt came after %v, want %v", waited, lowest)
					}
				}
			})
		})
	}
}

func afterSeconds(seconds int) func(int) time.Duration {
	return func(int) time.Duration { return time.Duration(seconds) * time.Second }
}

// enqueued enqueues a job of a kind with Enqueue or as an Item, through an Enqueuer with the queue "mine". It returns the job as it was sent, and
// its queue.
func enqueued(f *fixture.Fixture, kind chime.Kind[kindArgs], item bool, options []chime.EnqueueOption) (wire.Envelope, string) {
	f.T.Helper()
	store := f.Hooked()
	store.KeepEnqueue = true
	e := chime.NewEnqueuer(store, chime.EnqueuerOptions{Queue: "mine", Logger: fixture.Quiet()})
	var err error
	if item {
		_, err = e.EnqueueMany(f.T.Context(), []chime.Item{kind.Item(kindArgs{"a"}, options...)})
	} else {
		_, err = kind.Enqueue(f.T.Context(), e, kindArgs{"a"}, options...)
	}
	if err != nil {
		f.T.Fatal(err)
	}
	sent := store.EnqueueCalls()[0]
	if sent.Items[0].In > 0 {
		f.T.Errorf("the job is delayed by %v, want the call's In(0) to win over the kind's", sent.Items[0].In)
	}
	body, err := wire.DecodeEnvelope(sent.Items[0].Body)
	if err != nil {
		f.T.Fatal(err)
	}
	return body, sent.Partition.Queue
}

func TestAnOccurrenceHasFiveAttempts(t *testing.T) {
	for want, options := range map[int]struct{ handler, worker []chime.HandlerOption }{
		5: {}, 7: {worker: []chime.HandlerOption{chime.MaxAttempts(7)}}, 8: {[]chime.HandlerOption{chime.MaxAttempts(8)}, []chime.HandlerOption{chime.MaxAttempts(7)}},
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			store := f.Hooked()
			body := wire.Envelope{Name: "tick", Schedule: "tick"}
			f.Enqueue("default", body, "tick@2000-01-01T00:00:00Z")
			w := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet(), Defaults: options.worker})
			attempts := 0
			w.Handle("tick", func(_ context.Context, job *chime.Job) error {
				if attempts++; job.MaxAttempts != want {
					t.Errorf("attempt %d of %d, want of %d", job.Attempt, job.MaxAttempts, want)
				}
				return chime.RetryAfter(0, errors.New("no"))
			}, options.handler...)
			stop := fixture.Start(w)
			fixture.Pass(time.Minute)
			if err := stop(); err != nil {
				t.Error(err)
			}
			if attempts != want || store.Kinds()[protocol.SettleDead] != 1 {
				t.Errorf("%d attempts, settled %v; want dead after %d", attempts, store.Kinds(), want)
			}
		})
	}
}
