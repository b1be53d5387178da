package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// attempts runs a job of name "work" that fails three times, and returns the delay before each further attempt, rounded to a tenth of a second.
func attempts(f *fixture.Fixture, worker chime.WorkerOptions, handler []chime.HandlerOption, start func(*chime.Scheduler, *chime.Enqueuer)) (waits []time.Duration) {
	f.T.Helper()
	w := f.Worker(worker)
	var last time.Time
	ended := make(chan struct{})
	w.Handle("work", func(_ context.Context, job *chime.Job) error {
		if now := time.Now(); job.Attempt > 1 {
			waits = append(waits, now.Sub(last).Round(100*time.Millisecond))
		}
		if last = time.Now(); job.Attempt < 4 {
			return errors.New("not yet")
		}
		close(ended)
		return nil
	}, handler...)
	scheduler := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{Logger: worker.Logger})
	start(scheduler, chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{}))
	ctx, stop := context.WithCancel(f.T.Context())
	done := make(chan error, 1)
	go func() { done <- chime.Run(ctx, scheduler, w) }()
	<-ended
	stop()
	if err := <-done; err != nil {
		f.T.Error(err)
	}
	return waits
}

// inMinutes rounds waits down to minutes if they are at most a tenth longer.
func inMinutes(waits []time.Duration) []time.Duration {
	rounded := slices.Clone(waits)
	for i, wait := range waits {
		if down := wait.Truncate(time.Minute); wait-down <= down/10 {
			rounded[i] = down
		}
	}
	return rounded
}

// Jobs that failed together are not retried together, and none of them earlier than its policy's delay.
func TestFixedRetriesAreSpreadALittleLater(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		const jobs = 40
		began := map[string]time.Time{}
		waits := map[time.Duration]bool{}
		w := f.Worker(chime.WorkerOptions{Concurrency: 1})
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			if job.Attempt == 1 {
				began[job.ID] = time.Now()
				return errors.New("busy")
			}
			waits[time.Since(began[job.ID])] = true
			return nil
		}, chime.Retry(chime.Fixed(20*time.Second)))
		stop := f.Start(w)
		e := quietEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		for range jobs {
			if _, err := e.Enqueue(t.Context(), "work", nil); err != nil {
				t.Fatal(err)
			}
		}
		fixture.Pass(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		for wait := range waits {
			if wait < 20*time.Second || wait > 22*time.Second+time.Second/2 {
				t.Errorf("a job waited %v, want 20 s to 22 s", wait)
			}
		}
		if len(waits) < jobs/2 {
			t.Errorf("%d jobs waited for %d different durations, want most of them different", jobs, len(waits))
		}
	})
}

func TestTheNearestRetryPolicyWins(t *testing.T) {
	fixed := func(minutes int) chime.AttemptOption {
		return chime.Retry(chime.Fixed(time.Duration(minutes) * time.Minute))
	}
	backoff := chime.Backoff(func(int) time.Duration { return 50 * time.Minute })
	for _, c := range []struct {
		name    string
		call    []chime.EnqueueOption
		handler []chime.HandlerOption
		worker  []chime.HandlerOption
		want    string
	}{
		{"the call's", []chime.EnqueueOption{fixed(1)}, []chime.HandlerOption{backoff}, nil, "[1m0s 1m0s 1m0s]"},
		{"the last one of the call", []chime.EnqueueOption{fixed(1), fixed(2)}, nil, nil, "[2m0s 2m0s 2m0s]"},
		{"the handler's", nil, []chime.HandlerOption{fixed(3)}, []chime.HandlerOption{backoff}, "[3m0s 3m0s 3m0s]"},
		{"the handler's last", nil, []chime.HandlerOption{fixed(3), backoff}, []chime.HandlerOption{fixed(4)}, "[50m0s 50m0s 50m0s]"},
		{"the handler's last, in the other order", nil, []chime.HandlerOption{backoff, fixed(3)}, nil, "[3m0s 3m0s 3m0s]"},
		{"the worker's", nil, nil, []chime.HandlerOption{fixed(4)}, "[4m0s 4m0s 4m0s]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
				got := attempts(f, chime.WorkerOptions{Defaults: c.worker}, c.handler, func(_ *chime.Scheduler, e *chime.Enqueuer) {
					if _, err := e.Enqueue(t.Context(), "work", nil, c.call...); err != nil {
						t.Fatal(err)
					}
				})
				if fmt.Sprint(inMinutes(got)) != c.want {
					t.Errorf("a job waited %v, want %s and up to a tenth more", got, c.want)
				}
			})
		})
	}
	t.Run("a schedule's", func(t *testing.T) {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			got := attempts(f, chime.WorkerOptions{}, []chime.HandlerOption{backoff}, func(s *chime.Scheduler, _ *chime.Enqueuer) {
				if err := s.Schedule("at once", recurrence.Recurrence{StartTime: time.Now().Add(time.Second)}, chime.JobName("work"), fixed(7)); err != nil {
					t.Fatal(err)
				}
			})
			if fmt.Sprint(inMinutes(got)) != "[7m0s 7m0s 7m0s]" {
				t.Errorf("an occurrence waited %v, want 7 minutes each time, and up to a tenth more", got)
			}
		})
	})
}

