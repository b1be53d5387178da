package plain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
)

// JobInfo describes a job at an instant of the store's clock. In contrast to [Job] it names the attempt, the time since or until it, and the reason
// why the job does not run: the result of chime.Jobs.Reasons, or the zero value if that is not known.
func JobInfo(j *chime.JobInfo, why chime.Reason, now time.Time) State {
	state := JobRow(j)
	if why.Kind == chime.ReasonUnserved {
		state.Symbol = Warning
	}
	switch {
	case j.Err != nil:
		return State{Warning, state.Word, "This version cannot read it."}
	case j.State == chime.JobWaiting && why.Kind == "":
		state.Sentence = fmt.Sprintf("It waits for a free worker, or for an earlier occurrence to end, before its %s.", attempt(j))
	case j.State == chime.JobWaiting:
		state.Sentence = fmt.Sprintf("It waits for its %s: %s.", attempt(j), Why(why))
	case j.State == chime.JobParked && (why.Kind == chime.ReasonPaused || why.Kind == chime.ReasonUnserved):
		state.Sentence = fmt.Sprintf("It waits for a worker that has a handler for it, and %s.", Why(why))
	case (j.State == chime.JobDelayed || j.State == chime.JobRetrying) && why.Kind != "":
		state.Sentence = fmt.Sprintf("Its %s is due %s, but %s.", attempt(j), until(j.Due, now), Why(why))
	case j.State == chime.JobDelayed, j.State == chime.JobRetrying:
		state.Sentence = fmt.Sprintf("Its %s is due %s.", attempt(j), until(j.Due, now))
	case !j.Vanished.IsZero():
		state.Sentence = fmt.Sprintf("Its worker vanished%s; it runs again when %s%s.", ago(j.Vanished, now), vanishedUntil(why), cancelled(j))
	case j.State == chime.JobRunning && !j.Started.IsZero():
		state.Sentence = fmt.Sprintf("A worker has been running its %s for %s%s.", attempt(j), lasted(now.Sub(j.Started)), cancelled(j))
	case j.State == chime.JobRunning:
		state.Sentence = fmt.Sprintf("A worker runs its %s%s.", attempt(j), cancelled(j))
	case j.State == chime.JobTaken:
		state.Sentence = fmt.Sprintf("A worker has taken it and is about to begin its %s%s.", attempt(j), cancelled(j))
	case j.State == chime.JobDead:
		state.Sentence = fmt.Sprintf("It died%s, after its %s; it does not run again unless it is requeued.", ago(j.Ended, now), attempt(j))
	case j.State == chime.JobDone:
		state.Sentence = fmt.Sprintf("It ended%s%s, and its result is kept.", as(j.Outcome), ago(j.Ended, now))
	}
	if clause := expiry(j, now); clause != "" {
		state.Sentence = strings.TrimSuffix(state.Sentence, ".") + "; " + clause + "."
	}
	return state
}

// expiry describes when a job that has not begun expires (chime.Expire), as a clause. A job whose time is over is stored until a worker takes it.
// It is empty for a job that does not expire, or has begun.
func expiry(j *chime.JobInfo, now time.Time) string {
	switch {
	case j.Expires.IsZero() || j.Err != nil || !j.Vanished.IsZero():
		return ""
	case j.Expires.After(now):
		return "it expires " + until(j.Expires, now) + " unless it begins before"
	}
	clause := "its time was over" + ago(j.Expires, now) + ", so it ends as expired"
	if j.State == chime.JobTaken {
		return clause
	}
	return clause + " when a worker takes it"
}

// JobRow describes a job in a list. A job whose worker has vanished is not running, although the store has not returned it yet.
func JobRow(j *chime.JobInfo) State {
	if !j.Vanished.IsZero() {
		return State{Warning, "interrupted", "Its worker vanished; it runs again."}
	}
	return Job(j.State)
}

// vanishedUntil returns what a job of a vanished worker waits for.
func vanishedUntil(why chime.Reason) string {
	if why.Served {
		return "another worker takes it"
	}
	return "a worker starts"
}

