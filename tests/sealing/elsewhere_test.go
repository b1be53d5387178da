package sealing_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// What follows is sealed for the queue in which it runs, at any depth. So it opens there, whoever brings it there; also if a process without the key has moved
// the job before it to the dead jobs.
func TestAFollowerIsSealedForTheQueueInWhichItRuns(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Server.Client().AddHook(sniffer{t})
		store := sealed(f, 1)
		item := func(name string, options ...chime.EnqueueOption) chime.Item {
			return chime.Item{Name: name, Args: secret, Options: options}
		}
		last := chime.OnDone(item("done-last", chime.Queue("default")))
		chain := chime.OnDone(item("done-mail", chime.Queue("mail"), chime.OnDone(item("done-same", last))))
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: fixture.Quiet()})
		if _, err := enqueuer.Enqueue(t.Context(), "nobody", secret, chime.OnDeath(item("done-death", chime.Queue("mail")))); err != nil {
			t.Fatal(err)
		}
		// They park the job, and after a week move it to the dead jobs, without a key.
		for _, passes := range []time.Duration{8 * 24 * time.Hour, 0} {
			blind := f.Start(f.Worker(chime.WorkerOptions{}))
			fixture.Pass(time.Hour)
			if err := blind(); err != nil {
				t.Error(err)
			}
			fixture.Pass(passes)
		}
		noCanary(f, "moved to the dead jobs")
		if _, err := enqueuer.Enqueue(t.Context(), "done", secret, chain); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet(), HideErrors: true, Queues: map[string]int{"default": 1, "mail": 1}})
		secretive(t, worker, got, "done", "done-mail", "done-same", "done-last")
		deaths := 0
		worker.Handle("done-death", func(_ context.Context, job *chime.Job) error {
			var a args
			if err := job.Decode(&a); err != nil || a != secret {
				t.Errorf("got %+v, %v; want the arguments in clear", a, err)
			}
			deaths++
			return nil
		})
		stop := fixture.Start(worker)
		fixture.Pass(10 * time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		noCanary(f, "ended")
		if want := map[string]int{"done": 1, "done-mail": 1, "done-same": 1, "done-last": 1}; fmt.Sprint(got) != fmt.Sprint(want) || deaths != 1 {
			t.Errorf("the handlers ran %v times, and %d times after a death; want %v, and once", got, deaths, want)
		}
	})
}
