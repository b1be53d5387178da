package system_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// The leader only renews its lease, so schedules are placed as if there were no leader. Two schedulers that cannot lead place the schedules that
// killed workers left owed.
func TestSchedulesContinueWithoutAWorkingLeader(t *testing.T) {
	inWorld(t, func(w *world) {
		began := time.Now()
		minute := recurrence.Recurrence{Frequency: recurrence.Minute}
		renewing, stop := context.WithCancel(w.Context())
		var ghost sync.WaitGroup
		ghost.Go(func() {
			for renewing.Err() == nil {
				if led, err := w.server.Store().Protocol().Lead(w.Context(), "ghost", 10*time.Second); err != nil || !led.Leading {
					w.Errorf("the idle leader does not lead: %+v, %v", led, err)
				}
				w.pass(time.Second)
			}
		})
		var schedulers []*process
		for range 2 {
			schedulers = append(schedulers, w.start(func(p *process) []chime.Role {
				return []chime.Role{p.scheduler(declares("beat", minute, chime.Misfire(chime.MisfireCatchUp)))}
			}))
		}
		work := func(*chime.Job) time.Duration { return time.Second }
		worker := w.start(func(p *process) []chime.Role { return []chime.Role{p.worker("beat", work)} })
		for range 10 {
			w.pass(time.Minute + 100*time.Millisecond)
			worker.crash() // often just after it has taken an occurrence
			worker.awaitCrashed()
			worker = w.start(func(p *process) []chime.Role { return []chime.Role{p.worker("beat", work)} })
		}
		w.pass(2 * time.Minute)
		end := time.Now().Add(-90 * time.Second)
		worker.end()
		for _, p := range schedulers {
			p.end()
		}
		stop()
		ghost.Wait()
		runs := w.allRuns()
		for id, n := range runs {
			if n != 1 {
				w.Errorf("%s was done %d times, want once", id, n)
			}
		}
		for at := began.Truncate(time.Minute); at.Before(end); at = at.Add(time.Minute) {
			if id := "beat@" + at.UTC().Format(time.RFC3339); runs[id] == 0 {
				w.Errorf("%s did not run", id)
			}
		}
	})
}
