package chimetest

import (
	"context"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// A deployment cuts a long job off, and the next process runs it again.
func TestAJobThatADeploymentCutsOffRunsAgain(t *testing.T) {
	Run(t, func(t *testing.T, c *Chime) {
		begun := 0
		start := func() (stop func()) {
			worker := newWorker(c, chime.WorkerOptions{DrainTimeout: time.Minute})
			worker.Handle("long", func(ctx context.Context, _ *chime.Job) error {
				begun++
				select {
				case <-time.After(20 * time.Minute):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
			return c.Start(worker)
		}
		stop := start()
		if _, err := newEnqueuer(c).Enqueue(t.Context(), "long", nil, chime.ID("j1")); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Second)
		stop()
		start()
		runs := c.Advance(2 * time.Hour)
		if begun != 2 || len(runs) == 0 || runs[len(runs)-1].Outcome != chime.RunDone {
			t.Errorf("it began %d times and ended as %v, want twice, and done the second time", begun, runs)
		}
	})
}

// Nothing of a test continues after it: its roles are stopped, and the bubble ends.
func TestTheEndOfATestStopsItsRoles(t *testing.T) {
	stopped := false
	Run(t, func(t *testing.T, c *Chime) {
		c.Start(roleFunc(func(ctx context.Context) error {
			<-ctx.Done()
			stopped = true
			return nil
		}), newWorker(c, chime.WorkerOptions{}))
	})
	if !stopped {
		t.Error("the roles still run after Run")
	}
}
