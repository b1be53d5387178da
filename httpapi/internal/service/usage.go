package service

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/problem"
)

const (
	usageAge   = 10 * time.Second // between two sums for an owner
	usageShare = 20               // a sum is followed by a pause of this many times the time that it took
	maxUsages  = 10_000           // owners whose sum is remembered
	runBase    = 512              // bytes of a run in addition to its action and error action
)

// usages are the bytes of the unfinished runs and tasks of owners: a sum over the counters of their jobs, what this process has added since, and the tasks
// that this process has added and that had not ended at the last sum. Other processes add too, so the runs of an owner may exceed its quota by as much as it
// can add to each process between two sums, and its tasks count in the process that has added them. A sum that is exact over all slots of a cluster, and
// after a crash, does not exist.
type usages struct {
	mu sync.Mutex
	of map[string]*usage
}

type usage struct {
	bytes int64              // with those of tasks
	tasks map[heldTask]int64 // bytes of tasks
	next  time.Time          // of the next sum
	busy  bool               // it is being summed
}

// usageKey names what counts together with a collection.
func usageKey(c *collection.Record) string {
	if c.Owner == "" {
		return "collection " + c.Name
	}
	return "owner " + c.Owner
}

// makeUse adds a run of some bytes, or tasks, to those of a collection's owner, or returns a problem if its quota is used up. Whoever adds a run or tasks to
// a collection calls it before.
func (s *Service) makeUse(ctx context.Context, c *collection.Record, bytes int64, tasks map[heldTask]int64) error {
	most := s.quotaOf(c.Owner).UnfinishedBytes
	if most < 0 {
		return nil
	}
	key := usageKey(c)
	if u, held := s.usages.begin(key, time.Now()); u != nil {
		began := time.Now()
		sum, err := s.unfinishedBytes(ctx, c)
		var ended []heldTask
		if err == nil {
			ended, err = s.endedTasks(ctx, held)
		}
		s.usages.end(u, sum, ended, err, began, time.Now())
		if err != nil {
			return err
		}
	}
	if s.usages.add(key, bytes, tasks, most) {
		return nil
	}
	return problem.New(problem.QuotaRuns, "the runs and tasks that have not ended may use %d MiB of all collections of this owner: try again when some have ended", most>>20)
}

// addUse is makeUse for a run of a job. It also refuses a run of a job that a release without the maximum of unfinished runs has stored: for such a job the
// script that adds the run does not know the maximum, so callers that run it at the same time may exceed it.
func (s *Service) addUse(ctx context.Context, c *collection.Record, schedule *chime.Schedule) error {
	if schedule.MaxUnfinished == 0 && schedule.Last.Unfinished >= maxUnfinished {
		return tooManyRuns(schedule)
	}
	return s.makeUse(ctx, c, runBytes(schedule), nil)
}

// dropUse takes back what makeUse has added for a run that was not added.
func (s *Service) dropUse(c *collection.Record, bytes int64) {
	s.usages.drop(usageKey(c), bytes)
}

// begin returns the usage to sum now, and its tasks; nil: the last sum still counts, or another caller sums.
func (u *usages) begin(key string, now time.Time) (*usage, []heldTask) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[string]*usage{}
	}
	of := u.of[key]
	if of == nil {
		if len(u.of) >= maxUsages {
			for k, old := range u.of {
				if now.After(old.next) && !old.busy && len(old.tasks) == 0 {
					delete(u.of, k)
				}
			}
		}
		of = &usage{tasks: map[heldTask]int64{}}
		u.of[key] = of
	}
	if of.busy || now.Before(of.next) {
		return nil, nil
	}
	of.busy = true
	return of, slices.Collect(maps.Keys(of.tasks))
}

// end stores the sum of runs, and removes the tasks that have ended. Tasks that were added meanwhile remain.
func (u *usages) end(of *usage, sum int64, ended []heldTask, err error, began, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	of.busy = false
	if err != nil {
		return
	}
	for _, task := range ended {
		delete(of.tasks, task)
	}
	for _, bytes := range of.tasks {
		sum += bytes
	}
	of.bytes, of.next = sum, now.Add(max(usageAge, usageShare*now.Sub(began)))
}

// add adds bytes and tasks if the sum is then at most most. A task that is known adds nothing.
func (u *usages) add(key string, bytes int64, tasks map[heldTask]int64, most int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.of[key]
	if of == nil {
		return true
	}
	for task, size := range tasks {
		if _, known := of.tasks[task]; !known {
			bytes += size
		}
	}
	if bytes > 0 && of.bytes+bytes > most {
		return false
	}
	of.bytes += bytes
	for task, size := range tasks {
		if _, known := of.tasks[task]; !known {
			of.tasks[task] = size
		}
	}
	return true
}

func (u *usages) drop(key string, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if of := u.of[key]; of != nil {
		of.bytes = max(of.bytes-bytes, 0)
	}
}

// unfinishedBytes sums the unfinished runs of all collections of a collection's owner.
func (s *Service) unfinishedBytes(ctx context.Context, c *collection.Record) (sum int64, err error) {
	if c.Owner == "" {
		return s.unfinishedBytesIn(ctx, c.Name)
	}
	for one, err := range s.collections.Owned(ctx, c.Owner) {
		if one == nil {
			return 0, err
		}
		n, err := s.unfinishedBytesIn(ctx, one.Name)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func (s *Service) unfinishedBytesIn(ctx context.Context, name string) (sum int64, err error) {
	for schedule, err := range s.schedules.List(ctx, chime.ScheduleFilter{Prefix: prefixOf(name)}) {
		if schedule == nil {
			return 0, err
		}
		if err == nil {
			sum += int64(schedule.Last.Unfinished) * runBytes(schedule)
		}
	}
	return sum, nil
}

// runBytes are the bytes of a run of a job.
func runBytes(schedule *chime.Schedule) int64 {
	bytes := runBase + len(schedule.Payload)
	if follow, err := schedule.OnDeathJob(); err == nil && follow != nil {
		bytes += len(follow.Payload)
	}
	return int64(bytes)
}

// runBytes are the bytes of a run of a job that is not stored yet.
func (d *definition) runBytes() int64 {
	data, err := action.Encode(d.job.Action)
	if err != nil {
		return runBase // the error is found when the job is stored
	}
	return int64(runBase + len(data))
}
