package sim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
)

// A judgement compares a history with the data on the server. It knows what chime promises, and nothing of how chime does it.
type judgement struct {
	*History
	snapshot *snapshot
	found    Findings
}

func judge(h *History, s *snapshot) Findings {
	j := &judgement{History: h, snapshot: s}
	for _, key := range slices.Sorted(maps.Keys(h.Jobs)) {
		j.checkEnd(h.Jobs[key])
		j.checkRuns(h.Jobs[key])
	}
	j.checkFollowers()
	j.checkBatches()
	j.checkCancelled()
	j.checkDeleted()
	j.checkLimits()
	j.checkOrder()
	for _, d := range declarations {
		if d.from == 0 && d.until == 0 {
			j.account(d)
		}
	}
	j.checkCompletions()
	return j.found
}

// lossTime is how long a process must be in trouble until it may have lost a session: with a heartbeat every third of the TTL, the last one may be that old.
const lossTime = sessionTTL - sessionTTL/3

// breaksSessions are the faults by which a process can lose a session. If only replies are lost, or calls arrive once more, the calls were executed.
var breaksSessions = map[Kind]bool{
	Stall: true, Cut: true, LoseCall: true, Slow: true, Late: true, OOM: true, ReadOnly: true, Loading: true, Busy: true, Moved: true, Down: true,
}

// troubled reports whether a process may have lost a session in a span: it vanished, faults kept its calls from the server for so long, or the server's
// clock was wrong.
func (h *History) troubled(p *Process, from, to time.Time) bool {
	if p.Killed && !p.Gone.After(to) {
		return true
	}
	name, _, _ := strings.Cut(p.Name, ".")
	var sum time.Duration
	for i := range h.Faults {
		f := &h.Faults[i]
		end := f.To
		if end.IsZero() {
			end = to
		}
		switch {
		case f.Kind == ClockStep && f.reaches(from.Add(-sessionTTL), to):
			return true
		case breaksSessions[f.Kind] && f.concerns(name) && f.reaches(from.Add(-lossTime), to):
			sum += min(end.Sub(f.From), to.Sub(f.From)) + f.Late()
		}
	}
	return sum >= lossTime
}

// Late returns how long calls are delayed beyond the end of a fault.
func (f *Happened) Late() time.Duration {
	if f.Kind == Slow || f.Kind == Late {
		return f.By
	}
	return 0
}

// wentBack reports whether a slot may have lost what was written in a span, of which anything after it may be a consequence.
func (h *History) wentBack(slot string, from, to time.Time) bool {
	return slices.ContainsFunc(h.Faults, func(f Happened) bool {
		return f.Kind == GoBack && f.On == slot && !f.To.IsZero() && f.From.Before(to) && f.To.After(from)
	})
}

// everBack reports whether any slot went back.
func (h *History) everBack(slots ...string) bool {
	return slices.ContainsFunc(h.Faults, func(f Happened) bool { return f.Kind == GoBack && (len(slots) == 0 || slices.Contains(slots, f.On)) })
}

// acted reports whether an act of a kind about a job, or about a queue or schedule, reaches a span.
func (h *History) acted(from, to time.Time, fits func(d *Done) bool, do ...Verb) bool {
	return slices.ContainsFunc(h.Acts, func(d *Done) bool {
		return slices.Contains(do, d.Do) && !d.Begun.After(to) && (d.Ended.IsZero() || d.Err != nil || !d.Ended.Before(from)) && fits(d)
	})
}

var forever = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)

// checkEnd finds an accepted job that did not end.
func (j *judgement) checkEnd(job *Job) {
	if job.Accepted.IsZero() || job.done() > 0 || j.snapshot.dead[job.Queue+" "+job.ID] {
		return
	}
	of := func(d *Done) bool { return d.ID == job.ID && d.Err != nil || d.ID == job.ID && d.Result != "0 changed" }
	switch {
	case j.acted(job.Offered, forever, of, Cancel, DeleteJobs), j.cancelledBatch(job.Batch):
	case j.acted(job.Offered, forever, func(d *Done) bool { return d.Name == job.Queue }, Purge):
	case j.wentBack(job.Queue, job.Offered, job.Accepted.Add(time.Nanosecond)):
	case atEnd(job.Key) && j.wentBack(slotBatches, job.Offered, job.Accepted.Add(time.Nanosecond)):
	default:
		j.found.add(lost, "%s (ID %s on %s) was accepted at %s, and %s", job.Key, job.ID, job.Queue, j.stamp(job.Accepted), j.ran(job))
	}
}

