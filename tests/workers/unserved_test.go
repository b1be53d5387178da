package workers_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A queue that nobody serves is logged once, within 30 s after its first job is due: by the scheduler that leads, or by workers if none leads. The
// first case of each test is a common first mistake.
func TestAQueueThatNobodyServesIsLoggedWithinHalfAMinute(t *testing.T) {
	enqueue := func(in time.Duration) func(t *testing.T, store chime.Store) {
		return func(t *testing.T, store chime.Store) {
			enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: fixture.Quiet()})
			for _, queue := range []string{"default", "mail"} {
				if _, err := enqueuer.Enqueue(t.Context(), "a", nil, chime.Queue(queue), chime.In(in)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		put func(t *testing.T, store chime.Store)
		due time.Duration
	}{
		"a job that waits":       {enqueue(0), 0},
		"a job that was delayed": {enqueue(10 * time.Minute), 10 * time.Minute},
		"an occurrence": {func(t *testing.T, store chime.Store) {
			if _, err := chime.NewSchedules(store).Put(t.Context(), "a", recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 10}, chime.Queue("mail"), chime.NoImmediateRun()); err != nil {
				t.Fatal(err)
			}
		}, 10 * time.Minute},
		"a retry": {func(t *testing.T, store chime.Store) {
			enqueue(0)(t, store)
			once := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 1}, Logger: fixture.Quiet()})
			once.Handle("a", func(context.Context, *chime.Job) error { return chime.RetryAfter(10*time.Minute, context.Canceled) })
			stop := fixture.Start(once)
			fixture.Pass(time.Second)
			if err := stop(); err != nil {
				t.Fatal(err)
			}
		}, 10 * time.Minute},
	} {
		for _, led := range []bool{true, false} {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				var log fixture.LogBuffer
				logger := slog.New(slog.NewTextHandler(&log, nil))
				store := f.Server.Store()
				worker := chime.NewWorker(store, chime.WorkerOptions{Logger: logger})
				worker.Handle("a", func(context.Context, *chime.Job) error { return nil })
				roles := []chime.Role{worker}
				if led {
					roles = append(roles, chime.NewScheduler(store, chime.SchedulerOptions{Logger: logger}))
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- chime.Run(ctx, roles...) }()
				fixture.Pass(time.Minute)
				c.put(t, store)
				lines := func() int { return strings.Count(log.String(), "event=queue.unserved queue=mail count=1\n") }
				fixture.Pass(c.due)
				if n := lines(); n != 0 {
					t.Errorf("%s, led %v: %d lines before it is due, want none", name, led, n)
				}
				fixture.Pass(30 * time.Second)
				if n := lines(); n != 1 {
					t.Errorf("%s, led %v: %d lines about mail 30 s after it was due, want one:\n%s", name, led, n, log.String())
				}
				fixture.Pass(10 * time.Minute)
				if n := strings.Count(log.String(), "event=queue.unserved"); n != 1 {
					t.Errorf("%s, led %v: %d lines in all, want one:\n%s", name, led, n, log.String())
				}
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// mail is a kind with a queue of its own.
var mail = chime.Define[int]("mail.unserved", chime.Queue("mail"))

// A worker that handles a kind warns as it starts if nobody serves the queue of the kind.
func TestAWorkerWarnsOfAKindWhoseQueueNobodyServes(t *testing.T) {
	handle := func(w *chime.Worker) {
		mail.Handle(w, func(context.Context, *chime.Job, int) error { return nil })
	}
	byName := func(w *chime.Worker) {
		w.Handle(mail.Name(), mail.Handler(func(context.Context, *chime.Job, int) error { return nil }))
	}
	for name, c := range map[string]struct {
		handle    func(*chime.Worker)
		queues    map[string]int
		beside    map[string]int // queues of a worker that runs beside it, in the same call of Run; nil: none
		elsewhere map[string]int // queues of a worker of another program
		want      int
	}{
		"nobody serves it":                  {handle: handle, want: 1},
		"nor does another program":          {handle: handle, elsewhere: map[string]int{"other": 1}, want: 1},
		"its handler is registered by name": {handle: byName, want: 1},
		"it serves the queue":               {handle: handle, queues: map[string]int{"mail": 1}},
		"another worker beside it does":     {handle: handle, beside: map[string]int{"mail": 1}},
		"another program does":              {handle: handle, elsewhere: map[string]int{"mail": 1}},
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			var log fixture.LogBuffer
			store := f.Server.Store()
			if c.elsewhere != nil {
				other := chime.NewWorker(store, chime.WorkerOptions{Queues: c.elsewhere, Logger: fixture.Quiet()})
				stop := fixture.Start(other)
				defer func() { _ = stop() }()
			}
			worker := chime.NewWorker(store, chime.WorkerOptions{Queues: c.queues, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			c.handle(worker)
			roles := []chime.Role{worker}
			if c.beside != nil {
				roles = append(roles, chime.NewWorker(store, chime.WorkerOptions{Queues: c.beside, Logger: fixture.Quiet()}))
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- chime.Run(ctx, roles...) }()
			fixture.Pass(time.Second)
			if n := strings.Count(log.String(), "event=worker.unserved job=mail.unserved queue=mail"); n != c.want {
				t.Errorf("%s: %d warnings, want %d:\n%s", name, n, c.want, log.String())
			}
			fixture.Pass(10 * time.Minute)
			if n := strings.Count(log.String(), "worker.unserved"); n != c.want {
				t.Errorf("%s: %d warnings after ten minutes, want %d", name, n, c.want)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
