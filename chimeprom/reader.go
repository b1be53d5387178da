package chimeprom

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

// A reader reads the store-wide values: schedules with labels at each read, the others by a walk.
type reader struct {
	queues    *chime.Queues
	schedules *chime.Schedules
	names     *names
	walker    *walker
	groups    *groupCounter
	batches   *batchCounter
	problems  *chime.Acknowledgements

	mu    sync.Mutex
	known map[string]*knownSchedule
}

// A snapshot is the result of one read.
type snapshot struct {
	queues  []*chime.QueueInfo
	groups  *groupSums // nil: no walk has ended yet
	batches *batchSums // nil: no walk has ended yet
	now     time.Time  // the store's clock
	term    int64
	sums    *scheduleSums // nil: no walk has ended yet
	times   map[string]scheduleTimes
}

// scheduleTimes are the instants of one schedule; for others, the next instant and the oldest success.
type scheduleTimes struct {
	next, success time.Time
	period        time.Duration
	acknowledged  bool // somebody knows that it is failing
}

// A knownSchedule is the cached part of a schedule with its own label.
type knownSchedule struct {
	created, success, checked time.Time // checked: the end of the attempt after which its history was read last
	revision                  int64
	next                      time.Time
	period                    time.Duration
}

// newReader returns a reader. It calls failed for failures between reads.
func newReader(store chime.Store, names *names, failed func()) *reader {
	queues, schedules := chime.NewQueues(store), chime.NewSchedules(store)
	return &reader{
		queues: queues, schedules: schedules, problems: chime.NewAcknowledgements(store), names: names, known: make(map[string]*knownSchedule),
		walker:  &walker{walk: walk[scheduleSums]{failed: failed}, schedules: schedules, names: names, pageSize: pageSize},
		groups:  &groupCounter{walk: walk[groupSums]{failed: failed}, queues: queues, stepGroups: stepGroups},
		batches: &batchCounter{walk: walk[batchSums]{failed: failed}, batches: chime.NewBatches(store), stepBatches: stepBatches},
	}
}

// read reads the queues, the leader's term, and the schedules with labels. If a walk needs only one step, the result of that step has these schedules.
func (r *reader) read(ctx context.Context) (*snapshot, error) {
	queues, err := r.queues.List(ctx)
	if err != nil {
		return nil, err
	}
	leader, err := r.schedules.Leader(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.groups.begin(ctx, queues); err != nil {
		return nil, err
	}
	if err := r.batches.begin(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	if len(queues) > 0 {
		now = queues[0].Now
	}
	whole, err := r.walker.begin(ctx, now)
	if err != nil {
		return nil, err
	}
	var own map[string]*chime.Schedule
	if whole != nil {
		own = whole.own
	} else if own, err = r.named(ctx); err != nil {
		return nil, err
	}
	read := &snapshot{queues: queues, groups: r.groups.sums(), batches: r.batches.sums(), now: now, term: leader.Term, sums: r.walker.sums()}
	if read.times, err = r.timesOf(ctx, own); err != nil {
		return nil, err
	}
	if err := r.acknowledge(ctx, read, own, now); err != nil {
		return nil, err
	}
	if read.sums != nil {
		read.times[other] = read.sums.others
	}
	return read, nil
}

// acknowledge marks the schedules that are failing and acknowledged.
func (r *reader) acknowledge(ctx context.Context, read *snapshot, own map[string]*chime.Schedule, now time.Time) error {
	all, err := r.problems.List(ctx)
	for _, a := range all {
		for label, s := range own {
			if a.Covers(s, now) {
				times := read.times[label]
				times.acknowledged = true
				read.times[label] = times
			}
		}
	}
	return err
}

// readers is the number of schedules that are read by name at the same time.
const readers = 8

// named reads the schedules with labels.
func (r *reader) named(ctx context.Context) (map[string]*chime.Schedule, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	names := make(chan string)
	go func() {
		defer close(names)
		for _, name := range r.names.all() {
			select {
			case names <- name:
			case <-ctx.Done():
				return
			}
		}
	}()
	var all sync.WaitGroup
	var mu sync.Mutex
	var failure error
	found := make(map[string]*chime.Schedule)
	for range readers {
		all.Go(func() {
			for name := range names {
				s, err := r.byName(ctx, name)
				mu.Lock()
				if err != nil {
					failure = cmp.Or(failure, err)
					cancel()
				} else if s != nil {
					found[name] = s
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return found, cmp.Or(failure, ctx.Err())
}

// byName reads one schedule; nil: it does not exist, or this program cannot read it. It uses a list of one, because its error is then always the
// store's.
func (r *reader) byName(ctx context.Context, name string) (*chime.Schedule, error) {
	for s, err := range r.schedules.List(ctx, chime.ScheduleFilter{Prefix: name, Limit: 1}) {
		if s == nil {
			return nil, err
		}
		if err == nil && s.Name == name {
			return s, nil
		}
	}
	return nil, nil
}

// timesOf are the instants of schedules with labels.
func (r *reader) timesOf(ctx context.Context, own map[string]*chime.Schedule) (map[string]scheduleTimes, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[string]scheduleTimes, len(own)+1)
	for label, s := range own {
		k := r.known[label]
		if k == nil || !k.created.Equal(s.Created) {
			k = &knownSchedule{created: s.Created}
			r.known[label] = k
		}
		if err := r.success(ctx, s, k); err != nil {
			return nil, err
		}
		t := scheduleTimes{success: k.success}
		if s.State == chime.StateLive && !s.Next.IsZero() {
			t.next, t.period = s.Next, period(s, k)
		}
		all[label] = t
	}
	return all, nil
}

// success finds the time when a schedule was last done. If its last attempt ended otherwise, its history is read, once for each such attempt.
func (r *reader) success(ctx context.Context, s *chime.Schedule, k *knownSchedule) error {
	switch {
	case s.Last.Outcome == chime.RunDone:
		k.success = s.Last.Ended
		return nil
	case s.Last.Ended.IsZero(), !k.success.IsZero(), s.Last.Ended.Equal(k.checked):
		return nil
	}
	for run, err := range r.schedules.Runs(ctx, s.Name) {
		switch {
		case errors.Is(err, chime.ErrNotFound): // deleted meanwhile
			return nil
		case err != nil:
			return err
		}
		if run.Outcome == chime.RunDone && !run.Ended.Before(s.Created) {
			k.success = run.Ended
			break
		}
	}
	k.checked = s.Last.Ended
	return nil
}

// period is the longest time between two of the next ten planned instants; 0: there is only one.
func period(s *chime.Schedule, k *knownSchedule) time.Duration {
	if k.revision == s.Revision && k.next.Equal(s.Next) {
		return k.period
	}
	k.revision, k.next, k.period = s.Revision, s.Next, 0
	series, err := s.Recurrence.Series(s.Created)
	if err != nil {
		return 0
	}
	before := s.Next
	for range 10 {
		at, ok := series.Next(before)
		if !ok {
			break
		}
		k.period = max(k.period, at.Sub(before))
		before = at
	}
	return k.period
}
