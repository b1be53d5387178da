// Package plain has the words for states, outcomes and policies. Each has a symbol that needs no colour, one word and one sentence. The command
// and the pages use only these, so both show the same texts.
package plain

import (
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
)

// The symbols.
const (
	Going   = "●" // it runs, or is ready to
	Stopped = "‖" // it does not continue until somebody acts
	Good    = "✓" // it has ended well
	Bad     = "✕" // it failed
	Warning = "⚠" // look at it
	Idle    = "◌" // nothing happens, or nothing happened
)

// A State describes a schedule, a queue, a job or a run.
type State struct {
	Symbol   string
	Word     string
	Sentence string
}

// String returns the symbol and the word: "● live".
func (s State) String() string { return s.Symbol + " " + s.Word }

// unknown describes a state that a newer version has stored.
func unknown(word string) State {
	return State{Warning, word, fmt.Sprintf("This version does not know what %q means.", word)}
}

// late is the word for a schedule that is due and does not begin.
const late = "late"

// LateAfter sets when an occurrence that no worker has taken is late: this long after it is due.
const LateAfter = 5 * time.Second

// Late reports whether a live schedule has an occurrence that has been due for longer than LateAfter and that no worker has taken.
func Late(s *chime.Schedule, now time.Time) bool {
	return s.State == chime.StateLive && !s.Next.IsZero() && now.Sub(s.Next.Add(s.Offset)) > LateAfter
}

// Failing reports whether a live schedule's last attempt failed.
func Failing(s *chime.Schedule) bool {
	return s.State == chime.StateLive && (s.Last.Outcome == chime.RunFailed || s.Last.Outcome == chime.RunDead)
}

// Schedule describes a schedule at an instant of the store's clock: live, paused or completed. A live schedule may also be failing or late.
func Schedule(s *chime.Schedule, now time.Time) State {
	switch s.State {
	case chime.StatePaused:
		return State{Stopped, "paused", "Nothing runs until " + end(s.Note) + ": it was paused" + by(s.Note) + "."}
	case chime.StateCompleted:
		return State{Good, "completed", "It has no further occurrences: its count is used up, or its end has passed."}
	case chime.StateLive:
	default:
		return unknown(string(s.State))
	}
	switch {
	case Failing(s) && s.Last.Outcome == chime.RunDead:
		return State{Bad, "failing", "Its last job is dead" + consecutive(s.Last.Failures) + "; the next occurrence still runs."}
	case Failing(s):
		return State{Bad, "failing", "Its last attempt failed" + consecutive(s.Last.Failures) + ", and another attempt follows."}
	case Late(s, now):
		return State{Warning, late, "An occurrence is due, but no worker has taken it: no worker is free, or an earlier occurrence has not ended."}
	}
	return State{Going, "live", "It runs as its rule says."}
}

// Blocked describes a schedule whose jobs do not run now. why is the reason in a few words, and "" if they do run. A schedule that is failing or
// late keeps its state, which is the more important one; that of a late one names no other reason.
func Blocked(s State, why string) State {
	switch {
	case why != "" && s.Word == late:
		s.Sentence = "An occurrence is due, but no worker has taken it."
		return s
	case why == "" || s.Symbol != Going:
		return s
	}
	return State{Warning, why, "Its occurrences are created as its rule says, but none runs now."}
}

func consecutive(failures int) string {
	if failures < 2 {
		return ""
	}
	return fmt.Sprintf(" (the %s consecutive failure)", format.Ordinal(failures))
}

// Queue describes a queue. served is whether a live worker serves it, as far as that is known.
func Queue(q *chime.QueueInfo, served bool) State {
	switch q.Blocked(served) {
	case chime.ReasonPaused:
		return State{Stopped, "paused", "Workers take no jobs from it until " + end(q.Note) + ": it was paused" + by(q.Note) + "."}
	case chime.ReasonUnserved:
		if q.Waiting+q.Delayed+q.InFlight()+q.Parked+q.Schedules == 0 {
			return State{Idle, "idle", "No live worker serves it, and it has no jobs and no schedules."}
		}
		return State{Warning, "no worker", "No live worker serves it, so none of its jobs runs."}
	}
	return State{Going, "live", "Workers take its jobs."}
}

// Totals describes what has happened on a queue since it exists.
func Totals(q *chime.QueueInfo) string {
	return fmt.Sprintf("%s enqueued, %s done, %s failed, %s dead, %s cancelled, %s expired", format.Count(q.Enqueued), format.Count(q.Done),
		format.Plural(q.Failed, "attempt", "attempts"), format.Plural(q.Died, "job", "jobs"), format.Count(q.Cancelled), format.Count(q.Expired))
}

// end describes what ends a pause.
func end(n chime.Note) string {
	if n.Until.IsZero() {
		return "it is resumed"
	}
	return "the pause ends"
}

// by names the person who paused something, and the reason. It returns "" if the note is empty.
func by(n chime.Note) string {
	text := ""
	if n.By != "" {
		text = " by " + n.By
	}
	if n.Text != "" {
		text += fmt.Sprintf(", because of %q", n.Text)
	}
	return text
}

// Job describes a state of a job.
func Job(state chime.JobState) State {
	for _, s := range jobs {
		if s.Word == string(state) {
			return s
		}
	}
	return unknown(string(state))
}

var jobs = []State{
	{Idle, string(chime.JobWaiting), "It waits for a free worker, or for an earlier occurrence to end."},
	{Idle, string(chime.JobDelayed), "It is due later, and has not begun."},
	{Warning, string(chime.JobRetrying), "An attempt failed, or a worker vanished; the next attempt is due later."},
	{Going, string(chime.JobRunning), "A worker runs it."},
	{Going, string(chime.JobTaken), "A worker has taken it and is about to begin it."},
	{Stopped, string(chime.JobParked), "It waits for a worker that has a handler for it."},
	{Bad, string(chime.JobDead), "It does not run again unless it is requeued."},
	{Good, string(chime.JobDone), "It has ended, and its result is kept."},
}

// Outcome describes the end of an attempt, or of an occurrence without an attempt.
func Outcome(outcome chime.RunOutcome) State {
	for _, s := range outcomes {
		if s.Word == string(outcome) {
			return s
		}
	}
	return unknown(string(outcome))
}

var outcomes = []State{
	{Good, string(chime.RunDone), "It ended well."},
	{Bad, string(chime.RunFailed), "It failed, and another attempt follows."},
	{Idle, string(chime.RunSnoozed), "Its handler postponed it; that is not a failure."},
	{Bad, string(chime.RunDead), "The job is dead: no further attempt follows."},
	{Warning, string(chime.RunCrashed), "Its worker vanished, and another attempt follows."},
	{Stopped, string(chime.RunCancelled), "Somebody cancelled it."},
	{Idle, string(chime.RunSuperseded), "It ended because the next occurrence came."},
	{Warning, string(chime.RunExpired), "It did not run, because its time was over before it began."},
	{Idle, string(chime.RunMissed), "It did not run, because it was taken too late."},
	{Idle, string(chime.RunSkipped), "It did not run, because an earlier occurrence was still running."},
}
