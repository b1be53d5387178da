package system_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/simredis"
)

// In a clockedWorld the server's clock differs from the clock of the processes. It does not matter which of the two is wrong.
type clockedWorld struct {
	*world
	setting sync.Mutex
	wrong   time.Duration
	delayed int // runs of the job "once"
}

const clockTick = 4 * time.Millisecond

// inClockedWorld runs a test in a bubble of fake time with a server whose clock can be set.
func inClockedWorld(t *testing.T, test func(w *clockedWorld)) {
	synctest.Test(t, func(t *testing.T) {
		server := simredis.New()
		w := &clockedWorld{world: &world{T: t, dial: server.Dial, log: slog.New(slog.NewTextHandler(io.Discard, nil)), runs: map[string]int{}}}
		stop := make(chan struct{})
		var clock sync.WaitGroup
		clock.Go(func() { // the in-memory server has no own clock: its time is set continuously
			for tick := time.NewTicker(clockTick); ; {
				server.SetTime(w.now())
				select {
				case <-tick.C:
				case <-stop:
					tick.Stop()
					return
				}
			}
		})
		synctest.Wait()
		test(w)
		close(stop)
		clock.Wait()
		server.Close()
		w.pass(2 * time.Second) // the client's pool checks once a second whether it is closed
	})
}

// now is the server's time.
func (w *clockedWorld) now() time.Time {
	w.setting.Lock()
	defer w.setting.Unlock()
	return time.Now().Add(w.wrong)
}

// delayedRuns returns how often the delayed job has run so far.
func (w *clockedWorld) delayedRuns() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.delayed
}

// step sets the error of the server's clock.
func (w *clockedWorld) step(wrong time.Duration) {
	w.setting.Lock()
	w.wrong = wrong
	w.setting.Unlock()
	w.pass(2 * clockTick)
}

// service starts a scheduler with a schedule of every minute, and a worker for it and for jobs "once", in two processes.
func (w *clockedWorld) service() (scheduler, worker *process) {
	scheduler = w.start(func(p *process) []chime.Role { return []chime.Role{p.scheduler(declares("beat", everyMinute))} })
	worker = w.start(func(p *process) []chime.Role {
		worker := p.worker("beat", nil)
		worker.Handle("once", func(context.Context, *chime.Job) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.delayed++
			return nil
		})
		return []chime.Role{worker}
	})
	return scheduler, worker
}

// The clocks of the processes and of the server differ by an hour. Every occurrence and every delayed job runs by the server's clock: none runs
// early or late, and none is skipped.
func TestAClientsClockIsNeverUsed(t *testing.T) {
	for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(wrong.String(), func(t *testing.T) {
			inClockedWorld(t, func(w *clockedWorld) {
				w.pass(time.Hour + time.Minute) // a server whose clock shows a time before 2000, when the bubble begins, is refused
				w.step(wrong)
				began := w.now()
				scheduler, worker := w.service()
				w.pass(time.Second)
				enqueuer := chime.NewEnqueuer(scheduler.store, chime.EnqueuerOptions{Logger: w.log})
				if _, err := enqueuer.Enqueue(context.Background(), "once", nil, chime.In(5*time.Minute), chime.ID("delayed")); err != nil {
					w.Fatal(err)
				}
				w.pass(5*time.Minute - 100*time.Millisecond)
				if w.delayedRuns() != 0 {
					w.Error("a job delayed by 5 minutes ran before they had passed")
				}
				w.pass(200 * time.Millisecond)
				if w.delayedRuns() != 1 {
					w.Errorf("a job delayed by 5 minutes ran %d times after they had passed, want once", w.delayedRuns())
				}
				w.pass(5*time.Minute - time.Second)
				end := w.now()
				worker.end()
				scheduler.end()
				w.wantRuns("beat", everyMinute, began.Truncate(time.Second), end)
				if w.late > 20*time.Millisecond {
					w.Errorf("the latest run started %v late, want at most 20ms", w.late)
				}
			})
		})
	}
}

// The server's clock steps an hour ahead, and ten minutes later back. Jobs that ran in the wrong hour do not run again. The schedule continues when
// the clock reaches the placed instant. A job delayed in the wrong hour is late by the step.
func TestNothingRunsTwiceWhenTheServersClockStepsAheadAndBack(t *testing.T) {
	inClockedWorld(t, func(w *clockedWorld) {
		began := w.now()
		scheduler, worker := w.service()
		w.pass(10*time.Minute + 30*time.Second)
		w.step(time.Hour)
		w.pass(10 * time.Minute)
		enqueuer := chime.NewEnqueuer(scheduler.store, chime.EnqueuerOptions{Logger: w.log})
		if _, err := enqueuer.Enqueue(context.Background(), "once", nil, chime.In(time.Minute), chime.ID("delayed")); err != nil {
			w.Fatal(err)
		}
		w.pass(30 * time.Second)
		w.step(0)
		w.pass(59 * time.Minute)
		if w.delayedRuns() != 0 {
			w.Error("the delayed job ran within the hour, but the README promises that it is late by the step")
		}
		w.pass(20 * time.Minute)
		worker.end()
		scheduler.end()
		if w.delayedRuns() != 1 {
			w.Errorf("the delayed job ran %d times, want once", w.delayedRuns())
		}
		ahead := began.Add(70 * time.Minute) // where the clock stepped to
		var before, after int
		for id, n := range w.allRuns() {
			at, err := time.Parse(time.RFC3339, strings.TrimPrefix(id, "beat@"))
			if err != nil || n != 1 {
				w.Errorf("%s ran %d times, want once (%v)", id, n, err)
			}
			if at.Before(ahead) {
				before++
			} else {
				after++
			}
		}
		// until the step, 11 instants and one late run for the instants that the step skipped; then each minute that the clock reached
		if before < 11 || before > 12 || after < 28 {
			w.Errorf("%d runs before the step and %d after it, want 11 or 12 and at least 28", before, after)
		}
	})
}
