package plain

import (
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
)

// JobInfo describes a job at an instant of the store's clock. In contrast to [Job] it names the attempt and the time since or until it.
func JobInfo(j *chime.JobInfo, now time.Time) State {
	state := Job(j.State)
	switch {
	case j.Err != nil:
		return State{Warning, state.Word, "This version cannot read it."}
	case j.State == chime.JobWaiting:
		state.Sentence = fmt.Sprintf("It waits for a free worker, or for an earlier occurrence to end, before its %s.", attempt(j))
	case j.State == chime.JobDelayed, j.State == chime.JobRetrying:
		state.Sentence = fmt.Sprintf("Its %s is due %s.", attempt(j), until(j.Due, now))
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
	return state
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
