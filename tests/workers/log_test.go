package workers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestAWorkerLogsItsStateChangesOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		var log fixture.LogBuffer
		stop := fixture.Start(chime.NewWorker(store, chime.WorkerOptions{Logger: log.Logger()}))
		fixture.Pass(time.Hour)
		if n := log.Count("level=WARN msg=\"chime: worker has no handlers"); n != 1 {
			t.Errorf("a worker without handlers is logged %d times, want once", n)
		}
		if n := log.Count("event=drain.started"); n != 0 {
			t.Errorf("a drain is logged %d times before it begins", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if log.Count("level=INFO") < 3 || log.Count("event=drain.started") != 1 || log.Count("event=drain.ended") != 1 {
			t.Error("want the start and the end of the drain logged once each, even for a worker without jobs")
		}
	})
}

func TestAPanicIsLoggedWithItsStack(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		var log fixture.LogBuffer
		w := chime.NewWorker(store, chime.WorkerOptions{Logger: log.Logger()})
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			if job.Attempt == 1 {
				panickingHandler()
			}
			return nil
		})
		f.Enqueue("default", job("work"), "a")
		stop := fixture.Start(w)
		fixture.Pass(time.Hour)
		if n := log.Count("level=ERROR msg=\"chime: a handler panicked\" event=handler.panic job=work id=a queue=default attempt=1 error=\"panic: oh\" stack="); n != 1 || log.Count("panickingHandler") != 1 {
			t.Errorf("the panic is logged %d times, and its place %d times, want both once", n, log.Count("panickingHandler"))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func panickingHandler() { panic("oh") }

func TestAStuckHandlerIsLoggedOnce(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		var log fixture.LogBuffer
		w := chime.NewWorker(store, chime.WorkerOptions{Logger: log.Logger()})
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			if job.Attempt == 1 {
				time.Sleep(10 * time.Minute) // it ignores its ctx
			}
			return nil
		}, chime.Timeout(time.Minute))
		f.Enqueue("default", job("work"), "a")
		stop := fixture.Start(w)
		fixture.Pass(69 * time.Second)
		if n := log.Count("event=handler.stuck"); n != 0 {
			t.Errorf("a stuck handler is logged %d times earlier than ten seconds after its timeout", n)
		}
		fixture.Pass(2 * time.Second)
		if log.Count("event=handler.stuck job=work id=a queue=default attempt=1 worker=") != 1 || log.Count("after_ms=70") != 1 {
			t.Error("want a log line about the stuck handler, with its running time")
		}
		fixture.Pass(time.Hour)
		if n := log.Count("event=handler.stuck"); n != 1 {
			t.Errorf("the stuck handler is logged %d times, want once", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAWorkerLogsItsQueuesAndItsOutcomes(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := f.Hooked()
		var log fixture.LogBuffer
		w := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 1, "default": 3}, Concurrency: 20, Logger: log.Logger()})
		w.Handle("report", func(context.Context, *chime.Job) error { return nil })
		w.Handle("alert", func(_ context.Context, job *chime.Job) error {
			switch job.ID {
			case "retry":
				return chime.RetryAfter(time.Hour, errors.New("no"))
			case "snooze":
				return chime.Snooze(time.Hour)
			}
			return chime.Discard(errors.New("no"))
		})
		f.Enqueue("default", job("report"), fixture.Names("job", 7)...)
		f.Enqueue("default", job("elsewhere"), "parked")
		f.Enqueue("mail", job("alert"), "dead", "retry", "snooze")
		f.Put("mail", protocol.EnqueueItem{Body: []byte{1}}, "unreadable")
		stop := fixture.Start(w)
		fixture.Pass(time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		for _, want := range []string{
			`event=worker.started`, `queues="default:3 mail:1" handlers="alert report" concurrency=20 store="redis 127.0.0.1:0/0, namespace chime"`,
			`event=drain.ended`,
			`done=7 retried=1 dead=2 snoozed=1 cancelled=0 parked=1 missed=0 expired=0 given_back=0 unsettled=0 cut_off=""`,
		} {
			if log.Count(want) != 1 {
				t.Errorf("%s is logged %d times, want once, in\n%s", want, log.Count(want), log.String())
			}
		}
	})
}
