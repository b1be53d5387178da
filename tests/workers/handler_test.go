package workers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A handler may change its payload. The next attempt and the schedule's next occurrence get the original payload.
func TestAHandlersChangesToItsPayloadReachNoOtherAttempt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		quiet := fixture.Quiet()
		scheduler := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Logger: quiet})
		everyMinute, err := recurrence.Cron("*/1 * * * *")
		if err != nil {
			t.Fatal(err)
		}
		if err := scheduler.Schedule("minutely", everyMinute, chime.Args([]byte("arguments"))); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		ran := map[string]int{}
		overwrite := func(_ context.Context, job *chime.Job) error {
			mu.Lock()
			defer mu.Unlock()
			ran[job.Name]++
			if string(job.Payload) != "arguments" {
				t.Errorf("%s, attempt %d: payload %q", job.ID, job.Attempt, job.Payload)
			}
			for i := range job.Payload {
				job.Payload[i] = 'x'
			}
			if job.Attempt < 3 {
				return errors.New("again")
			}
			return nil
		}
		worker := f.Worker(chime.WorkerOptions{Concurrency: 2})
		worker.Handle("work", overwrite)
		worker.Handle("minutely", overwrite)
		if _, err := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{Logger: quiet}).Enqueue(t.Context(), "work", []byte("arguments")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- chime.Run(ctx, scheduler, worker) }()
		fixture.Pass(4 * time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if ran["work"] != 3 || ran["minutely"] < 9 {
			t.Errorf("ran %v, want three attempts each", ran)
		}
	})
}

// A handler may also change the death that it receives: the next attempt receives the original one.
func TestAHandlersChangesToADeathReachNoOtherAttempt(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("hopeless", func(context.Context, *chime.Job) error { return chime.Discard(errors.New("no")) })
		var mu sync.Mutex
		attempts := 0
		w.Handle("alert", func(_ context.Context, job *chime.Job) error {
			mu.Lock()
			defer mu.Unlock()
			attempts++
			if got := string(job.Death.Payload) + job.Death.Header["tenant"]; got != "argumentsa" {
				t.Errorf("attempt %d: death %q", job.Attempt, got)
			}
			for i := range job.Death.Payload {
				job.Death.Payload[i] = 'x'
			}
			job.Death.Header["tenant"] = "b"
			if job.Attempt < 3 {
				return chime.RetryAfter(time.Second, errors.New("again"))
			}
			return nil
		})
		stop := f.Start(w)
		e := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		if _, err := e.Enqueue(t.Context(), "hopeless", []byte("arguments"), chime.Header("tenant", "a"), chime.OnDeath(chime.Item{Name: "alert"})); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if attempts != 3 {
			t.Errorf("%d attempts, want 3", attempts)
		}
	})
}

type textError struct{ text string }

func (e *textError) Error() string { return e.text }

type wildError struct{}

func (wildError) Error() string { return "wild" }
func (wildError) Is(error) bool { panic("Is") }
func (wildError) As(any) bool   { panic("As") }

// An error whose methods panic, or a Backoff that panics, makes the job fail and affects nothing else.
func TestAnErrorWhoseMethodsPanicIsAFailure(t *testing.T) {
	for name, failure := range map[string]error{
		"a nil pointer": (*textError)(nil), "an error that panics in Is and As": wildError{}, "an ordinary error": errors.New("no"),
		"one inside another": fmt.Errorf("because: %w", wildError{}),
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			var log strings.Builder
			w := f.Worker(chime.WorkerOptions{Concurrency: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			attempts := 0
			w.Handle("bad", func(context.Context, *chime.Job) error {
				if attempts++; attempts == 3 {
					return nil
				}
				return failure
			}, chime.Backoff(func(int) time.Duration { panic("no patience") }))
			f.Add("bad", 0, "x")
			stop := f.Start(w)
			fixture.Pass(time.Minute)
			if err := stop(); err != nil {
				t.Error(err)
			}
			if s := f.Stats(); attempts != 3 || s.Done != 1 || s.Failed != 2 {
				t.Errorf("%s: %d attempts, %+v, want two failures and a success", name, attempts, s)
			}
			if !strings.Contains(log.String(), "no patience") {
				t.Errorf("%s: the log does not contain the panic of Backoff:\n%s", name, log.String())
			}
		})
	}
}

// A worker with a backlog never sleeps, but still finds lapsed sessions.
func TestABusyWorkerFindsTheJobsOfAVanishedOne(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Add("work", 0, "held")
		call := protocol.WorkCall{
			Partition: protocol.Partition{Queue: "default"}, Worker: "gone", Session: "gone", Number: 1, TTL: 12 * time.Second, Take: 1,
		}
		if a := f.Server.Store().Protocol().Work(t.Context(), []protocol.WorkCall{call})[0]; len(a.Taken) != 1 {
			t.Fatalf("took %+v", a)
		}
		f.Add("work", 0, fixture.Names("j", 4000)...)
		began := time.Now()
		var again time.Duration
		w := f.Worker(chime.WorkerOptions{Concurrency: 2})
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			if job.ID == "held" {
				again = time.Since(began)
			}
			time.Sleep(100 * time.Millisecond) // fake time in a bubble
			return nil
		})
		stop := f.Start(w)
		fixture.Pass(30 * time.Second)
		if again < 12*time.Second || again > 18*time.Second {
			t.Errorf("the vanished worker's job ran again after %v, want 12 s plus a second poll, which is 12 to 18 s", again)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// Due jobs and ready jobs get half of the slots each, even with a single slot.
func TestDueAndReadyJobsShareTheSlots(t *testing.T) {
	for _, concurrency := range []int{1, 2, 3} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			rule, err := recurrence.Cron("*/5 * * * *")
			if err != nil {
				t.Fatal(err)
			}
			scheduler := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Logger: fixture.Quiet()})
			for _, name := range fixture.Names("s", 200) {
				if err := scheduler.Schedule(name, rule, chime.JobName("work"), chime.NoImmediateRun()); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- scheduler.Run(ctx) }()
			fixture.Pass(5*time.Minute + time.Second) // all are due
			f.Add("work", 0, fixture.Names("j", 100)...)
			var mu sync.Mutex
			ran, ready := 0, 0
			w := f.Worker(chime.WorkerOptions{Concurrency: concurrency})
			w.Handle("work", func(_ context.Context, job *chime.Job) error {
				mu.Lock()
				if ran < 100 {
					ran++
					if job.Schedule == "" {
						ready++
					}
				}
				mu.Unlock()
				time.Sleep(100 * time.Millisecond) // fake time in a bubble
				return nil
			})
			stop := f.Start(w)
			fixture.Pass(15 * time.Second)
			if ran != 100 || ready < 25 || ready > 75 {
				t.Errorf("concurrency %d: of the first %d jobs %d were from ready, want about half", concurrency, ran, ready)
			}
			cancel()
			if err := errors.Join(stop(), <-done); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAJobHasItsTimeoutAndItsLastError(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		w := f.Worker(chime.WorkerOptions{})
		var seen []string
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			seen = append(seen, fmt.Sprintf("%d %v %q", job.Attempt, job.Timeout, job.LastError))
			return chime.RetryAfter(time.Second, fmt.Errorf("no %d", job.Attempt))
		}, chime.Timeout(time.Minute))
		f.Add("work", 0, "a")
		stop := f.Start(w)
		fixture.Pass(time.Minute)
		if got, want := fmt.Sprint(seen), `[1 1m0s "" 2 1m0s "no 1" 3 1m0s "no 2"]`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
