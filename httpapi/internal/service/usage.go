package service

import (
	"context"
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

// usages are the bytes of the unfinished runs of owners: a sum over the counters of their jobs, and what this process has added since. Other processes add
// too, so an owner may exceed its quota by as much as it can add to each process between two sums. A sum that is exact over all slots of a cluster, and
// after a crash, does not exist.
type usages struct {
	mu sync.Mutex
	of map[string]*usage
}

type usage struct {
	bytes int64
	next  time.Time // of the next sum
	busy  bool      // it is being summed
}

// makeUse adds a run of some bytes to those of a collection's owner, or returns a problem if its quota is used up. Whoever adds a run to a collection calls
// it before.
func (s *Service) makeUse(ctx context.Context, c *collection.Record, bytes int64) error {
	most := s.quotaOf(c.Owner).UnfinishedBytes
	if most < 0 {
		return nil
	}
	key := "owner " + c.Owner
	if c.Owner == "" {
		key = "collection " + c.Name
	}
	if u := s.usages.begin(key, time.Now()); u != nil {
		began := time.Now()
		sum, err := s.unfinishedBytes(ctx, c)
		s.usages.end(u, sum, err, began, time.Now())
		if err != nil {
			return err
		}
	}
	if s.usages.add(key, bytes, most) {
		return nil
	}
	return problem.New(problem.QuotaRuns, "the runs that have not ended use %d MiB of all collections of this owner, the maximum: try again when some have", most>>20)
}

// begin returns the usage to sum now; nil: the last sum still counts, or another caller sums.
func (u *usages) begin(key string, now time.Time) *usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[string]*usage{}
	}
	of := u.of[key]
	if of == nil {
		if len(u.of) >= maxUsages {
			for k, old := range u.of {
				if now.After(old.next) && !old.busy {
					delete(u.of, k)
				}
			}
		}
		of = &usage{}
		u.of[key] = of
	}
	if of.busy || now.Before(of.next) {
		return nil
	}
	of.busy = true
	return of
}

func (u *usages) end(of *usage, sum int64, err error, began, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	of.busy = false
	if err == nil {
		of.bytes, of.next = sum, now.Add(max(usageAge, usageShare*now.Sub(began)))
	}
}

// add adds bytes if the sum is then at most most.
func (u *usages) add(key string, bytes, most int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	of := u.of[key]
	if of == nil || of.bytes+bytes > most {
		return of == nil
	}
	of.bytes += bytes
	return true
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
