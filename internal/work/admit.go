package work

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// An admission decides about each job that was taken. Most jobs run. A job that cannot run here is parked. A job that no worker can run is dead.
// An occurrence that was taken too late is missed, and so is one that new time zone data have moved to a later instant. A job whose time is over
// expires. It belongs to the processor's goroutine.
type admission struct {
	config     *Config
	names      map[string]string // of the handlers
	plans      schedule.Plans
	mayReplan  func(name string) bool
	logged     retry.LogLimiter
	handled    []string             // parked jobs are looked up under these names
	unreadable map[string]time.Time // list of parked jobs that this program could not read, one for each handler at most -> when it requests the list again
}

// unreadablePrefix begins the name under which a job is parked if the program has its handler but cannot read it: a newer version wrote the job,
// this program does not know the time zone, or it does not have the key that sealed the job. Such jobs do not block those that the program can run. Another program may be able to read them.
const unreadablePrefix = "~"

// unreadableAgain is when a program requests a list again on which it found jobs that it cannot read. It will hardly be able to read them then;
// others on the list may have come from an older program.
const unreadableAgain = 10 * time.Minute

func newAdmission(config *Config, mayReplan func(name string) bool) *admission {
	a := &admission{config: config, mayReplan: mayReplan, names: make(map[string]string, len(config.Handlers)), unreadable: make(map[string]time.Time)}
	for name := range config.Handlers {
		a.names[name] = name
		a.handled = append(a.handled, name, unreadablePrefix+name)
	}
	return a
}

// admit reads a job into its claim. It returns the settlement of a job that does not run here.
func (a *admission) admit(c *claim, taken *protocol.TakenJob, now time.Time) (s protocol.Settlement, refused bool) {
	p, err := c.open(taken, a.names, &a.plans)
	name := c.message.Name
	switch {
	case errors.Is(err, wire.ErrNewerVersion), errors.Is(err, schedule.ErrNotHere), errors.Is(err, protocol.ErrSealed):
		list := unreadablePrefix + name
		if a.config.Handlers[name] != nil { // otherwise this worker never requests the list
			a.unreadable[list] = now.Add(unreadableAgain)
		}
		return a.park(c, list, err.Error(), now), true
	case err != nil:
		return c.kill(err.Error(), now), true
	case taken.Crashes-taken.Uncertain >= a.config.MaxCrashes:
		return c.kill("poison: its worker vanished "+times(taken.Crashes), now), true
	case !taken.Later.IsZero():
		return c.replan(taken.Later, now), true
	case p != nil && taken.New && !p.Runs(counted(c.message.Planned, taken), c.clock.answered()):
		return c.missed(now), true
	case !taken.Vanished && c.expired(c.clock.answered()):
		return c.expire(now), true
	}
	handler := a.config.Handlers[name]
	if handler == nil {
		return a.park(c, name, "no handler here", now), true
	}
	c.handleBy(handler)
	return protocol.Settlement{}, false
}

// counted returns the instant from which an occurrence counts as late.
func counted(planned time.Time, taken *protocol.TakenJob) time.Time {
	if taken.Counted.IsZero() {
		return planned
	}
	return taken.Counted
}

// times returns n as a number of times: "once", "twice" and so on.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// park parks a job under a name, for a worker that can run it.
func (a *admission) park(c *claim, under, reason string, now time.Time) protocol.Settlement {
	if a.logged.Allow("park "+c.message.Name, now) {
		a.config.Log.Warn("chime: jobs are parked until a worker that can run them requests them", "event", "job.parked",
			"job", c.message.Name, "id", c.id, "queue", c.queue, "reason", reason)
	}
	return c.park(under)
}

// lists returns the names under which parked jobs are looked up.
func (a *admission) lists() []string { return a.handled }

// serves reports whether this worker requests an entry of the parked jobs.
func (a *admission) serves(entry string, now time.Time) bool {
	list := protocol.ParkedName(entry)
	return a.config.Handlers[strings.TrimPrefix(list, unreadablePrefix)] != nil && !now.Before(a.unreadable[list])
}

// compare compares the occurrences that a call has taken with the time zone data here. It marks those that were planned with other data, and returns
// the schedules whose next occurrence is to be placed: without those whose occurrence is to be placed again.
func (a *admission) compare(answer *protocol.WorkAnswer) []protocol.Owed {
	owed := answer.Owed[:0]
	for i := range answer.Owed {
		o := &answer.Owed[i]
		if !a.moves(answer, o) {
			owed = append(owed, *o)
		}
	}
	return owed
}

// takenAt returns the job that is the occurrence at the cursor of a schedule, if it was taken for the first time now and is not caught up.
func takenAt(taken []protocol.TakenJob, o *protocol.Owed) *protocol.TakenJob {
	if !o.Cursor.Placed || o.Cursor.CaughtUp {
		return nil
	}
	for i := range taken {
		if job := &taken[i]; job.New && len(job.ID) > len(o.Name) && job.ID[:len(o.Name)] == o.Name && job.ID == schedule.OccurrenceID(o.Name, o.Cursor.At) {
			return job
		}
	}
	return nil
}

// moves marks the job at the cursor of a schedule, if the answer has it, and reports whether it is to be placed again.
func (a *admission) moves(answer *protocol.WorkAnswer, o *protocol.Owed) bool {
	p, err := a.plans.Of(o.Name, o.Definition)
	if err != nil || !p.HasLocalTimes() {
		return false
	}
	job := takenAt(answer.Taken, o)
	if job == nil {
		return false
	}
	counted, later := p.Counted(o.Zoned, o.Cursor.At, answer.Now)
	job.Counted = counted
	if later.IsZero() || !a.mayReplan(o.Name) {
		return false
	}
	job.Later = later
	return true
}

// next computes the placements that follow the occurrences that a call has taken. If this worker cannot compute one, a scheduler does.
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
