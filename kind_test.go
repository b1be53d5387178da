package chime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

type kindArgs struct{ Customer string }

func TestKindBindsANameToItsArguments(t *testing.T) {
	report := Define[kindArgs]("kind.report")
	store := newEnqueueStore(t, 1)
	receipt, err := report.Enqueue(t.Context(), quietEnqueuer(store, EnqueuerOptions{}), kindArgs{"a"}, MaxAttempts(2))
	if err != nil {
		t.Fatal(err)
	}
	env, err := wire.DecodeEnvelope(store.jobs[receipt.ID].Body)
	if err != nil || env.Name != "kind.report" || env.MaxAttempts != 2 {
		t.Errorf("sent %+v, %v", env, err)
	}
	if item := report.Item(kindArgs{"b"}); item.Name != "kind.report" || item.Args != (kindArgs{"b"}) {
		t.Errorf("item %+v", item)
	}
	var settings scheduleSettings
	report.With(kindArgs{"c"}).schedule(&settings)
	if settings.jobName != "kind.report" || settings.args != (kindArgs{"c"}) {
		t.Errorf("schedule settings %+v", settings)
	}

	worker := NewWorker(asStore(store), WorkerOptions{})
	var got kindArgs
	report.Handle(worker, func(_ context.Context, _ *Job, args kindArgs) error { got = args; return nil })
	handler := worker.handlers["kind.report"].handler
	if err := handler(t.Context(), &Job{Payload: env.Payload}); err != nil || got.Customer != "a" {
		t.Errorf("handled %+v, %v", got, err)
	}
	if err := handler(t.Context(), &Job{Payload: []byte{0xc1}}); OutcomeOf(err).Action != Discarded {
		t.Errorf("arguments that do not decode: %v, want an error that discards", err)
	}
}

func TestDefineAndHandlePanicOnMistakes(t *testing.T) {
	report := Define[kindArgs]("kind.mistakes")
	if again := Define[kindArgs]("kind.mistakes"); again != report {
		t.Errorf("the same kind again is %v", again)
	}
	worker := NewWorker(asStore(newEnqueueStore(t, 1)), WorkerOptions{})
	handler := func(context.Context, *Job, kindArgs) error { return nil }
	report.Handle(worker, handler)
	for name, act := range map[string]func(){
		"no name":          func() { Define[kindArgs]("") },
		"a bad name":       func() { Define[kindArgs]("a b") },
		"another type":     func() { Define[string]("kind.mistakes") },
		"a nil default":    func() { Define[kindArgs]("kind.nil", nil) },
		"an ID":            func() { Define[kindArgs]("kind.id", ID("x")) },
		"an instant":       func() { Define[kindArgs]("kind.at", At(time.Now())) },
		"a bad queue":      func() { Define[kindArgs]("kind.queue", Queue("a b")) },
		"no attempts":      func() { Define[kindArgs]("kind.attempts", MaxAttempts(0)) },
		"a nil backoff":    func() { Define[kindArgs]("kind.backoff", Backoff(nil)) },
		"no handler":       func() { report.Handle(worker, nil) },
		"a second handler": func() { report.Handle(worker, handler) },
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "chime: ") {
					t.Errorf("%s: panic %v, want one that says what is wrong", name, r)
				}
			}()
			act()
		}()
	}
}

