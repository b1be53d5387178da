package plain

import (
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime"
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
		state.Sentence = fmt.Sprintf("A worker has been running its %s for %s%s.", attempt(j), apart(now.Sub(j.Started)), cancelled(j))
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
		return ordinal(max(j.Attempt, 1)) + " attempt"
	}
	if j.MaxAttempts == 1 {
		return "only attempt"
	}
	return fmt.Sprintf("%s of %d attempts", ordinal(max(j.Attempt, 1)), j.MaxAttempts)
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
	if left := due.Sub(now); left > 0 {
		return "in " + apart(left)
	}
	return "now"
}

func ago(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	if past := now.Sub(at); past >= time.Second {
		return " " + apart(past) + " ago"
	}
	return " just now"
}

// apart formats the time between two instants in its two largest units: 4 s, 3 m 12 s, 126 d 12 h.
func apart(d time.Duration) string {
	if d < time.Second {
		return "less than a second"
	}
	var parts []string
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		n := d / u.of
		d -= n * u.of
		switch {
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, u.name))
		case len(parts) > 0:
			return parts[0]
		}
		if len(parts) == 2 {
			break
		}
	}
	return strings.Join(parts, " ")
}
