package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
)

// account checks the sum of a schedule that no act has changed: every instant has begun, or is counted as missed or skipped.
func (j *judgement) account(d declaration) {
	s := j.snapshot.schedules[d.name]
	if s == nil || j.everBack(d.queue, slotRegistry, slotDeleted) {
		return
	}
	series, err := s.Recurrence.Series(s.Created)
	if err != nil {
		j.found.add(broken, "schedule %s: %v", s.Name, err)
		return
	}
	if s.State != chime.StateCompleted {
		j.found.add(stuck, "schedule %s is %s after its end at %s", s.Name, s.State, s.Recurrence.EndTime)
	}
	planned := map[int64]bool{}
	for at := range series.Between(s.Created.Truncate(time.Second), s.Recurrence.EndTime.Add(time.Second)) {
		planned[at.Unix()] = true
	}
	begun, doubtful := 0, 0
	for _, job := range j.Jobs {
		name, at := job.schedule()
		if name != s.Name || at.Before(s.Created.Truncate(time.Second)) {
			continue
		}
		if !planned[at.Unix()] {
			j.found.add(unaccounted, "%s is not an instant of its schedule, which was created at %v", job.Key, s.Created)
			continue
		}
		begun++
		ended := job.done() > 0 || j.snapshot.dead[job.Queue+" "+job.ID]
		if last := job.byFence()[len(job.Begins)-1]; s.Misfire == chime.MisfireSkip && !ended && j.troubled(last.Process, last.Begun, last.Begun.Add(2*sessionTTL)) {
			doubtful++
		} else if !ended && s.Counters.Superseded == 0 && !j.acted(time.Time{}, forever, func(d *Done) bool { return d.Name == job.Queue }, Purge) {
			j.found.add(lost, "%s began and has not ended: %s", job.Key, j.ran(job))
		}
		if s.Misfire == chime.MisfireSkip && j.anyTrouble(job) {
			doubtful++
		}
	}
	sum := begun + int(s.Counters.Missed+s.Counters.Skipped)
	least, most := len(planned)-int(s.Counters.Superseded), len(planned)+doubtful
	if j.acted(time.Time{}, forever, func(d *Done) bool { return d.Name == s.Queue }, Purge) {
		least -= 1000 // a purge deletes occurrences that wait, and no counter has them
	}
	if sum < least || sum > most {
		j.found.add(unaccounted, "schedule %s (%s, %s) has %d instants: %d began, %d missed, %d skipped, %d superseded; want a sum of %d to %d",
			s.Name, s.Overlap, s.Misfire, len(planned), begun, s.Counters.Missed, s.Counters.Skipped, s.Counters.Superseded, least, most)
	}
}

// anyTrouble reports whether the server may not know that a run of a job has begun.
func (j *judgement) anyTrouble(job *Job) bool {
	return slices.ContainsFunc(job.Begins, func(r Run) bool { return j.troubled(r.Process, r.Begun, r.Begun.Add(2*sessionTTL)) })
}

// A standing is whether a schedule must exist.
type standing int

const (
	unknown standing = iota
	yes
	no
)

// shouldLive returns whether a schedule that acts change must exist. The lock is held.
func (h *History) shouldLive(name string, now time.Time) standing {
	var put, removed *Done // the last calls that succeeded
	for _, d := range h.Acts {
		if d.Name != name || d.Err != nil || d.Ended.IsZero() {
			continue
		}
		switch d.Do {
		case Put, Move:
			put = d
		case Delete:
			removed = d
		}
	}
	reaching := func(from time.Time, do ...Verb) bool {
		return slices.ContainsFunc(h.Acts, func(d *Done) bool {
			return d.Name == name && slices.Contains(do, d.Do) && (d.Ended.IsZero() || !d.Ended.Before(from) || d.Err != nil && d.Begun.After(from.Add(-3*time.Minute)))
		})
	}
	switch {
	case put != nil && (removed == nil || removed.Ended.Before(put.Begun)):
		if reaching(put.Begun, Delete) || h.wentBack(put.Queue, put.Begun, put.Ended.Add(time.Nanosecond)) || h.wentBack(slotRegistry, put.Begun, put.Ended.Add(time.Nanosecond)) {
			return unknown
		}
		return yes
	case removed != nil:
		if reaching(removed.Begun, Put, Move) || h.everBack(slotDeleted) {
			return unknown
		}
		return no
	}
	return unknown
}

// putFailed reports whether a call that creates a schedule has not returned, or has failed.
func (h *History) putFailed(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.Acts, func(d *Done) bool {
		return d.Name == name && (d.Do == Put || d.Do == Move) && (d.Err != nil || d.Ended.IsZero())
	})
}

// ran describes the runs of a job.
func (j *judgement) ran(job *Job) string {
	if len(job.Begins) == 0 {
		return "never began"
	}
	var text []string
	for _, r := range job.byFence() {
		ended := "?"
		if !r.Ended.IsZero() {
			ended = j.stamp(r.Ended)
		}
		text = append(text, fmt.Sprintf("%s %s to %s (%s on %s)", r.Process.Name, j.stamp(r.Begun), ended, r.Outcome, r.Queue))
	}
	return "ran: " + strings.Join(text, ", ")
}

// stamp returns the time since the plan began.
func (j *judgement) stamp(at time.Time) string { return stamp(at.Sub(j.Began)) }

// stamp formats a time since the plan began, as minutes and seconds.
func stamp(d time.Duration) string {
	return fmt.Sprintf("%02d:%06.3f", int(d.Minutes()), (d % time.Minute).Seconds())
}
