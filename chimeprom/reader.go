package chimeprom

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

// A reader reads what is store-wide, the schedules in pages: a walk of all of them may take several reads.
type reader struct {
	queues    *chime.Queues
	schedules *chime.Schedules
	names     *names

	mu       sync.Mutex
	walk     *scheduleSums // of the walk under way
	after    string        // the name that it has come to
	complete *scheduleSums // of the last one that came to the end; nil: none has, or a read has failed since
	known    map[string]*knownSchedule
}

// A snapshot is what one read has brought.
type snapshot struct {
	queues    []*chime.QueueInfo
	term      int64
	schedules *scheduleSums // nil: not all were read yet
}

// scheduleSums are what is told of schedules.
type scheduleSums struct {
	states map[chime.ScheduleState]int
	owed   int
	times  map[string]scheduleTimes // by label
}

// scheduleTimes are the instants of one schedule; of others, the next one, the oldest success, the longest period.
type scheduleTimes struct {
	next, success time.Time
	period        time.Duration
}

// A knownSchedule is what is worth remembering of one that has a label of its own.
type knownSchedule struct {
	created, success, looked time.Time // looked: the end of the attempt at which its history was read last
	revision                 int64
	next                     time.Time
	period                   time.Duration
}

func newReader(store chime.Store, names *names) *reader {
	return &reader{queues: chime.NewQueues(store), schedules: chime.NewSchedules(store), names: names, known: make(map[string]*knownSchedule)}
}

// forget begins anew: a read has failed, and what was read of schedules before it is not to be told any more.
func (r *reader) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.walk, r.after, r.complete = nil, "", nil
}

// read reads the queues, the leader's term, and some more schedules.
func (r *reader) read(ctx context.Context) (*snapshot, error) {
	queues, err := r.queues.List(ctx)
	if err != nil {
		return nil, err
	}
	leader, err := r.schedules.Leader(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if len(queues) > 0 {
		now = queues[0].Now
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.goOn(ctx, now); err != nil {
		return nil, err
	}
	return &snapshot{queues, leader.Term, r.complete}, nil
}

// goOn reads some more schedules. At their end the next read begins again.
func (r *reader) goOn(ctx context.Context, now time.Time) error {
	if r.walk == nil {
		r.walk = &scheduleSums{states: make(map[chime.ScheduleState]int), times: make(map[string]scheduleTimes)}
		r.after = ""
	}
	for range maxSchedules / pageSize {
		had := 0
		for s, err := range r.schedules.List(ctx, chime.ScheduleFilter{After: r.after, Limit: pageSize}) {
			if s == nil {
				return err
			}
			had, r.after = had+1, s.Name
			if err != nil { // it cannot be read here
				continue
			}
			if err := r.add(ctx, s, now); err != nil {
				return err
			}
		}
		if had < pageSize {
			r.complete, r.walk = r.walk, nil
			return nil
		}
	}
	return nil
}

// pageSize is how many schedules a call reads.
const pageSize = 500

// add adds one schedule to the sums.
func (r *reader) add(ctx context.Context, s *chime.Schedule, now time.Time) error {
	r.walk.states[s.State]++
	if !s.Owed.IsZero() && now.Sub(s.Owed) >= time.Second {
		r.walk.owed++
	}
	label := r.names.label(s.Name)
	if label == other {
		// Neither its history is read nor its instants are computed: there may be very many.
		t := r.walk.times[other]
		if s.State == chime.StateLive && !s.Next.IsZero() && (t.next.IsZero() || s.Next.Before(t.next)) {
			t.next = s.Next
		}
		if s.Last.Outcome == chime.RunDone && (t.success.IsZero() || s.Last.Ended.Before(t.success)) {
			t.success = s.Last.Ended
		}
		r.walk.times[other] = t
		return nil
	}
	k := r.known[label]
	if k == nil || !k.created.Equal(s.Created) {
		k = &knownSchedule{created: s.Created}
		r.known[label] = k
	}
	if err := r.success(ctx, s, k); err != nil {
		return err
	}
	t := scheduleTimes{success: k.success}
	if s.State == chime.StateLive && !s.Next.IsZero() {
		t.next, t.period = s.Next, period(s, k)
	}
	r.walk.times[label] = t
	return nil
}

// success finds when a schedule was done last. Where its last attempt says something else its history is read, once for each such attempt.
func (r *reader) success(ctx context.Context, s *chime.Schedule, k *knownSchedule) error {
	switch {
	case s.Last.Outcome == chime.RunDone:
		k.success = s.Last.Ended
		return nil
	case s.Last.Ended.IsZero(), !k.success.IsZero(), s.Last.Ended.Equal(k.looked):
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
	k.looked = s.Last.Ended
	return nil
}

// period is the longest time between two of the next ten planned instants; 0: there is but one.
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
