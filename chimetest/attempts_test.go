package chimetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

var silent = slog.New(slog.DiscardHandler)

func newWorker(c *Chime, options chime.WorkerOptions) *chime.Worker {
	options.Logger = silent
	return chime.NewWorker(c.Store(), options)
}

func newScheduler(c *Chime) *chime.Scheduler {
	return chime.NewScheduler(c.Store(), chime.SchedulerOptions{Logger: silent})
}

func newEnqueuer(c *Chime) *chime.Enqueuer {
	return chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{Logger: silent})
}

// A step is one attempt of a handler in the walk.
type step struct {
	Takes   time.Duration // fake time
	Outcome string        // done, fail, later, snooze, discard, panic
	Delay   time.Duration
}

func (s step) do() error {
	time.Sleep(s.Takes) // fake time: the handler takes this long
	switch s.Outcome {
	case "fail":
		return chime.RetryAfter(s.Delay, errors.New("it failed"))
	case "snooze":
		return chime.Snooze(s.Delay)
	case "discard":
		return chime.Discard(errors.New("it is useless"))
	case "panic":
		panic("it broke")
	}
	return nil
}

// recorded formats an attempt for a comparison.
func recorded(run *chime.RunInfo) string {
	return fmt.Sprintf("%s %s %s attempt %d %s to %s: %s %q", run.Name, run.Queue, run.ID, run.Attempt,
		run.Started.Format(time.RFC3339Nano), run.Ended.Format(time.RFC3339Nano), run.Outcome, run.Error)
}

// The handlers keep their own list of their attempts. Advance returns the same list for all outcomes and all lengths of steps.
func TestAdvanceReturnsEveryAttemptOnceInTheOrderOfTheirEnds(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			Run(t, func(t *testing.T, c *Chime) { walkAttempts(t, c, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func walkAttempts(t *testing.T, c *Chime, random *rand.Rand) {
	const maxAttempts = 4
	type line struct {
		ended time.Time
		text  string
	}
	var did []line
	var mu sync.Mutex // of the handlers' list: handlers run concurrently
	taken := map[string]int{}
	handler := func(_ context.Context, job *chime.Job) error {
		var steps []step
		if err := job.Decode(&steps); err != nil {
			return err
		}
		run := &chime.RunInfo{ID: job.ID, Name: job.Name, Queue: job.Queue, Attempt: job.Attempt, Started: time.Now()}
		if late := run.Started.Sub(job.Started); late < 0 || late > time.Microsecond {
			t.Errorf("job.Started is %v, the handler was called at %v", job.Started, run.Started)
		}
		mu.Lock()
		s := steps[min(taken[job.ID], len(steps)-1)] // a snoozed attempt is repeated with the same number
		taken[job.ID]++
		mu.Unlock()
		defer func() {
			run.Started = job.Started
			run.Ended = time.Now().UTC().Truncate(time.Microsecond)
			last := job.Attempt == maxAttempts
			switch s.Outcome {
			case "done":
				run.Outcome = chime.RunDone
			case "snooze":
				run.Outcome = chime.RunSnoozed
			case "discard":
				run.Outcome, run.Error = chime.RunDead, "it is useless"
			case "fail":
				run.Outcome, run.Error = chime.RunFailed, "it failed"
			case "panic":
				run.Outcome, run.Error = chime.RunFailed, "panic: it broke"
			}
			if run.Outcome == chime.RunFailed && last {
				run.Outcome = chime.RunDead
			}
			run.Started = run.Started.UTC().Truncate(time.Microsecond)
			mu.Lock()
			defer mu.Unlock()
			did = append(did, line{run.Ended, recorded(run)})
		}()
		return s.do()
	}
	for range 1 + random.IntN(2) {
		worker := newWorker(c, chime.WorkerOptions{
			Concurrency: 1 + random.IntN(5), Queues: map[string]int{"a": 1, "b": 2},
			Defaults: []chime.HandlerOption{chime.MaxAttempts(maxAttempts), chime.Backoff(func(int) time.Duration { return time.Minute })},
		})
		worker.Handle("walk", handler)
		c.Start(worker)
	}
	enqueuer := newEnqueuer(c)
	between := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	var runs []*chime.RunInfo
	for range 20 {
		for range random.IntN(8) {
			steps := make([]step, 5)
			for i := range steps {
				steps[i] = step{Takes: between(20 * time.Second), Delay: between(time.Hour), Outcome: []string{"done", "fail", "snooze", "discard", "panic"}[random.IntN(5)]}
				if random.IntN(3) == 0 {
					steps[i].Takes = 0
				}
			}
			steps[len(steps)-1].Outcome = []string{"done", "discard"}[random.IntN(2)] // else it might be snoozed without end
			queue := []string{"a", "b"}[random.IntN(2)]
			options := []chime.EnqueueOption{chime.Queue(queue)}
			if random.IntN(2) == 0 {
				options = append(options, chime.In(between(time.Hour)))
			}
			if _, err := enqueuer.Enqueue(t.Context(), "walk", steps, options...); err != nil {
				t.Fatal(err)
			}
		}
		d := between(10 * time.Minute)
		if random.IntN(4) == 0 {
			d = 0
		}
		now := time.Now()
		some := c.Advance(d)
		for _, run := range some {
			if run.Ended.After(now.Add(d + settledWithin)) {
				t.Errorf("returned after %v: %v", d, run)
			}
		}
		runs = append(runs, some...)
	}
	runs = append(runs, c.Advance(6*time.Hour)...)
	var got, want []string
	for _, run := range runs {
		got = append(got, recorded(run))
	}
	slices.SortStableFunc(did, func(a, b line) int { return a.ended.Compare(b.ended) })
	for _, l := range did {
		want = append(want, l.text)
	}
	compareRuns(t, got, want)
	if !slices.IsSortedFunc(runs, func(a, b *chime.RunInfo) int { return a.Ended.Compare(b.Ended) }) {
		t.Error("the attempts are not in the order in which they ended")
	}
}

// compareRuns compares attempts. The order of attempts that ended at the same instant does not matter.
func compareRuns(t *testing.T, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%d attempts, want %d; the first that differs:\n got %s\nwant %s", len(got), len(want),
				strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""), strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""))
		}
	}
}