func TestAnExponentialRetryDoublesUpToItsLongest(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		got := attempts(f, chime.WorkerOptions{}, nil, func(_ *chime.Scheduler, e *chime.Enqueuer) {
			if _, err := e.Enqueue(t.Context(), "work", nil, chime.Retry(chime.Exponential(40*time.Second, time.Minute))); err != nil {
				t.Fatal(err)
			}
		})
		if len(got) != 3 {
			t.Fatalf("%d further attempts, want 3", len(got))
		}
		for i, longest := range []time.Duration{40 * time.Second, time.Minute, time.Minute} {
			if got[i] < longest*3/4 || got[i] > longest {
				t.Errorf("after failure %d the job waited %v, want %v to %v", i+1, got[i], longest*3/4, longest)
			}
		}
	})
}

func TestHeadersTravelThroughAllAttemptsAndFromASchedule(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		seen := map[string]int{}
		w := f.Worker(chime.WorkerOptions{})
		w.Handle("work", func(ctx context.Context, job *chime.Job) error {
			if chime.JobFrom(ctx) != job {
				t.Errorf("JobFrom returns %v in the handler of %v", chime.JobFrom(ctx), job)
			}
			seen[fmt.Sprint(job.Schedule, job.Header)]++
			if job.Header != nil {
				job.Header["tenant"] = "changed by a handler"
			}
			if job.Attempt < 2 {
				return chime.RetryAfter(time.Second, errors.New("again"))
			}
			return nil
		})
		scheduler := chime.NewScheduler(f.Server.Store(), chime.SchedulerOptions{})
		minutely := recurrence.Recurrence{Cron: "* * * * *"}
		if err := scheduler.Schedule("minutely", minutely, chime.JobName("work"), chime.Header("tenant", "b")); err != nil {
			t.Fatal(err)
		}
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		for _, options := range [][]chime.EnqueueOption{{chime.Header("tenant", "a"), chime.Header("trace", "1"), chime.Header("trace", "2")}, nil} {
			if _, err := enqueuer.Enqueue(t.Context(), "work", nil, options...); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		fixture.Pass(30 * time.Second)
		go func() { done <- chime.Run(ctx, scheduler, w) }()
		fixture.Pass(130 * time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got, want := fmt.Sprint(seen), "map[map[]:2 map[tenant:a trace:2]:2 minutelymap[tenant:b]:4]"; got != want {
			t.Errorf("handlers saw %s, want %s", got, want)
		}
	})
	if job := chime.JobFrom(t.Context()); job != nil {
		t.Errorf("outside of a handler JobFrom returns %v, want nil", job)
	}
}