// Why returns a reason why a job does not run, as a clause without a full stop.
func Why(r chime.Reason) string {
	switch r.Kind {
	case chime.ReasonPaused:
		return fmt.Sprintf("queue %s is paused%s", r.Queue, by(r.Note))
	case chime.ReasonUnserved:
		return fmt.Sprintf("no live worker serves queue %s", r.Queue)
	case chime.ReasonParked:
		return "no live worker has a handler for it"
	case chime.ReasonBehind:
		return cmp.Or(r.Behind, "an earlier occurrence") + " has not ended"
	case chime.ReasonLimited:
		return fmt.Sprintf("queue %s has a limit of %s, and %s", r.Queue, Limit(r.Limit), place(r))
	case chime.ReasonGroup:
		return groupBlock(r) + ", and " + place(r)
	case chime.ReasonInLine:
		return place(r) + " for a free worker"
	}
	return string(r.Kind)
}

// groupBlock returns why the group of a job starts nothing as a clause.
func groupBlock(r chime.Reason) string {
	switch r.Blocked {
	case chime.GroupPaused:
		return fmt.Sprintf("its group %q is paused", r.Group)
	case chime.GroupOrdered:
		return fmt.Sprintf("%s of its group %q has not ended", cmp.Or(r.By, "an earlier job"), r.Group)
	case chime.GroupRunning:
		return fmt.Sprintf("as many jobs of its group %q run as may run at once", r.Group)
	case chime.GroupStarts:
		return fmt.Sprintf("as many jobs of its group %q have started as may start within the period", r.Group)
	}
	return fmt.Sprintf("its group %q may start no job", r.Group)
}

// place returns the place of a job in line as a clause.
func place(r chime.Reason) string {
	switch {
	case r.Place > 0 && r.Group != "":
		return "it is " + format.Ordinal(r.Place) + " in line of its group"
	case r.Place > 0:
		return "it is " + format.Ordinal(r.Place) + " in line"
	case r.Beyond:
		return "its place in line is beyond 10,000"
	}
	return "it is in line"
}

// QueueLimit describes the limit of a queue, also one that cannot be read. It is empty without a limit.
func QueueLimit(q *chime.QueueInfo) string {
	if q.LimitUnreadable {
		return "cannot be read, so no job is taken: set it again"
	}
	return Limit(q.Limit)
}

// Limit describes a limit: 5 at once, 10 starts in 1s. It is empty without a limit.
func Limit(limit chime.Limit) string {
	var parts []string
	if limit.Running > 0 {
		parts = append(parts, format.Count(limit.Running)+" at once")
	}
	if limit.Starts > 0 {
		parts = append(parts, format.Plural(limit.Starts, "start", "starts")+" in "+format.Exact(limit.Per))
	}
	return strings.Join(parts, ", ")
}

// attempt returns "3rd of 25 attempts", or "3rd attempt" if the worker or the handler sets the number of attempts.
func attempt(j *chime.JobInfo) string {
	if j.MaxAttempts == 0 {
		return format.Ordinal(max(j.Attempt, 1)) + " attempt"
	}
	if j.MaxAttempts == 1 {
		return "only attempt"
	}
	return fmt.Sprintf("%s of %d attempts", format.Ordinal(max(j.Attempt, 1)), j.MaxAttempts)
}

func cancelled(j *chime.JobInfo) string {
	if j.Cancelled {
		return "; its cancellation was requested"
	}
	return ""
}

// as returns the outcome of a job whose result is kept, or "" if the job succeeded.
func as(outcome chime.RunOutcome) string {
	if outcome == "" || outcome == chime.RunDone {
		return ""
	}
	return " as " + string(outcome)
}

func until(due, now time.Time) string {
	if !due.After(now) {
		return "now"
	}
	return format.Away(max(due.Sub(now), time.Second))
}

func ago(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	if past := now.Sub(at); past >= time.Second {
		return " " + format.Away(-past)
	}
	return " just now"
}

func lasted(d time.Duration) string {
	if d < time.Second {
		return "less than a second"
	}
	return format.Age(d)
}
