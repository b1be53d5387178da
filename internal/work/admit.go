package work

import (
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// An admission decides about each job that was taken. Most run. A job that cannot run here is parked, a job that nobody can run is
// dead, and an occurrence that was taken too late is missed. It belongs to the processor's goroutine.
type admission struct {
	config     *Config
	names      map[string]string // of the handlers
	plans      schedule.Plans
	logged     retry.LogLimiter
	unreadable map[string]time.Time // name of parked jobs that this version cannot read -> when it asks for them again
}

func newAdmission(config *Config) *admission {
	a := &admission{config: config, names: make(map[string]string, len(config.Handlers)), unreadable: make(map[string]time.Time)}
	for name := range config.Handlers {
		a.names[name] = name
	}
	return a
}

// admit reads a job into its claim. It returns the settlement of a job that does not run here.
func (a *admission) admit(c *claim, taken *protocol.TakenJob, now time.Time) (s protocol.Settlement, refused bool) {
	p, err := c.open(taken, a.names, &a.plans)
	name := c.message.Name
	switch {
	case errors.Is(err, wire.ErrNewerVersion), errors.Is(err, schedule.ErrNotHere):
		a.unreadable[name] = now.Add(retry.LogEvery)
		return a.park(c, err.Error(), now), true
	case err != nil:
		return c.kill(err.Error(), now), true
	case taken.Crashes >= a.config.MaxCrashes:
		return c.kill(fmt.Sprintf("its worker vanished %d times", taken.Crashes), now), true
	case p != nil && taken.New && !p.Runs(c.message.Planned, c.clock.answered()):
		return c.missed(now), true
	}
	handler := a.config.Handlers[name]
	if handler == nil {
		return a.park(c, "no handler here", now), true
	}
	c.handleBy(handler)
	return protocol.Settlement{}, false
}

// park puts a job aside for a worker that can run it.
func (a *admission) park(c *claim, reason string, now time.Time) protocol.Settlement {
	if a.logged.Allow("park "+c.message.Name, now) {
		a.config.Log.Warn("chime: jobs are parked until a worker that can run them asks for them", "event", "job.parked",
			"job", c.message.Name, "id", c.id, "queue", c.queue, "reason", reason)
	}
	return c.park()
}

// serves reports whether this worker asks for parked jobs of a name.
func (a *admission) serves(name string, now time.Time) bool {
	return a.config.Handlers[name] != nil && !now.Before(a.unreadable[name])
}

// next computes the placements that follow the occurrences that a call has taken. A scheduler computes those that this worker
// cannot.
func (a *admission) next(owed []protocol.Owed, now time.Time) []protocol.Placement {
	if len(owed) == 0 {
		return nil
	}
	return a.plans.Next(owed, func(o *protocol.Owed, err error) {
		if a.logged.Allow("schedule "+o.Name, now) {
			a.config.Log.Warn("chime: cannot compute the next occurrence of a schedule, left to a scheduler", "event", "schedule.uncomputable",
				"schedule", o.Name, "queue", o.Partition.Queue, "error", err)
		}
	})
}
