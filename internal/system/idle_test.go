package system

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// spent lets time pass and returns how many commands the server executed meanwhile, those inside of scripts too.
func (w *world) spent(d time.Duration) float64 {
	w.Helper()
	before := w.executed()
	w.pass(d)
	return float64(w.executed() - before - 1)
}

var executed = regexp.MustCompile(`total_commands_processed:(\d+)`)

func (w *world) executed() int {
	w.Helper()
	info, err := w.server.Client().Info(w.Context(), "stats").Result()
	if err != nil {
		w.Fatal(err)
	}
	n, err := strconv.Atoi(executed.FindStringSubmatch(info)[1])
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// onQueues makes a worker on so many queues, the first of them the default one.
func (p *process) onQueues(n int) *chime.Worker {
	queues := map[string]int{"default": 1}
	for i := 1; i < n; i++ {
		queues[fmt.Sprint("queue-", i)] = 1
	}
	worker := chime.NewWorker(p.store, chime.WorkerOptions{Logger: p.w.log, Queues: queues})
	worker.Handle("beat", func(_ context.Context, job *chime.Job) error {
		p.w.ran(job)
		return nil
	})
	return worker
}

// enqueuer makes one on a process of its own, which the caller ends.
func (w *world) enqueuer() (*process, func(in time.Duration)) {
	p := w.start(func(p *process) []chime.Role { return []chime.Role{p.scheduler(nil)} })
	enqueuer := chime.NewEnqueuer(p.store, chime.EnqueuerOptions{Logger: w.log})
	return p, func(in time.Duration) {
		w.Helper()
		if _, err := enqueuer.Enqueue(w.Context(), "beat", nil, chime.In(in)); err != nil {
			w.Fatal(err)
		}
	}
}

// What processes ask of Redis that have nothing to do, by the server's count. The clock is fake, so it is no measurement.
func TestAnIdleHourCostsFewCommands(t *testing.T) {
	yearly := declares("beat", recurrence.Recurrence{Cron: "0 0 1 7 *"})
	for _, c := range []struct {
		what  string
		roles func(p *process) []chime.Role
		most  float64 // commands a second
	}{
		{"a worker", func(p *process) []chime.Role { return []chime.Role{p.onQueues(1)} }, 0.6},
		{"a worker on four queues", func(p *process) []chime.Role { return []chime.Role{p.onQueues(4)} }, 0.6 + 3*0.5},
		{"a leader of nothing", func(p *process) []chime.Role { return []chime.Role{p.scheduler(nil)} }, 1},
		{"a leader and worker of nothing", func(p *process) []chime.Role { return []chime.Role{p.scheduler(nil), p.onQueues(1)} }, 1.6},
		{"a leader and worker of a schedule", func(p *process) []chime.Role { return []chime.Role{p.scheduler(yearly), p.onQueues(1)} }, 1.6},
	} {
		t.Run(c.what, func(t *testing.T) {
			inWorld(t, func(w *world) {
				p := w.start(c.roles)
				w.pass(time.Minute)
				if rate := w.spent(time.Hour) / time.Hour.Seconds(); rate > c.most {
					t.Errorf("%.3f commands a second, want at most %.2f", rate, c.most)
				} else {
					t.Logf("%.3f commands a second", rate)
				}
				p.end()
			})
		})
	}
}

// Fifty workers cost fifty times what one does, also while a job waits for a later day; a job that is enqueued wakes one of them.
func TestFiftyIdleWorkersAndAJobASecond(t *testing.T) {
	inWorld(t, func(w *world) {
		client, enqueue := w.enqueuer()
		enqueue(24 * time.Hour)
		processes := []*process{client}
		for range 50 {
			processes = append(processes, w.start(func(p *process) []chime.Role { return []chime.Role{p.onQueues(1)} }))
		}
		w.pass(time.Minute)
		const period = 5 * time.Minute
		idle := w.spent(period) / period.Seconds()
		if most := 50*0.6 + 1.5; idle > most {
			t.Errorf("%.1f commands a second by fifty idle workers and a leader, want at most %.1f", idle, most)
		}
		before := w.executed()
		for range int(period.Seconds()) {
			enqueue(0)
			w.pass(1003 * time.Millisecond)
		}
		job := float64(w.executed()-before) / period.Seconds()
		if job > 60+1 {
			t.Errorf("%.1f commands a job where one is enqueued a second, want at most 60, and one of the leader", job)
		}
		t.Logf("%.1f commands a second idle, %.1f a job", idle, job)
		if len(w.runs) != int(period.Seconds()) || w.late > 5*time.Millisecond {
			t.Errorf("%d jobs ran, up to %v late", len(w.runs), w.late)
		}
		for _, p := range processes {
			p.end()
		}
	})
}

// Nobody is told of a job that is due in an hour; whoever is first asleep when it is near keeps its alarm, also when those
// who were first have vanished.
func TestADelayedJobFarAwayIsOnTime(t *testing.T) {
	for _, lost := range []int{0, 2} {
		t.Run(fmt.Sprint(lost, " vanish"), func(t *testing.T) {
			inWorld(t, func(w *world) {
				client, enqueue := w.enqueuer()
				var workers []*process
				for range 4 {
					workers = append(workers, w.start(func(p *process) []chime.Role { return []chime.Role{p.onQueues(1)} }))
					w.pass(time.Second)
				}
				for i := range 40 { // at every distance from the looks
					enqueue(time.Hour + time.Duration(i)*7300*time.Millisecond)
				}
				w.pass(59 * time.Minute)
				for _, p := range workers[:lost] {
					p.vanish()
				}
				w.pass(10 * time.Minute)
				if len(w.runs) != 40 || w.late > 25*time.Millisecond {
					t.Errorf("%d jobs ran, up to %v late, want 40 at their instants", len(w.runs), w.late)
				}
				for _, p := range workers[:lost] {
					p.bury()
				}
				for _, p := range append(workers[lost:], client) {
					p.end()
				}
			})
		})
	}
}
