package chimetest

import (
	"context"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// A job that follows in another queue is brought there and runs within the same Advance; afterwards nothing is left to do.
func TestAJobThatFollowsInAnotherQueueRuns(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		w := newWorker(c, chime.WorkerOptions{Queues: map[string]int{"default": 1, "mail": 1}})
		for _, name := range []string{"work", "next"} {
			w.Handle(name, func(context.Context, *chime.Job) error { return nil })
		}
		c.Start(w, newScheduler(c))
		next := chime.Item{Name: "next", Options: []chime.EnqueueOption{chime.Queue("mail"), chime.In(time.Hour)}}
		if _, err := newEnqueuer(c).Enqueue(t.Context(), "work", nil, chime.OnDone(next)); err != nil {
			t.Fatal(err)
		}
		if runs := c.Advance(time.Minute); len(runs) != 1 || runs[0].Name != "work" {
			t.Errorf("in the first minute %v ran, want work", names(runs))
		}
		if runs := c.Advance(2 * time.Hour); len(runs) != 1 || runs[0].Name != "next" || runs[0].Queue != "mail" {
			t.Errorf("in two hours %v ran, want next on mail", names(runs))
		}
		if runs := c.Advance(6 * time.Hour); len(runs) != 0 {
			t.Errorf("in six hours more %v ran, want nothing", names(runs))
		}
	})
}
