package chimeprom

import (
	"context"
	"sync"
	"time"

	"github.com/chimejobs/chime"
)

const (
	pageSize  = 500 // schedules in one call
	stepPages = 2   // calls between two pauses
	stepPause = 500 * time.Millisecond
	keepSums  = 2 * time.Minute // without newer sums, old ones are used for this time plus the time of their walk
)

// A walker reads all schedules for their common values. A read waits for its first step. It takes the other steps by itself,
// with pauses, so that it does not use Redis most of the time. At the end it stops: the next read begins the next walk.
type walker struct {
	schedules *chime.Schedules
	names     *names
	failed    func() // called for a failure that no read waits for
	pageSize  int

	mu       sync.Mutex
	underWay bool
	last     *scheduleSums // of the last complete walk
}

// scheduleSums are the results of a walk.
type scheduleSums struct {
	begun, ended time.Time

	states map[chime.ScheduleState]int
	owed   int
	others scheduleTimes              // of the schedules without their own label
	own    map[string]*chime.Schedule // the schedules with a label, by name
}

// A footstep is the result of the first step of a walk.
type footstep struct {
	sums *scheduleSums // nil: there are more schedules
	err  error
}

// begin takes the first step of a walk, unless a walk is running. It returns the sums if the walk ended with it. now is the store's time.
func (w *walker) begin(ctx context.Context, now time.Time) (*scheduleSums, error) {
	w.mu.Lock()
	busy := w.underWay
	w.underWay = true
	w.mu.Unlock()
	if busy {
		return nil, nil
	}
	first := make(chan footstep, 1)
	go w.walk(time.Until(now), first)
	select {
	case step := <-first:
		return step.sums, step.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// walk reads all schedules. ahead is the difference between the store's clock and this process's.
func (w *walker) walk(ahead time.Duration, first chan<- footstep) {
	sums := &scheduleSums{begun: time.Now(), states: make(map[chime.ScheduleState]int), own: make(map[string]*chime.Schedule)}
	after, more, err := w.step(sums, "", ahead)
	if err != nil || !more {
		w.end(sums, err)
		first <- footstep{sums, err}
		return
	}
	first <- footstep{}
	for more && err == nil {
		time.Sleep(stepPause)
		after, more, err = w.step(sums, after, ahead)
	}
	if w.end(sums, err); err != nil {
		w.failed()
	}
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

// end ends a walk.
func (w *walker) end(sums *scheduleSums, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.underWay = false; err == nil {
		sums.ended = time.Now()
		w.last = sums
	}
}

// sums are the sums of the last walk; nil: no walk has ended, or it is too long ago.
func (w *walker) sums() *scheduleSums {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil || time.Since(w.last.ended) > keepSums+w.last.ended.Sub(w.last.begun) {
		return nil
	}
	return w.last
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
