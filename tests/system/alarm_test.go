package system_test

import (
	"context"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// The first two idle workers keep the alarm for the next due job. Here both get a long job, so they are no longer idle, and then stop. From then on
// the third worker must keep the alarm.
func TestTheAlarmOfBusyWorkersThatStopGoesToAnIdleWorker(t *testing.T) {
	inWorld(t, func(w *world) {
		client := w.start(func(p *process) []chime.Role { return []chime.Role{p.scheduler(nil)} })
		enqueuer := chime.NewEnqueuer(client.store, chime.EnqueuerOptions{Logger: w.log})
		enqueue := func(name string, in time.Duration) {
			if _, err := enqueuer.Enqueue(w.Context(), name, nil, chime.In(in)); err != nil {
				w.Fatal(err)
			}
		}
		enqueue("short", 6*time.Second)
		var processes []*process
		for range 3 {
			processes = append(processes, w.start(func(p *process) []chime.Role {
				worker := chime.NewWorker(p.store, chime.WorkerOptions{Logger: w.log, Concurrency: 1})
				worker.Handle("long", func(context.Context, *chime.Job) error {
					w.pass(20 * time.Second)
					return nil
				})
				worker.Handle("short", func(_ context.Context, job *chime.Job) error {
					w.ran(job)
					return nil
				})
				return []chime.Role{worker}
			}))
			w.pass(time.Second)
		}
		for range 2 {
			enqueue("long", 0)
			w.pass(100 * time.Millisecond)
		}
		processes[0].stop()
		processes[1].stop()
		w.pass(30 * time.Second)
		if len(w.runs) != 1 || w.late > 50*time.Millisecond {
			w.Errorf("%d short jobs ran, up to %v late; want 1, on time", len(w.runs), w.late)
		}
		for _, p := range append(processes, client) {
			p.end()
		}
	})
}