// The time that passes is the time that the test has requested, in steps of any length.
func TestTimeDoesNotDrift(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		worker := newWorker(c, chime.WorkerOptions{})
		worker.Handle("second", func(context.Context, *chime.Job) error { return nil })
		scheduler := newScheduler(c)
		if err := scheduler.Schedule("second", recurrence.Recurrence{Frequency: recurrence.Second, Interval: 1}, chime.NoImmediateRun()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		c.Start(worker, scheduler)
		random := rand.New(rand.NewPCG(1, 1))
		var requested time.Duration
		ran := 0
		for range 200 {
			d := time.Duration(random.Int64N(int64(5 * time.Second)))
			requested += d
			ran += len(c.Advance(d))
			if ahead := time.Since(begin) - requested; ahead < 0 || ahead > settledWithin {
				t.Fatalf("after %v the clock is %v ahead, want 0 to %v", requested, ahead, settledWithin)
			}
		}
		if want := int(requested / time.Second); ran < want || ran > want+1 {
			t.Errorf("%d runs in %v, want one a second", ran, requested)
		}
	})
}

func TestAdvanceRunsWhatIsDueAtItsEnd(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		worker := newWorker(c, chime.WorkerOptions{})
		worker.Handle("later", func(context.Context, *chime.Job) error { return nil })
		c.Start(worker)
		if _, err := newEnqueuer(c).Enqueue(t.Context(), "later", nil, chime.In(time.Hour)); err != nil {
			t.Fatal(err)
		}
		if runs := c.Advance(time.Hour - time.Second); len(runs) != 0 {
			t.Errorf("a second too early: %v", runs)
		}
		if runs := c.Advance(time.Second); len(runs) != 1 {
			t.Errorf("%d runs at the instant itself, want 1", len(runs))
		}
		if _, err := newEnqueuer(c).Enqueue(t.Context(), "later", nil); err != nil {
			t.Fatal(err)
		}
		if runs := c.Advance(0); len(runs) != 1 {
			t.Errorf("Advance(0): %d runs, want the one that is due now", len(runs))
		}
		if runs := c.Advance(0); len(runs) != 0 {
			t.Errorf("again: %v, want nothing twice", runs)
		}
	})
}

// An attempt is not returned before it has ended. Then its beginning and end are exact.
func TestALongAttemptIsReturnedWhenItHasEnded(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		worker := newWorker(c, chime.WorkerOptions{})
		worker.Handle("long", func(context.Context, *chime.Job) error {
			time.Sleep(90 * time.Minute) // fake time: the handler runs longer than an Advance
			return nil
		}, chime.Timeout(2*time.Hour))
		c.Start(worker)
		if _, err := newEnqueuer(c).Enqueue(t.Context(), "long", nil); err != nil {
			t.Fatal(err)
		}
		if runs := c.Advance(time.Hour); len(runs) != 0 {
			t.Errorf("in the first hour: %v", runs)
		}
		runs := c.Advance(time.Hour)
		if len(runs) != 1 || runs[0].Outcome != chime.RunDone || runs[0].Ended.Sub(runs[0].Started) != 90*time.Minute || runs[0].Worker == "" || runs[0].Fence == 0 {
			t.Errorf("in the second: %+v, want one of 90 minutes", runs)
		}
	})
}

