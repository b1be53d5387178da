package chimeprom

import (
	"context"
	"time"

	"github.com/chimejobs/chime"
)

const (
	pageSize  = 500 // schedules in one call
	stepPages = 2   // calls between two pauses
)

// A walker reads all schedules for their common values.
type walker struct {
	walk[scheduleSums]
	schedules *chime.Schedules
	names     *names
	pageSize  int
}

// scheduleSums are the results of a walk.
type scheduleSums struct {
	states map[chime.ScheduleState]int
	owed   int
	others scheduleTimes              // of the schedules without their own label
	own    map[string]*chime.Schedule // the schedules with a label, by name
}

// begin takes the first step of a walk, unless a walk is running. It returns the sums if the walk ended with it. now is the store's time.
func (w *walker) begin(ctx context.Context, now time.Time) (*scheduleSums, error) {
	sums := &scheduleSums{states: make(map[chime.ScheduleState]int), own: make(map[string]*chime.Schedule)}
	ahead, after := time.Until(now), ""
	complete, err := w.walk.begin(ctx, sums, func() (more bool, err error) {
		after, more, err = w.step(sums, after, ahead)
		return more, err
	})
	if !complete {
		return nil, err
	}
	return sums, nil
}

// step reads schedules after a name, and returns the name after which there may be more.
func (w *walker) step(sums *scheduleSums, after string, ahead time.Duration) (last string, more bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	for range stepPages {
		had := 0
		for s, err := range w.schedules.List(ctx, chime.ScheduleFilter{After: after, Limit: w.pageSize}) {
			if s == nil {
				return "", false, err
			}
			had, after = had+1, s.Name
			if err == nil { // else this program cannot read it
				sums.add(s, w.names.label(s.Name), time.Now().Add(ahead))
			}
		}
		if had < w.pageSize {
			return "", false, nil
		}
	}
	return after, true, nil
}

// add adds one schedule to the sums. If it has no own label, its history is not read and its instants are not computed, because there may be
// very many of them.
func (s *scheduleSums) add(one *chime.Schedule, label string, now time.Time) {
	s.states[one.State]++
	if !one.Owed.IsZero() && now.Sub(one.Owed) >= time.Second {
		s.owed++
	}
	if label != other {
		s.own[label] = one
		return
	}
	if one.State == chime.StateLive && !one.Next.IsZero() && (s.others.next.IsZero() || one.Next.Before(s.others.next)) {
		s.others.next = one.Next
	}
	if one.Last.Outcome == chime.RunDone && (s.others.success.IsZero() || one.Last.Ended.Before(s.others.success)) {
		s.others.success = one.Last.Ended
	}
}
