package health_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/health"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

// A faultyStore counts the calls of /readyz, and fails or hangs as the test sets it.
type faultyStore struct {
	protocol.Store
	calls atomic.Int64
	fault atomic.Pointer[func(context.Context) error] // of every call that roles repeat until they end; nil: none
}

func (s *faultyStore) Protocol() protocol.Store { return s }

func (s *faultyStore) failing(ctx context.Context) error {
	if fault := s.fault.Load(); fault != nil {
		return (*fault)(ctx)
	}
	return nil
}

func (s *faultyStore) fail(fault func(context.Context) error) { s.fault.Store(&fault) }

func (s *faultyStore) Lease(ctx context.Context) (string, error) {
	s.calls.Add(1)
	if err := s.failing(ctx); err != nil {
		return "", err
	}
	return s.Store.Lease(ctx)
}

func (s *faultyStore) Check(ctx context.Context) error {
	if err := s.failing(ctx); err != nil {
		return err
	}
	return s.Store.Check(ctx)
}

func (s *faultyStore) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	err := s.failing(ctx)
	if err == nil {
		return s.Store.Work(ctx, calls)
	}
	answers := make([]protocol.WorkAnswer, len(calls))
	for i := range answers {
		answers[i].Err = err
	}
	return answers
}

func (s *faultyStore) Lead(ctx context.Context, candidate string, ttl time.Duration) (protocol.Leadership, error) {
	if err := s.failing(ctx); err != nil {
		return protocol.Leadership{}, err
	}
	return s.Store.Lead(ctx, candidate, ttl)
}

var (
	errDown = func(context.Context) error { return errors.New("dial tcp: connection refused") }
	hangs   = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	quiet   = slog.New(slog.DiscardHandler)
)

// A probe requests the health of a process like a process manager.
type probe struct {
	t *testing.T
	*health.Health
}

func newProbe(t *testing.T, options health.Options) probe {
	t.Helper()
	h, err := health.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return probe{t, h}
}

// check requests both and compares them: an empty want is 200, anything else is a part of the text with 503.
func (p probe) check(when, live, ready string) {
	p.t.Helper()
	p.request(when, "/livez", p.Livez, "alive\n", live)
	p.request(when, "/readyz", p.Readyz, "ready\n", ready)
}

func (p probe) request(when, path string, handler http.HandlerFunc, fine, want string) {
	p.t.Helper()
	answer := httptest.NewRecorder()
	handler(answer, httptest.NewRequestWithContext(p.t.Context(), "GET", path, nil))
	got := answer.Body.String()
	switch {
	case want == "" && (answer.Code != http.StatusOK || got != fine):
		p.t.Errorf("%s: %s answers %d %q, want 200 %q", when, path, answer.Code, got, fine)
	case want != "" && (answer.Code != http.StatusServiceUnavailable || !strings.HasPrefix(got, "not "+strings.TrimSpace(fine)+": ") || !strings.Contains(got, want)):
		p.t.Errorf("%s: %s answers %d %q, want 503 with %q", when, path, answer.Code, got, want)
	}
}

func TestAProcessIsReadyFromItsStartToItsDrain(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Logger: quiet})
		worker.Handle("work", func(context.Context, *chime.Job) error { time.Sleep(10 * time.Second); return nil })
		scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{Logger: quiet})
		if err := scheduler.Schedule("work", recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 1}); err != nil {
			t.Fatal(err)
		}
		p := newProbe(t, health.Options{Store: c.Store(), Roles: []health.Role{worker, scheduler}})
		p.check("before Run", "", "does not run")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- chime.Run(ctx, scheduler, worker) }()
		for range 40 {
			c.Advance(time.Second)
			p.check("while it runs", "", "")
		}
		c.Advance(22 * time.Second) // a job has begun
		cancel()
		synctest.Wait()
		p.check("while a handler drains", "", "draining")
		if err := <-ended; err != nil {
			t.Error(err)
		}
		p.check("after Run", "", "draining")
	})
}

func TestAStoreThatIsDownCausesNoRestart(t *testing.T) {
	for name, fault := range map[string]func(context.Context) error{"refused": errDown, "hanging": hangs} {
		t.Run(name, func(t *testing.T) {
			chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
				store := &faultyStore{Store: c.Store().Protocol()}
				worker := chime.NewWorker(store, chime.WorkerOptions{Logger: quiet})
				worker.Handle("work", func(context.Context, *chime.Job) error { return nil })
				scheduler := chime.NewScheduler(store, chime.SchedulerOptions{Logger: quiet})
				p := newProbe(t, health.Options{Store: store, Roles: []health.Role{worker, scheduler}})
				store.fail(fault)
				c.Start(worker, scheduler)
				for range 40 {
					time.Sleep(3 * time.Second)
					p.check("while the roles wait for the store", "", "the store does not answer")
				}
				store.fault.Store(nil)
				time.Sleep(time.Minute)
				p.check("when it is there", "", "")
				store.fail(fault)
				for range 40 {
					time.Sleep(3 * time.Second)
					p.check("while it is away", "", "the store does not answer")
				}
				store.fault.Store(nil)
				time.Sleep(time.Minute)
				p.check("when it is back", "", "")
			})
		})
	}
}

