package chime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAWorkerLogsOnceWhatAnOperatorMustKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		var log logBuffer
		stop := startWorker(t, NewWorker(asStore(store), WorkerOptions{Logger: log.logger()}))
		pass(time.Hour)
		if n := log.count("level=WARN msg=\"chime: worker has no handlers"); n != 1 {
			t.Errorf("that a worker has no handlers is logged %d times, want once", n)
		}
		if n := log.count("event=drain.started"); n != 0 {
			t.Errorf("a drain is logged %d times before it begins", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if log.count("level=INFO") < 3 || log.count("event=drain.started") != 1 || log.count("event=drain.ended") != 1 {
			t.Error("want the start and the end of the drain logged once each, also of a worker that holds nothing")
		}
	})
}

func TestAPanicIsLoggedWithItsStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		var log logBuffer
		w := NewWorker(asStore(store), WorkerOptions{Logger: log.logger()})
		w.Handle("work", func(_ context.Context, job *Job) error {
			if job.Attempt == 1 {
				panickingHandler()
			}
			return nil
		})
		store.add("default", job("work"), "a")
		stop := startWorker(t, w)
		pass(time.Hour)
		if n := log.count("level=ERROR msg=\"chime: a handler panicked\" event=handler.panic job=work id=a queue=default attempt=1 error=\"panic: oh\" stack="); n != 1 || log.count("panickingHandler") != 1 {
			t.Errorf("the panic is logged %d times, and its place %d times, want both once", n, log.count("panickingHandler"))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func panickingHandler() { panic("oh") }

func TestAStuckHandlerIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeJobStore(t)
		var log logBuffer
		w := NewWorker(asStore(store), WorkerOptions{Logger: log.logger()})
		w.Handle("work", func(_ context.Context, job *Job) error {
			if job.Attempt == 1 {
				time.Sleep(10 * time.Minute) // it does not heed its ctx
			}
			return nil
		}, Timeout(time.Minute))
		store.add("default", job("work"), "a")
		stop := startWorker(t, w)
		pass(69 * time.Second)
		if n := log.count("event=handler.stuck"); n != 0 {
			t.Errorf("a handler is stuck %d times before ten seconds after its timeout", n)
		}
		pass(2 * time.Second)
		if log.count("event=handler.stuck job=work id=a queue=default attempt=1 worker=") != 1 || log.count("after_ms=70") != 1 {
			t.Error("want it logged that a handler is stuck, with how long it has run")
		}
		pass(time.Hour)
		if n := log.count("event=handler.stuck"); n != 1 {
			t.Errorf("that a handler is stuck is logged %d times, want once", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
