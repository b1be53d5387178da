package command_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
)

func TestWorkersAreListedAndShown(t *testing.T) {
	s := emptyShop(t)
	s.enqueue(t, chime.Item{Name: "slow", Options: []chime.EnqueueOption{chime.ID("j1"), chime.Queue("media"), chime.MaxAttempts(7)}})
	worker := chime.NewWorker(s.store, chime.WorkerOptions{Queues: map[string]int{"media": 3, "mail": 1}, Concurrency: 4, Logger: quiet})
	begun, end := make(chan struct{}), make(chan struct{})
	worker.Handle("slow", func(context.Context, *chime.Job) error {
		close(begun)
		<-end
		return nil
	})
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- chime.Run(ctx, worker) }()
	defer func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}()
	defer close(end)
	<-begun
	for !strings.Contains(s.Run(t, "workers", "list").Out, "1/4") { // it announces itself beside its first job
		if t.Context().Err() != nil {
			t.Fatal("the worker is not listed")
		}
	}
	name := strings.TrimSpace(s.Run(t, "workers", "list", "-o", "name").Out)
	for _, c := range []struct {
		args string
		want wants
	}{
		{"list", wants{out: []string{"WORKER ", "HOST ", "PID  BUSY/SLOTS  QUEUES ", "SEEN ", "LONGEST\n", name, "1/4  mail media "}}},
		{"list --json", wants{out: []string{`"slots": 4`, `"busy": 1`, `"id": "j1"`}}},
		{"show " + name, wants{out: []string{name + "  1 of 4 slots busy", "mail (weight 1)\n", "media (weight 3)\n", "media/j1  slow  attempt 1/7  for "}}},
		{"show " + name[:6] + " -o name", wants{out: []string{name + "\n"}}},
		{"show " + name[1:], wants{code: 3, err: []string{`not found; did you mean "` + name + `"?`}}},
		{"show nobody", wants{code: 3, err: []string{`worker "nobody": not found`}}},
		{"show", wants{code: 2}},
	} {
		args := append([]string{"workers"}, strings.Fields(c.args)...)
		c.want.check(t, s.Run(t, args...), args...)
	}
	if got := s.Run(t, "__complete", "workers", "show", name[:4]); !strings.HasPrefix(got.Out, name+"\n") {
		t.Errorf("completed as %q, want %s", got.Out, name)
	}
}

func TestWhereNoWorkerLivesTheListIsEmpty(t *testing.T) {
	s := emptyShop(t)
	wants{out: []string{`"items": []`}}.check(t, s.Run(t, "workers", "list", "--json"), "workers list --json")
}