// A client without ContextTimeoutEnabled waits until its own timeouts end the call.
func TestTheStoreHasASecondEvenIfItsClientHeedsNoCtx(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		store := &faultyStore{Store: c.Store().Protocol()}
		p := newProbe(t, health.Options{Store: store})
		store.fail(func(context.Context) error { time.Sleep(10 * time.Second); return nil })
		for i := range 8 {
			began := time.Now()
			p.check("while a call takes ten seconds", "", "the store does not answer")
			if took := time.Since(began); took > time.Second {
				t.Errorf("answer %d took %v, want 1 s at most", i, took)
			}
		}
		time.Sleep(2500 * time.Millisecond)
		p.check("when that call has succeeded", "", "the store does not answer")
		if n := store.calls.Load(); n != 1 {
			t.Errorf("the store was called %d times before it had answered, want once", n)
		}
		time.Sleep(time.Minute)
		store.fault.Store(nil)
		p.check("when it answers at once", "", "")
	})
}

func TestHowOftenTheStoreIsCalled(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		store := &faultyStore{Store: c.Store().Protocol()}
		p := newProbe(t, health.Options{Store: store})
		for range 100 {
			p.check("ten times a second", "", "")
			time.Sleep(100 * time.Millisecond)
		}
		if n := store.calls.Load(); n != 10 {
			t.Errorf("the store was called %d times in ten seconds, want 10", n)
		}
		for range 1000 {
			p.request("in any number", "/livez", p.Livez, "alive\n", "")
		}
		if n := store.calls.Load(); n != 10 {
			t.Errorf("/livez called the store %d times, want never", n-10)
		}
	})
}

// A producer's user may not read the lease (docs/access.md).
func TestAServerThatRefusesTheCallHasAnswered(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		store := &faultyStore{Store: c.Store().Protocol()}
		store.fail(func(context.Context) error {
			return errors.New("NOPERM No permissions to access a key")
		})
		newProbe(t, health.Options{Store: store}).check("where it may not read", "", "")
	})
}

func TestPausedFullAndNotLeadingAreHealthy(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		first, second := chime.NewScheduler(c.Store(), chime.SchedulerOptions{Logger: quiet}), chime.NewScheduler(c.Store(), chime.SchedulerOptions{Logger: quiet})
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Logger: quiet, Concurrency: 1})
		worker.Handle("long", func(ctx context.Context, _ *chime.Job) error { time.Sleep(5 * time.Minute); return nil })
		c.Start(first, second, worker)
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{Logger: quiet})
		for range 10 {
			if _, err := enqueuer.Enqueue(t.Context(), "long", nil); err != nil {
				t.Fatal(err)
			}
		}
		p := newProbe(t, health.Options{Store: c.Store(), Roles: []health.Role{first, second, worker}})
		for range 30 {
			time.Sleep(5 * time.Second)
			p.check("with all slots busy, and one of two leading", "", "")
		}
		if err := chime.NewQueues(c.Store()).Pause(t.Context(), "default", chime.Note{Text: "incident"}); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			time.Sleep(5 * time.Second)
			p.check("with a paused queue", "", "")
		}
	})
}

func TestALoopThatIsStuckIsReportedByBoth(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		release := make(chan struct{})
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Logger: quiet, Observers: []*chime.Observer{{Taken: func([]chime.JobEvent) { <-release }}}})
		worker.Handle("work", func(context.Context, *chime.Job) error { return nil })
		p := newProbe(t, health.Options{Store: c.Store(), Roles: []health.Role{worker}})
		c.Start(worker)
		if _, err := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{Logger: quiet}).Enqueue(t.Context(), "work", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(29 * time.Second)
		p.check("29 s after an observer did not return", "", "")
		time.Sleep(2 * time.Second)
		p.check("after 31 s", "the loop processor of a *chime.Worker has not turned for 3", "the loop processor of a *chime.Worker has not turned for 3")
		close(release)
		time.Sleep(time.Second)
		p.check("when it continues", "", "")
	})
}

func TestAProcessThatStopsTakingRequestsIsNotReady(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		p := newProbe(t, health.Options{Store: c.Store()})
		p.check("before", "", "")
		p.Drain()
		p.check("after", "", "draining")
	})
}

func TestWhatIsWrongWithOptions(t *testing.T) {
	_, err := health.New(health.Options{Roles: []health.Role{nil}, MaxSilence: time.Second})
	for _, want := range []string{"Options.Store is nil", "Options.Roles has a nil role", "Options.MaxSilence is 1s, want 10s or more"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