func TestBadOptionsOfAnAttemptNameFieldValueAndLimit(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		death := func(options ...chime.EnqueueOption) chime.EnqueueOption {
			return chime.OnDeath(chime.Item{Name: "alert", Options: options})
		}
		alert := chime.Define[string]("attempt.alert", chime.Queue("alerts"), chime.OnDeath(chime.Item{Name: "other"}), chime.In(time.Hour))
		for want, option := range map[string]chime.EnqueueOption{
			"retry 0s: want 1ms to 8760h0m0s":                                chime.Retry(chime.RetryPolicy{}),
			"retry -1s: want 1ms to 8760h0m0s":                               chime.Retry(chime.Fixed(-time.Second)),
			"longest retry 1s: want 1m0s, the first, to 8760h0m0s":           chime.Retry(chime.Exponential(time.Minute, time.Second)),
			"header key is missing: want 1 to 100 bytes":                     chime.Header("", "x"),
			`header key "a\nb": want 1 to 100 bytes`:                         chime.Header("a\nb", "x"),
			"header 4097 bytes: want 4096 bytes at most":                     chime.Header("k", strings.Repeat("x", 4096)),
			`header k "\xff": want UTF-8`:                                    chime.Header("k", "\xff"),
			`option "At": want an option of an attempt`:                      death(chime.At(time.Now())),
			`option "ID": want an option of an attempt`:                      death(chime.ID("x")),
			`option "ArgsID": want an option of an attempt`:                  death(chime.ArgsID()),
			`option "Once": want an option of an attempt`:                    death(chime.Once(time.Hour)),
			`option "Replace": want an option of an attempt`:                 death(chime.Replace()),
			"max attempts 0: want 1 to 1000":                                 death(chime.MaxAttempts(0)),
			`job name "a b"`:                                                 chime.OnDeath(chime.Item{Name: "a b"}),
			"args 65539 bytes (payload too large): want at most 65536 bytes": chime.OnDeath(chime.Item{Name: "a", Args: make([]byte, 65539)}),
		} {
			_, err := enqueuer.Enqueue(t.Context(), "work", nil, option)
			if invalid := (*chime.InvalidError)(nil); !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		}
		for _, item := range []chime.Item{alert.Item("x", chime.MaxAttempts(2)), alert.Item("x", chime.Queue("mine"))} {
			if _, err := enqueuer.Enqueue(t.Context(), "work", nil, chime.OnDeath(item)); err != nil {
				t.Errorf("an OnDeath on another queue: %v", err)
			}
		}
	})
}

func TestMiddlewareForEnqueuingMayAddOptions(t *testing.T) {
	type tenantKey struct{}
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		var order []string
		named := func(name string) func(chime.EnqueueFunc) chime.EnqueueFunc {
			return func(next chime.EnqueueFunc) chime.EnqueueFunc {
				return func(ctx context.Context, items []chime.Item) ([]chime.Receipt, error) {
					order = append(order, fmt.Sprint(name, len(items)))
					for i := range items {
						items[i].Options = append(items[i].Options, chime.Header("tenant", ctx.Value(tenantKey{}).(string)))
					}
					return next(ctx, items)
				}
			}
		}
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		enqueuer.Use(named("outer"), named("inner"))
		ctx := context.WithValue(t.Context(), tenantKey{}, "a")
		one, err := enqueuer.Enqueue(ctx, "work", nil)
		if err != nil || one.Queue != "default" || one.ID == "" {
			t.Fatalf("receipt %+v, %v", one, err)
		}
		own := make([]chime.EnqueueOption, 1, 8) // with spare capacity that an append could write to
		own[0] = chime.Queue("mail")
		items := []chime.Item{{Name: "work", Options: own}, {Name: "work"}}
		many, err := enqueuer.EnqueueMany(ctx, items)
		if err != nil || len(many) != 2 || many[0].Queue != "mail" || many[1].Queue != "default" {
			t.Fatalf("receipts %+v, %v", many, err)
		}
		if len(items[0].Options) != 1 || own[:2][1] != nil || items[1].Options != nil {
			t.Error("middleware changed the caller's items, want it to get a copy")
		}
		if fmt.Sprint(order) != "[outer1 inner1 outer2 inner2]" {
			t.Errorf("middleware ran as %v", order)
		}
		seen := 0
		w := f.Worker(chime.WorkerOptions{Queues: map[string]int{"default": 1, "mail": 1}})
		w.Handle("work", func(_ context.Context, job *chime.Job) error {
			if job.Header["tenant"] == "a" {
				seen++
			}
			return nil
		})
		if got := fmt.Sprint(w.Handled()); got != "[work]" {
			t.Errorf("Handled is %s", got)
		}
		stopping, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(stopping) }()
		fixture.Pass(time.Second)
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if seen != 3 {
			t.Errorf("%d jobs have the tenant in their header, want 3", seen)
		}
		func() {
			defer func() {
				if r := recover(); r == nil {
					t.Error("Use after the first call did not panic")
				}
			}()
			enqueuer.Use(named("late"))
		}()
		synctest.Wait()
	})
}

func TestMiddlewareThatReturnsTooFewReceiptsIsAnError(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		enqueuer := chime.NewEnqueuer(f.Server.Store(), chime.EnqueuerOptions{})
		enqueuer.Use(func(chime.EnqueueFunc) chime.EnqueueFunc {
			return func(context.Context, []chime.Item) ([]chime.Receipt, error) { return nil, nil }
		})
		if receipt, err := enqueuer.Enqueue(t.Context(), "work", nil); err == nil {
			t.Errorf("receipt %+v and no error from middleware that returns no receipt", receipt)
		}
	})
}
