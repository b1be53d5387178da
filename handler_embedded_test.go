package chime_test

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
)

// What a handler changes in its payload is its own: the next attempt, and the schedule's next occurrence, have what was enqueued.
func TestAHandlersChangesToItsPayloadReachNoOtherAttempt(t *testing.T) {
	onStore(t, func(t *testing.T, b *bench) {
		quiet := slog.New(slog.DiscardHandler)
		scheduler := chime.NewScheduler(b.server.Store(), chime.SchedulerOptions{Logger: quiet})
		everyMinute, err := recurrence.Cron("*/1 * * * *")
		if err != nil {
			t.Fatal(err)
		}
		if err := scheduler.Schedule("beat", everyMinute, chime.Args([]byte("arguments"))); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		ran := map[string]int{}
		spoil := func(_ context.Context, job *chime.Job) error {
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
		worker := b.worker(chime.WorkerOptions{Concurrency: 2})
		worker.Handle("work", spoil)
		worker.Handle("beat", spoil)
		if _, err := chime.NewEnqueuer(b.server.Store(), chime.EnqueuerOptions{Logger: quiet}).Enqueue(t.Context(), "work", []byte("arguments")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- chime.Run(ctx, scheduler, worker) }()
		pass(4 * time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if ran["work"] != 3 || ran["beat"] < 9 {
			t.Errorf("ran %v, want three attempts each", ran)
		}
	})
}

type textError struct{ text string }

func (e *textError) Error() string { return e.text }

type wildError struct{}

func (wildError) Error() string { return "wild" }
func (wildError) Is(error) bool { panic("Is") }
func (wildError) As(any) bool   { panic("As") }

// Whatever a handler returns, and whatever its Backoff does, is that job's failure and no other's.
func TestAnErrorWhoseMethodsPanicIsAFailure(t *testing.T) {
	for name, failure := range map[string]error{
		"a nil pointer": (*textError)(nil), "an error that panics when asked": wildError{}, "an ordinary error": errors.New("no"),
		"one inside another": fmt.Errorf("because: %w", wildError{}),
	} {
		onStore(t, func(t *testing.T, b *bench) {
			var log strings.Builder
			w := b.worker(chime.WorkerOptions{Concurrency: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			attempts := 0
			w.Handle("bad", func(context.Context, *chime.Job) error {
				if attempts++; attempts == 3 {
					return nil
				}
				return failure
			}, chime.Backoff(func(int) time.Duration { panic("no patience") }))
			b.add("bad", 0, "x")
			stop := b.run(w)
			pass(time.Minute)
			if err := stop(); err != nil {
				t.Error(err)
			}
			if s := b.stats(); attempts != 3 || s.Done != 1 || s.Failed != 2 {
				t.Errorf("%s: %d attempts, %+v, want two failures and a success", name, attempts, s)
			}
			if !strings.Contains(log.String(), "no patience") {
				t.Errorf("%s: the log does not tell that Backoff panicked:\n%s", name, log.String())
			}
		})
	}
}

// A worker with a backlog has no time to sleep, and yet sees whose session lapses.
func TestABusyWorkerFindsTheJobsOfAVanishedOne(t *testing.T) {
	onStore(t, func(t *testing.T, b *bench) {
		b.add("work", 0, "held")
		call := protocol.WorkCall{
			Partition: protocol.Partition{Queue: "default"}, Worker: "gone", Session: "gone", Number: 1, TTL: 12 * time.Second, Take: 1,
		}
		if a := b.server.Store().Protocol().Work(t.Context(), []protocol.WorkCall{call})[0]; len(a.Taken) != 1 {
			t.Fatalf("took %+v", a)
		}
		b.add("work", 0, names("j", 4000)...)
		began := time.Now()
		var again time.Duration
		w := b.worker(chime.WorkerOptions{Concurrency: 2})
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			if job.ID == "held" {
				again = time.Since(began)
			}
			time.Sleep(100 * time.Millisecond) // its work: fake time in a bubble
			return nil
		})
		stop := b.run(w)
		pass(30 * time.Second)
		if again < 12*time.Second || again > 18*time.Second {
			t.Errorf("the vanished worker's job ran again after %v, want it soon after twelve seconds and a second look", again)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// One slot is shared by what is due and what is ready too.
func TestDueAndReadyJobsShareTheSlots(t *testing.T) {
	for _, concurrency := range []int{1, 2, 3} {
		onStore(t, func(t *testing.T, b *bench) {
			hourly, err := recurrence.Cron("0 * * * *")
			if err != nil {
				t.Fatal(err)
			}
			scheduler := chime.NewScheduler(b.server.Store(), chime.SchedulerOptions{Logger: slog.New(slog.DiscardHandler)})
			for _, name := range names("s", 200) {
				if err := scheduler.Schedule(name, hourly, chime.JobName("work"), chime.NoImmediateRun()); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- scheduler.Run(ctx) }()
			pass(time.Hour + time.Second) // all are due
			b.add("work", 0, names("j", 100)...)
			var mu sync.Mutex
			ran, ready := 0, 0
			w := b.worker(chime.WorkerOptions{Concurrency: concurrency})
			w.Handle("work", func(_ context.Context, job *chime.Job) error {
				mu.Lock()
				if ran < 100 {
					ran++
					if job.Schedule == "" {
						ready++
					}
				}
				mu.Unlock()
				time.Sleep(100 * time.Millisecond) // its work: fake time in a bubble
				return nil
			})
			stop := b.run(w)
			pass(15 * time.Second)
			if ran != 100 || ready < 25 || ready > 75 {
				t.Errorf("concurrency %d: of the first %d jobs %d were ready ones, want about half", concurrency, ran, ready)
			}
			cancel()
			if err := errors.Join(stop(), <-done); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAJobHasItsTimeoutAndItsLastError(t *testing.T) {
	onStore(t, func(t *testing.T, b *bench) {
		w := b.worker(chime.WorkerOptions{})
		var seen []string
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			seen = append(seen, fmt.Sprintf("%d %v %q", job.Attempt, job.Timeout, job.LastError))
			return chime.RetryAfter(time.Second, fmt.Errorf("no %d", job.Attempt))
		}, chime.Timeout(time.Minute))
		b.add("work", 0, "a")
		stop := b.run(w)
		pass(time.Minute)
		if got, want := fmt.Sprint(seen), `[1 1m0s "" 2 1m0s "no 1" 3 1m0s "no 2"]`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
