//go:build unix

package chaos

import (
	"slices"
	"time"

	"github.com/chimejobs/chime"
)

// An account compares a completed schedule with what happened to its instants.
type account struct {
	*chime.Schedule
	history  *History
	snapshot *Snapshot
	found    *Findings
	begun    []*Job // its occurrences that began since it was created, in order
}

func newAccount(s *chime.Schedule, h *History, snapshot *Snapshot, found *Findings) *account {
	a := &account{Schedule: s, history: h, snapshot: snapshot, found: found}
	for _, j := range h.Jobs {
		if j.Schedule() == s.Name && !j.Planned.Before(s.Created.Truncate(time.Second)) {
			a.begun = append(a.begun, j)
		}
	}
	slices.SortFunc(a.begun, func(x, y *Job) int { return x.Planned.Compare(y.Planned) })
	return a
}

// check checks every rule that holds for a schedule.
func (a *account) check() {
	a.checkEnds()
	if a.Recurrence.Count > 0 {
		most := a.Recurrence.Count + len(slices.DeleteFunc(slices.Clone(a.begun), func(j *Job) bool { return !a.history.forgotten(j) }))
		if n := len(a.begun); n < a.Recurrence.Count || n > most { // missed and skipped instants do not use up the count
			a.found.add(Unaccounted, "schedule %s began %d times, want its count of %d, and at most %d with those that were forgotten", a.Name, n, a.Recurrence.Count, most)
		}
	} else {
		a.checkInstants()
	}
	if a.Misfire == chime.MisfireCatchUp && a.Counters.Missed > 0 {
		a.found.add(Unaccounted, "schedule %s catches up, but has counted %d instants as missed", a.Name, a.Counters.Missed)
	}
	// after a move, a retry in the old queue may run beside the new occurrence
	if !isChanged(a.Name) && (a.Overlap == chime.OverlapSkip || a.Overlap == chime.OverlapWait) {
		a.checkOverlap()
	}
}

// checkEnds finds occurrences that began and did not end: no failed run vanishes, except under cancel, and if the server forgot that it began.
func (a *account) checkEnds() {
	for _, j := range a.begun {
		if !a.dead(j) && !j.done(0) && !a.superseded() && !a.doubtful(j) && !a.history.forgotten(j) {
			a.found.add(Vanished, "%s began, but neither finished nor is dead; it %s", j.Key, ran(j))
		}
	}
}

// checkInstants checks the sum: every instant began, or was counted as missed or as skipped.
func (a *account) checkInstants() {
	series, err := a.Recurrence.Series(a.Created)
	if err != nil {
		a.found.add(Broken, "schedule %s: %v", a.Name, err)
		return
	}
	planned := map[int64]bool{}
	for at := range series.Between(a.Created.Truncate(time.Second), a.Recurrence.EndTime.Add(time.Second)) {
		planned[at.Unix()] = true
	}
	sum, most, least := int(a.Counters.Missed+a.Counters.Skipped), len(planned), len(planned)
	for _, j := range a.begun {
		if !planned[j.Planned.Unix()] {
			a.found.add(Unplanned, "%s is not an instant of its schedule, created at %v", j.Key, a.Created)
			continue
		}
		sum++
		if a.doubtful(j) || a.history.forgotten(j) || a.history.ranElsewhere(j, a.Queue) {
			most++
		}
	}
	if a.superseded() { // an occurrence returned to the queue before it began may be superseded, which has its own counter
		least -= int(a.Counters.Superseded)
	}
	if sum < least || sum > most {
		a.found.add(Unaccounted, "schedule %s (%s, %s) has %d instants: %d began, %d missed, %d skipped: %+d, want %+d to %+d",
			a.Name, a.Overlap, a.Misfire, len(planned), len(a.begun), a.Counters.Missed, a.Counters.Skipped, sum-len(planned), least-len(planned), most-len(planned))
	}
}

func (a *account) dead(j *Job) bool {
	_, dead := a.snapshot.Dead[j.Key]
	return dead
}

// superseded reports whether newer occurrences may have superseded occurrences of the schedule.
func (a *account) superseded() bool {
	return a.Overlap == chime.OverlapCancel && a.Counters.Superseded > 0
}

// doubtful reports whether the server may not know that an occurrence began, although its handler ran. A job taken ahead begins before that is
// announced, and its worker was killed or cut off just then. The job returns as new, and if it is late, MisfireSkip counts it as missed.
func (a *account) doubtful(j *Job) bool {
	if a.Misfire != chime.MisfireSkip || a.dead(j) {
		return false
	}
	runs := j.byFence()
	r := runs[len(runs)-1]
	end := r.Begun
	if !r.Ended.IsZero() {
		end = r.Ended
	}
	return a.history.troubled(r, end.Add(slack))
}

// checkOverlap finds runs of two occurrences at the same time. A run counts if its process certainly had its session all the time.
func (a *account) checkOverlap() {
	type run struct {
		key string
		Run
	}
	var runs []run
	for _, j := range a.begun {
		for _, r := range j.Runs {
			if !r.Ended.IsZero() && r.Fence >= a.history.since() && !a.history.troubled(r, r.Ended) {
				runs = append(runs, run{j.Key, r})
			}
		}
	}
	slices.SortFunc(runs, func(a, b run) int { return a.Begun.Compare(b.Begun) })
	for i := 1; i < len(runs); i++ {
		if r, next := runs[i-1], runs[i]; r.key != next.key && next.Begun.Before(r.Ended) {
			a.found.add(Overlapped, "%s began at %s in %s, before %s ended at %s in %s; the policy is %s", next.key, next.Begun.Format(clock),
				next.Process.Name, r.key, r.Ended.Format(clock), r.Process.Name, a.Overlap)
		}
	}
}
