package system_test

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

// commandsDuring lets time pass and returns how many commands the server executed, including commands inside scripts.
func (w *world) commandsDuring(d time.Duration) float64 {
	w.Helper()
	before := w.commandsTotal()
	w.pass(d)
	return float64(w.commandsTotal() - before - 1)
}

var commandsProcessed = regexp.MustCompile(`total_commands_processed:(\d+)`)

// commandsTotal returns how many commands the server has executed.
func (w *world) commandsTotal() int {
	w.Helper()
	info, err := w.server.Client().Info(w.Context(), "stats").Result()
	if err != nil {
		w.Fatal(err)
	}
	n, err := strconv.Atoi(commandsProcessed.FindStringSubmatch(info)[1])
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// A leader takes a sample of each partition once a minute, with about 16 commands; without a leader, a worker does so every three minutes.
const sampling, samplingUnled = 0.3, 0.15 // commands a second

// workerOnQueues returns a worker on n queues. The first is the default queue.
func (p *process) workerOnQueues(n int) *chime.Worker {
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

// enqueuer starts a process with an enqueuer, which the caller stops, and returns a function that enqueues a job.
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

// The test counts the commands of processes without work. The clock is fake, so the test measures counts, not time.
func TestAnIdleProcessSendsFewCommands(t *testing.T) {
	// Once a minute, a worker checks whether there is a leader; if not, it searches for schedules that are not placed.
	// About every five minutes it checks the store's settings. A leader checks that the registry contains the schedules and that each of them is
	// still placed.
	// A worker announces itself every four minutes, sends a beat of two commands twice in each SessionTTL, and checks the lease every twelve
	// seconds. The role that searches for unserved queues reads the registry at the same interval; a leader also reads the workers.
	// A leader searches for pauses that are over every ten seconds, and asks the 16 homes of batches every five minutes.
	const watching, alone, checking, naming, repairing, announcing, beating, counting, ending, looking = 0.05, 0.2, 0.03, 0.02, 0.03, 0.02, 0.34 + 0.09, 0.09, 0.1, 16. / 300
	yearly := declares("beat", recurrence.Recurrence{Cron: "0 0 1 7 *"})
	for _, c := range []struct {
		what    string
		roles   func(p *process) []chime.Role
		maxRate float64 // commands a second
		hours   int     // four queues are polled at four paces, each by chance: one hour differs from the next by 4 %
	}{
		{"a worker", func(p *process) []chime.Role { return []chime.Role{p.workerOnQueues(1)} }, 0.6 + alone + checking + announcing + beating + counting + samplingUnled, 1},
		{"a worker on four queues", func(p *process) []chime.Role { return []chime.Role{p.workerOnQueues(4)} }, 0.6 + 3*0.5 + alone + checking + announcing + beating + counting + 4*samplingUnled, 8},
		{"a leader without schedules", func(p *process) []chime.Role { return []chime.Role{p.scheduler(nil)} }, 1, 1},
		{"a leader without schedules and a worker", func(p *process) []chime.Role { return []chime.Role{p.scheduler(nil), p.workerOnQueues(1)} }, 1.6 + watching + checking + announcing + beating + 4*counting + ending + looking + sampling, 1},
		{"a leader with a schedule and a worker", func(p *process) []chime.Role { return []chime.Role{p.scheduler(yearly), p.workerOnQueues(1)} }, 1.6 + watching + checking + naming + repairing + beating + 4*counting + ending + looking + sampling, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			inWorld(t, func(w *world) {
				p := w.start(c.roles)
				w.pass(time.Minute)
				period := time.Duration(c.hours) * time.Hour
				if rate := w.commandsDuring(period) / period.Seconds(); rate > c.maxRate {
					t.Errorf("%.3f commands a second, want at most %.2f", rate, c.maxRate)
				} else {
					t.Logf("%.3f commands a second", rate)
				}
				p.end()
			})
		})
	}
}

// Fifty idle workers cost fifty times as much as one, even while a job waits for the next day. An enqueued job wakes one worker.
func TestFiftyIdleWorkersSendFewCommandsAndOneRunsEachJob(t *testing.T) {
	inWorld(t, func(w *world) {
		client, enqueue := w.enqueuer()
		enqueue(24 * time.Hour)
		processes := []*process{client}
		for range 50 {
			processes = append(processes, w.start(func(p *process) []chime.Role { return []chime.Role{p.workerOnQueues(1)} }))
		}
		w.pass(time.Minute)
		const period = 5 * time.Minute
		idle := w.commandsDuring(period) / period.Seconds()
		if maxRate := 50*(0.6+0.34+0.09) + 2; idle > maxRate {
			t.Errorf("%.1f commands a second by fifty idle workers and a leader, want at most %.1f", idle, maxRate)
		}
		before := w.commandsTotal()
		for range int(period.Seconds()) {
			enqueue(0)
			w.pass(1003 * time.Millisecond)
		}
		job := float64(w.commandsTotal()-before) / period.Seconds()
		// Five of these check types before anything is written and record the ended session; two send its measurements. With the short script
		// of a worker a job costs 0.6 more than without it.
		const signs = 50 * (0.34 + 0.09) // beats of 50 workers, and their checks of the lease, a second
		if job > 68+1+1+0.1+sampling+signs {
			t.Errorf("%.1f commands a job at one job a second, want at most 68, 1 of the leader, its samples, its searches for pauses that are over, the beats, and 1 for the settings that 50 workers check", job)
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

// No worker is notified of a job that is due in an hour. When the job is almost due, the worker that has been idle longest keeps its alarm, even if
// the workers before it have crashed.
func TestAJobDelayedByAnHourRunsOnTimeAfterCrashes(t *testing.T) {
	for _, crashed := range []int{0, 2} {
		t.Run(fmt.Sprint(crashed, " workers crash"), func(t *testing.T) {
			inWorld(t, func(w *world) {
				client, enqueue := w.enqueuer()
				var workers []*process
				for range 4 {
					workers = append(workers, w.start(func(p *process) []chime.Role { return []chime.Role{p.workerOnQueues(1)} }))
					w.pass(time.Second)
				}
				for i := range 40 { // at different distances from the polls
					enqueue(time.Hour + time.Duration(i)*7300*time.Millisecond)
				}
				w.pass(59 * time.Minute)
				for _, p := range workers[:crashed] {
					p.crash()
				}
				w.pass(10 * time.Minute)
				if len(w.runs) != 40 || w.late > 25*time.Millisecond {
					t.Errorf("%d jobs ran, up to %v late, want 40 on time", len(w.runs), w.late)
				}
				for _, p := range workers[:crashed] {
					p.awaitCrashed()
				}
				for _, p := range append(workers[crashed:], client) {
					p.end()
				}
			})
		})
	}
}