// checkRuns finds runs without a cause.
func (j *judgement) checkRuns(job *Job) {
	runs := job.byFence()
	for i := 1; i < len(runs); i++ {
		r, next := runs[i-1], runs[i]
		switch {
		case j.forgotten(r, next) || j.forgotten(next, r):
		case r.Fence == next.Fence && r.Queue == next.Queue:
			j.found.add(refenced, "%s ran twice with fence %d: %s", job.Key, r.Fence, j.ran(job))
		case !j.caused(job, r, next):
			j.found.add(doubled, "%s ran again without a cause: %s", job.Key, j.ran(job))
		}
	}
}

// forgotten reports whether a later run of a job may have the fence of an earlier one, or a lower one. Fences are instants of the server's clock, so they
// grow even if a queue goes back. But after the clock has stepped ahead and back, they are ahead of it. If the queue then forgets that the earlier
// run began, it gives out the same fences once more.
func (h *History) forgotten(earlier, later Run) bool {
	return earlier.Queue == later.Queue && h.backBetween(earlier.Queue, earlier.Begun, earlier.Begun, later.Begun) && h.fencesAhead(earlier.Begun, later.Begun)
}

// fencesAhead reports whether the fence of one instant may be ahead of the server's clock at another one: the clock has stepped ahead before the first and
// back before the second, and has not yet reached again what it had shown.
func (h *History) fencesAhead(drawn, at time.Time) bool {
	return slices.ContainsFunc(h.Faults, func(f Happened) bool {
		return f.Kind == ClockStep && !f.To.IsZero() && !drawn.Before(f.From) && !at.Before(f.To) && !at.After(f.To.Add(f.By))
	})
}

// caused reports whether a job may run again after a run.
func (j *judgement) caused(job *Job, r, next Run) bool {
	name, planned := job.schedule()
	to := next.Begun
	if to.Before(r.Begun) {
		to = r.Begun
	}
	settled := r.Ended
	if settled.IsZero() {
		settled = r.Begun
	}
	switch {
	case r.Outcome == Failed, r.Outcome == Snoozed, r.Outcome == CutOff:
		return true
	case r.Outcome == Discarded && j.acted(r.Begun, to, func(d *Done) bool { return d.Name == r.Queue }, Requeue):
		return true
	case j.troubled(r.Process, r.Begun, to), handedBack(r, next.Begun), j.unconfirmed(r, next.Begun):
		return true
	case j.backBetween(r.Queue, r.Begun, settled.Add(time.Minute), next.Begun):
		return true
	case atEnd(job.Key) && j.backBetween(slotBatches, job.Offered, to, next.Begun):
		return true
	case name != "" && r.Queue != next.Queue && j.hadTwoHomes(to):
		return true
	case name != "" && j.acted(time.Time{}, to, func(d *Done) bool { return d.Name == name && !planned.Before(d.From) && !planned.After(d.Begun) }, Backfill):
		return true
	case strings.HasPrefix(job.Key, "once-") && (j.acted(time.Time{}, to, func(d *Done) bool { return d.ID == job.ID }, DeleteJobs, Cancel) || j.everBack(job.Queue)):
		return true
	}
	return false
}

// handedBack reports whether a worker that ends has handed the job of a run back before an instant, because its handler had not returned: the handler's ctx
// ends after the DrainTimeout, and the handler has two more seconds to return.
func handedBack(r Run, before time.Time) bool {
	p := r.Process
	at := p.Gone.Add(drainTimeout + handBackWait)
	return !p.Gone.IsZero() && !p.Killed && !r.Begun.After(p.Gone) && (r.Ended.IsZero() || !r.Ended.Before(at)) && !before.Before(at)
}

