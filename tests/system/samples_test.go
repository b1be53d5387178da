package system_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// samples returns the samples of the default queue since an instant, and checks that they leave no minute out.
func (w *world) samples(since time.Time) []chime.Sample {
	w.Helper()
	all, err := chime.NewQueues(w.server.Store()).Samples(w.Context(), "default", since, time.Now(), time.Minute)
	if err != nil {
		w.Fatal(err)
	}
	for i := range all[:max(len(all)-1, 0)] {
		before, s := all[i], all[i+1]
		if next := before.At.Add(time.Minute); !s.At.Add(-time.Duration(s.Covers-1) * time.Minute).Equal(next) {
			w.Errorf("the sample of %v covers %d minutes, want all since %v", s.At, s.Covers, next)
		}
	}
	return all
}

// Leaders change, and for some time no process leads: each run is in one sample, and no minute is left out.
func TestSamplesContinueWithAnyLeaderOrNone(t *testing.T) {
	inWorld(t, func(w *world) {
		w.pass(30 * time.Second) // a new leader samples at once: this is not the instant of an occurrence, which could be running
		began := time.Now()
		minutely := declares("beat", recurrence.Recurrence{Frequency: recurrence.Minute})
		worker := w.start(func(p *process) []chime.Role { return []chime.Role{p.worker("beat", nil)} })
		scheduler := func() *process {
			return w.start(func(p *process) []chime.Role { return []chime.Role{p.scheduler(minutely)} })
		}
		first := scheduler()
		w.pass(20 * time.Minute)
		second := scheduler()
		w.pass(5 * time.Minute)
		first.end()
		w.pass(20 * time.Minute)
		second.crash()
		w.pass(20 * time.Minute) // the worker places the occurrences and takes the samples
		third := scheduler()
		w.pass(10 * time.Minute)

		var done, late, missed int64
		var covers int
		all := w.samples(began.Add(-2 * time.Minute))
		for i, s := range all {
			done, late, covers = done+s.Done, late+s.Lateness.Count(), covers+s.Covers
			if s.Covers > 1 {
				missed++
			}
			// the first sample is of the instant at which the schedule was created and ran for the first time
			if i > 0 && (s.Delayed != 1 || s.Running > 0) || s.Delayed > 1 || s.Running > 1 || s.Waiting > 0 || len(s.Jobs) > 1 || s.Enqueued > 0 || s.Failed > 0 {
				t.Errorf("%+v, want one delayed occurrence, and nothing but beat", s)
			}
		}
		info, err := chime.NewQueues(w.server.Store()).Get(w.Context(), "default")
		if err != nil || done < info.Done-2 || done > info.Done || late < done-2 || late > done+1 {
			t.Errorf("samples have %d runs and the lateness of %d, of %d runs: %v", done, late, info.Done, err)
		}
		if ended := time.Since(began) / time.Minute; covers < int(ended)-2 || missed > 12 || missed < 4 {
			t.Errorf("%d minutes, %d covered, %d samples cover several; want all covered, and a sample about every three minutes without a leader", ended, covers, missed)
		}
		third.end()
		worker.end()
		second.awaitCrashed()
	})
}

// A worker sends its last measurements with its last call.
func TestAWorkerThatDrainsSendsItsMeasurements(t *testing.T) {
	inWorld(t, func(w *world) {
		scheduler, enqueue := w.enqueuer()
		enqueue(30 * 24 * time.Hour) // samples begin with the first queue
		w.pass(2 * time.Minute)
		worker := w.start(func(p *process) []chime.Role {
			worker := chime.NewWorker(p.store, chime.WorkerOptions{Logger: w.log})
			worker.Handle("beat", func(_ context.Context, job *chime.Job) error {
				time.Sleep(20 * time.Millisecond) // fake time: the measured duration
				if job.Attempt == 1 {
					return chime.RetryAfter(time.Second, errors.New("not yet"))
				}
				return nil
			})
			return []chime.Role{worker}
		})
		began := time.Now()
		enqueue(0)
		w.pass(1100 * time.Millisecond)
		worker.end()
		w.pass(2 * time.Minute)

		var sum chime.Sample
		for _, s := range w.samples(began.Add(-time.Minute)) {
			sum.Done, sum.Failed, sum.Retried, sum.Enqueued = sum.Done+s.Done, sum.Failed+s.Failed, sum.Retried+s.Retried, sum.Enqueued+s.Enqueued
			sum.Wait, sum.Run, sum.Lateness, sum.Jobs = sum.Wait.Add(s.Wait), sum.Run.Add(s.Run), sum.Lateness.Add(s.Lateness), append(sum.Jobs, s.Jobs...)
		}
		if sum.Enqueued != 1 || sum.Done != 1 || sum.Failed != 1 || sum.Retried != 1 {
			t.Errorf("%+v, want one job, done at the second attempt", sum)
		}
		if took := sum.Run.Quantile(0.5); sum.Run.Count() != 2 || took <= 10*time.Millisecond || took > 25*time.Millisecond {
			t.Errorf("%d attempts took %v, want 2 of 20 ms", sum.Run.Count(), took)
		}
		if waited := sum.Wait.Quantile(1); sum.Wait.Count() != 2 || waited > 25*time.Millisecond || sum.Lateness.Count() != 0 {
			t.Errorf("%d waits of up to %v, %d lateness; want the second at the due time of the retry, and no lateness without a schedule", sum.Wait.Count(), waited, sum.Lateness.Count())
		}
		if len(sum.Jobs) != 1 || sum.Jobs[0].Name != "beat" || sum.Jobs[0].Done != 1 || sum.Jobs[0].Failed != 1 {
			t.Errorf("by name: %+v", sum.Jobs)
		}
		scheduler.end()
	})
}

// An idle queue has samples too, and needs no memory for them.
func TestSamplesOfAnIdleQueueTakeNoMemory(t *testing.T) {
	inWorld(t, func(w *world) {
		scheduler, enqueue := w.enqueuer()
		worker := w.start(func(p *process) []chime.Role { return []chime.Role{p.worker("beat", nil)} })
		enqueue(0)
		w.pass(5 * time.Minute)
		enqueue(30 * 24 * time.Hour)
		w.pass(5 * time.Minute)
		client := w.server.Client()
		defer client.Close()
		entries := func() (n int64) {
			n, err := client.XLen(w.Context(), "chime:{default}:minutes").Result()
			if err != nil {
				w.Fatal(err)
			}
			return n
		}
		before, began := entries(), time.Now()
		w.pass(2 * time.Hour)
		if after := entries(); after != before {
			t.Errorf("%d entries became %d in two idle hours", before, after)
		}
		all := w.samples(began)
		if len(all) < 118 {
			t.Errorf("%d samples of two hours", len(all))
		}
		for _, s := range all {
			if s.Covers != 1 || s.Delayed != 1 || s.Waiting+s.Running+s.Done+s.Enqueued > 0 {
				t.Fatalf("%+v, want one delayed job and nothing else", s)
			}
		}
		scheduler.end()
		worker.end()
	})
}