// Of every level the next farther one is used only for what the nearer one leaves open, in whatever order options are written.
func TestTheNearestDefaultWins(t *testing.T) {
	minutes := func(n int) AttemptOption { return Timeout(time.Duration(n) * time.Minute) }
	named := Define[kindArgs]("kind.nearest", MaxAttempts(20), minutes(20), Queue("kinds"), In(time.Hour), Backoff(afterMinutes(20)))
	plain := Define[kindArgs]("kind.nearest") // the same job without defaults
	handlers := []HandlerOption{MaxAttempts(30), minutes(30), Backoff(afterMinutes(30))}
	workers := []HandlerOption{MaxAttempts(40), minutes(40), Backoff(afterMinutes(40))}
	for _, c := range []struct {
		name     string
		kind     Kind[kindArgs] // by which the job is enqueued
		call     []EnqueueOption
		handles  Kind[kindArgs]
		handler  []HandlerOption
		worker   []HandlerOption
		queue    string
		attempts int
		timeout  int // minutes
		backoff  int // minutes; 0: chime's
	}{
		{"the call", named, []EnqueueOption{Queue("calls"), minutes(10), MaxAttempts(10), In(0)}, named, handlers, workers, "calls", 10, 10, 20},
		{"the kind", named, []EnqueueOption{In(0)}, named, handlers, workers, "kinds", 20, 20, 20},
		{"the call and the kind", named, []EnqueueOption{MaxAttempts(10), In(0)}, named, handlers, workers, "kinds", 10, 20, 20},
		{"the kind, of a job enqueued without it", plain, nil, named, handlers, workers, "mine", 20, 20, 20},
		{"the handler", plain, nil, plain, handlers, workers, "mine", 30, 30, 30},
		{"the handler and the worker", plain, nil, plain, handlers[:1], workers, "mine", 30, 40, 40},
		{"the worker", plain, nil, plain, nil, workers, "mine", 40, 40, 40},
		{"chime", plain, nil, plain, nil, nil, "mine", defaultMaxAttempts, int(defaultTimeout / time.Minute), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, item := range []bool{false, true} {
					body, queue := enqueued(t, c.kind, item, c.call)
					store := newFakeJobStore(t)
					store.add("default", body, "x")
					w := NewWorker(asStore(store), WorkerOptions{Logger: quiet(), Defaults: c.worker})
					var seen Job
					began := time.Now()
					c.handles.Handle(w, func(_ context.Context, job *Job, _ kindArgs) error {
						if job.Attempt == 2 {
							began = time.Now()
							return nil
						}
						seen = *job
						return errors.New("no")
					}, c.handler...)
					stop := startWorker(t, w)
					first := time.Now()
					pass(2 * time.Hour)
					if err := stop(); err != nil {
						t.Error(err)
					}
					if queue != c.queue || seen.MaxAttempts != c.attempts || seen.Timeout != time.Duration(c.timeout)*time.Minute {
						t.Errorf("queue %s, %d attempts, timeout %v; want %s, %d, %d min", queue, seen.MaxAttempts, seen.Timeout, c.queue, c.attempts, c.timeout)
					}
					lowest, highest := time.Duration(c.backoff)*time.Minute, time.Duration(c.backoff)*time.Minute+time.Second
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

func afterMinutes(minutes int) func(int) time.Duration {
	return func(int) time.Duration { return time.Duration(minutes) * time.Minute }
}

// enqueued enqueues a job of a kind, by Enqueue or as an Item, by an Enqueuer whose queue is "mine". It returns the job as it was sent
// and its queue.
func enqueued(t *testing.T, kind Kind[kindArgs], item bool, options []EnqueueOption) (wire.Envelope, string) {
	t.Helper()
	store := newEnqueueStore(t, 1)
	e := quietEnqueuer(store, EnqueuerOptions{Queue: "mine"})
	var err error
	if item {
		_, err = e.EnqueueMany(t.Context(), []Item{kind.Item(kindArgs{"a"}, options...)})
	} else {
		_, err = kind.Enqueue(t.Context(), e, kindArgs{"a"}, options...)
	}
	if err != nil {
		t.Fatal(err)
	}
	sent := store.calls[0]
	if sent.Items[0].In > 0 {
		t.Errorf("the job is delayed by %v: In(0) of the call is nearer than that of the kind", sent.Items[0].In)
	}
	body, err := wire.DecodeEnvelope(store.jobs[store.order[0]].Body)
	if err != nil {
		t.Fatal(err)
	}
	return body, sent.Partition.Queue
}

func TestAKindsDefaultsHoldForItsSchedules(t *testing.T) {
	kind := Define[kindArgs]("kind.scheduled", Queue("kinds"), MaxAttempts(20), Timeout(time.Minute), In(time.Hour), Backoff(afterMinutes(1)))
	for _, c := range []struct {
		name    string
		options []ScheduleOption
		queue   string
		body    string
	}{
		{"alone", []ScheduleOption{kind.With(kindArgs{"a"})}, "kinds", `"maxAttempts":20,"timeout":"1m0s"`},
		{"With first", []ScheduleOption{kind.With(kindArgs{"a"}), Queue("low"), MaxAttempts(2)}, "low", `"maxAttempts":2,"timeout":"1m0s"`},
		{"With last", []ScheduleOption{Queue("low"), MaxAttempts(2), kind.With(kindArgs{"a"})}, "low", `"maxAttempts":2,"timeout":"1m0s"`},
		{"the last With counts", []ScheduleOption{kind.With(kindArgs{"a"}), Define[kindArgs]("kind.other").With(kindArgs{"a"})}, "default", `"grace":"1m0s","payload"`},
	} {
		d, err := declaration("s", everyMinute, putOptions(c.options))
		if err != nil || d.Queue != c.queue || !strings.Contains(string(d.Body), c.body) {
			t.Errorf("%s: queue %s, %s, %v; want %s and %s", c.name, d.Queue, d.Body, err, c.queue, c.body)
		}
	}
}

func TestAnOccurrenceHasFiveAttempts(t *testing.T) {
	for want, options := range map[int]struct{ handler, worker []HandlerOption }{
		5: {}, 7: {worker: []HandlerOption{MaxAttempts(7)}}, 8: {[]HandlerOption{MaxAttempts(8)}, []HandlerOption{MaxAttempts(7)}},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := newFakeJobStore(t)
			body := wire.Envelope{Name: "tick", Schedule: "tick"}
			store.add("default", body, "tick@2000-01-01T00:00:00Z")
			w := NewWorker(asStore(store), WorkerOptions{Logger: quiet(), Defaults: options.worker})
			attempts := 0
			w.Handle("tick", func(_ context.Context, job *Job) error {
				if attempts++; job.MaxAttempts != want {
					t.Errorf("attempt %d of %d, want of %d", job.Attempt, job.MaxAttempts, want)
				}
				return RetryAfter(0, errors.New("no"))
			}, options.handler...)
			stop := startWorker(t, w)
			pass(time.Minute)
			if err := stop(); err != nil {
				t.Error(err)
			}
			if attempts != want || store.kinds()[protocol.SettleDead] != 1 {
				t.Errorf("%d attempts, settled %v; want dead after %d", attempts, store.kinds(), want)
			}
		})
	}
}