// unconfirmed reports whether the outcome of a run may be lost because its worker has ended: the server confirmed no outcome until then, as replies were lost.
func (h *History) unconfirmed(r Run, before time.Time) bool {
	p := r.Process
	name, _, _ := strings.Cut(p.Name, ".")
	return p.Kept > 0 && !r.Ended.IsZero() && before.After(p.Gone) && !r.Ended.After(p.Gone.Add(drainTimeout+handBackWait)) && slices.ContainsFunc(h.Faults, func(f Happened) bool {
		return f.Kind == LoseReply && f.concerns(name) && f.reaches(r.Ended, p.Gone)
	})
}

// backBetween reports whether a queue lost how a run began or ended, and the next run began after that.
func (h *History) backBetween(queue string, begun, settled, next time.Time) bool {
	return slices.ContainsFunc(h.Faults, func(f Happened) bool {
		return f.Kind == GoBack && f.On == queue && !f.To.IsZero() && f.From.Before(settled) && f.To.After(begun) && !next.Before(f.To)
	})
}

// hadTwoHomes reports whether a schedule may have lived in two queues at an instant, because a slot went back and no sweep has found it.
func (h *History) hadTwoHomes(at time.Time) bool {
	return slices.ContainsFunc(h.Faults, func(f Happened) bool {
		if f.Kind != GoBack || f.To.IsZero() || at.Before(f.From) {
			return false
		}
		return !slices.ContainsFunc(h.Repaired, func(repaired time.Time) bool { return repaired.After(f.To) && repaired.Before(at.Add(-time.Minute)) })
	})
}

// checkFollowers finds jobs that should follow others and do not.
func (j *judgement) checkFollowers() {
	for _, d := range j.Acts {
		if d.Do != Follow {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(j.Jobs)) {
			job := j.Jobs[key]
			if job.Accepted.IsZero() || !strings.HasPrefix(key, d.Keys) || job.done() == 0 || j.everBack() || j.everDown(job) {
				continue
			}
			of := func(d *Done) bool { return d.ID == job.ID }
			purged := j.acted(job.Offered, forever, func(*Done) bool { return true }, Purge)
			followers := 0
			for other := range j.Jobs {
				if strings.HasPrefix(other, key+"+") {
					followers++
				}
			}
			if followers != 1 && !purged && !j.acted(job.Offered, forever, of, Cancel) && (followers > 1 || !j.snapshot.followed(key)) {
				j.found.add(lost, "%s is done, and %d jobs follow it: %s", key, followers, j.ran(job))
			}
		}
	}
}

// everDown reports whether the last run of a job is in doubt: the server may not have its outcome.
func (j *judgement) everDown(job *Job) bool {
	runs := job.byFence()
	last := runs[len(runs)-1]
	return last.Outcome != OK || j.snapshot.dead[job.Queue+" "+job.ID]
}

// checkCancelled finds jobs that started although Cancel has returned that they will not.
func (j *judgement) checkCancelled() {
	for _, d := range j.Acts {
		if d.Do != Cancel || d.Err != nil || d.Result != string(chime.CancelDone) || strings.HasPrefix(d.Key, "once-") {
			continue
		}
		job := j.Jobs[d.Key]
		for _, r := range job.Begins {
			if r.Begun.After(d.Ended) && !j.everBack(job.Queue) {
				j.found.add(started, "%s was cancelled at %s, and %s", job.Key, j.stamp(d.Ended), j.ran(job))
			}
		}
	}
}

// checkDeleted finds occurrences of schedules that began after the schedule was deleted.
func (j *judgement) checkDeleted() {
	for _, d := range j.Acts {
		if d.Do != Delete || d.Err != nil || j.everBack() || j.everOf(ClockStep) {
			continue
		}
		again := j.acted(d.Begun.Add(-3*time.Minute), forever, func(other *Done) bool {
			return other.Name == d.Name && (other.Ended.IsZero() || other.Err != nil || other.Ended.After(d.Begun))
		}, Put, Move, Backfill)
		if again {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(j.Jobs)) {
			job := j.Jobs[key]
			if name, planned := job.schedule(); name != d.Name || !planned.After(d.Ended) {
				continue
			}
			j.found.add(started, "schedule %s was deleted at %s, and %s %s", d.Name, j.stamp(d.Ended), key, j.ran(job))
		}
	}
}

func (h *History) everOf(kind Kind) bool {
	return slices.ContainsFunc(h.Faults, func(f Happened) bool { return f.Kind == kind })
}