// A handler that ignores its timeout: the attempt counts as failed ten seconds later.
func TestAStuckAttemptIsReturnedAsFailed(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		worker := newWorker(c, chime.WorkerOptions{})
		worker.Handle("stuck", func(context.Context, *chime.Job) error {
			time.Sleep(time.Hour) // fake time: longer than its timeout
			return nil
		}, chime.Timeout(time.Minute), chime.MaxAttempts(1))
		c.Start(worker)
		if _, err := newEnqueuer(c).Enqueue(t.Context(), "stuck", nil); err != nil {
			t.Fatal(err)
		}
		runs := c.Advance(2 * time.Hour)
		if len(runs) != 1 || runs[0].Outcome != chime.RunDead || !strings.Contains(runs[0].Error, "timed out") || runs[0].Ended.Sub(runs[0].Started).Round(time.Second) != 70*time.Second {
			t.Errorf("got %+v, want one that is dead after 70 s", runs)
		}
	})
}

// An occurrence that a misfire policy skips, or that a newer one ends, is returned with its outcome.
func TestMissedAndSupersededOccurrencesAreReturned(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		roles := func() []chime.Role {
			scheduler := newScheduler(c)
			hourly := recurrence.Recurrence{Cron: "30 * * * *"}
			if err := errors.Join(scheduler.Schedule("skips", hourly, chime.Misfire(chime.MisfireSkip)),
				scheduler.Schedule("cancels", hourly, chime.Overlap(chime.OverlapCancel))); err != nil {
				t.Fatal(err)
			}
			worker := newWorker(c, chime.WorkerOptions{})
			worker.Handle("skips", func(context.Context, *chime.Job) error { return nil })
			worker.Handle("cancels", func(_ context.Context, job *chime.Job) error {
				if job.Planned.Hour() == 11 {
					return chime.RetryAfter(90*time.Minute, errors.New("again later"))
				}
				return nil
			})
			return []chime.Role{scheduler, worker}
		}
		stop := c.Start(roles()...)
		byOutcome := func(runs []*chime.RunInfo) (text string) {
			slices.SortStableFunc(runs, func(a, b *chime.RunInfo) int { return cmp.Compare(a.Name, b.Name) })
			for _, run := range runs {
				text += fmt.Sprintf("%s %02d %s\n", run.Schedule, run.Planned.Hour(), run.Outcome)
				if run.Name != run.Schedule {
					t.Errorf("%v has the job name %q", run, run.Name)
				}
			}
			return text
		}
		want := "cancels 10 done\ncancels 11 failed\ncancels 11 superseded\ncancels 12 done\nskips 10 done\nskips 11 done\nskips 12 done\n"
		if got := byOutcome(c.Advance(165 * time.Minute)); got != want {
			t.Errorf("until 13:02:\n%swant\n%s", got, want)
		}
		stop()
		c.Advance(2 * time.Hour)
		c.Start(roles()...)
		want = "cancels 13 done\nskips 13 missed\n"
		if got := byOutcome(c.Advance(0)); got != want {
			t.Errorf("at 15:02:\n%swant\n%s", got, want)
		}
	})
}

// A role of the test's own may have a worker in it.
func TestAWorkerInARoleOfTheTestsOwnIsRecordedToo(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		worker := newWorker(c, chime.WorkerOptions{})
		worker.Handle("fails", func(context.Context, *chime.Job) error { return errors.New("no") }, chime.MaxAttempts(1))
		worker.Handle("works", func(context.Context, *chime.Job) error { return nil })
		c.Start(roleFunc(worker.Run))
		if _, err := newEnqueuer(c).EnqueueMany(t.Context(), []chime.Item{{Name: "works"}, {Name: "fails"}}); err != nil {
			t.Fatal(err)
		}
		runs := c.Advance(time.Second)
		if len(runs) != 2 || runs[0].Started.IsZero() || runs[1].Ended.Before(runs[1].Started) {
			t.Errorf("got %+v, want two attempts", runs)
		}
	})
}

type roleFunc func(context.Context) error

func (f roleFunc) Run(ctx context.Context) error { return f(ctx) }