// checkLimits finds more handlers at once than the limits permit, and occurrences that overlap. Runs whose process may have lost its session are left out.
func (j *judgement) checkLimits() {
	of := map[string][]*Job{}
	for _, key := range slices.Sorted(maps.Keys(j.Jobs)) {
		job := j.Jobs[key]
		name, _ := job.schedule()
		switch {
		case job.Queue == queueLimited:
			of[queueLimited] = append(of[queueLimited], job)
		case job.Group != "":
			of["group "+job.Group] = append(of["group "+job.Group], job)
		case name == "skip" || name == "wait":
			of["schedule "+name] = append(of["schedule "+name], job)
		}
	}
	most := map[string]int{queueLimited: maxLimit, "schedule skip": 1, "schedule wait": 1}
	for _, g := range groups {
		most["group "+g.name] = cmp.Or(g.running, 1<<30)
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		kind := exceeded
		if strings.HasPrefix(name, "schedule ") {
			kind = overlapped
		}
		j.checkAtOnce(kind, name, most[name], of[name])
	}
}

func (j *judgement) checkAtOnce(kind, name string, most int, jobs []*Job) {
	type change struct {
		at  time.Time
		by  int
		job *Job
	}
	var changes []change
	for _, job := range jobs {
		for _, r := range job.Begins {
			drained := !r.Process.Gone.IsZero() && r.Process.Gone.Before(r.Ended) // it may have handed the job back while the handler ran on
			if r.Ended.After(r.Begun) && !drained && !j.troubled(r.Process, r.Begun, r.Ended) && !j.wentBack(r.Queue, r.Begun.Add(-time.Hour), r.Ended.Add(time.Hour)) {
				changes = append(changes, change{r.Begun, 1, job}, change{r.Ended, -1, job})
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	running := map[string]string{}
	for _, c := range changes {
		if c.by < 0 {
			delete(running, c.job.Key)
		} else if running[c.job.Key] = c.job.Key + " " + j.ran(c.job); len(running) > most {
			j.found.add(kind, "%s: %d handlers ran at %s, at most %d may: %s", name, len(running), j.stamp(c.at), most, strings.Join(slices.Sorted(maps.Values(running)), "; "))
			return
		}
	}
}

// checkOrder finds jobs that overtook others of their ordered group.
func (j *judgement) checkOrder() {
	var jobs []*Job
	for _, key := range slices.Sorted(maps.Keys(j.Jobs)) {
		if job := j.Jobs[key]; job.Group == "ordered" && len(job.Begins) > 0 {
			jobs = append(jobs, job)
		}
	}
	first := func(job *Job) int64 { return job.byFence()[0].Fence }
	slices.SortFunc(jobs, func(a, b *Job) int { return cmp.Compare(first(a), first(b)) })
	for i := 1; i < len(jobs); i++ {
		runs := jobs[i-1].byFence()
		if last := runs[len(runs)-1]; last.Fence > first(jobs[i]) {
			j.found.add(overtaken, "%s began before %s had ended: %s; %s", jobs[i].Key, jobs[i-1].Key, j.ran(jobs[i]), j.ran(jobs[i-1]))
		}
	}
}

// checkCompletions compares the server's count of jobs that are done with the runs that ended well.
func (j *judgement) checkCompletions() {
	if j.everBack() {
		return
	}
	runs, certain := 0, 0
	for _, job := range j.Jobs {
		runs += job.done()
		if len(job.Begins) == 0 {
			continue
		}
		all := job.byFence()
		last := all[len(all)-1]
		if last.Outcome == OK && !j.troubled(last.Process, last.Begun, last.Ended.Add(2*sessionTTL)) && !j.snapshot.dead[job.Queue+" "+job.ID] &&
			!j.acted(job.Offered, forever, func(d *Done) bool { return d.ID == job.ID }, Cancel) && !j.cancelledBatch(job.Batch) {
			certain++
		}
	}
	certain -= j.snapshot.superseded
	if j.snapshot.done > runs || j.snapshot.done < certain {
		j.found.add(miscounted, "the server has counted %d jobs that are done; %d runs ended well, and %d jobs are certainly done", j.snapshot.done, runs, certain)
	}
}
