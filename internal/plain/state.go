// Package plain has the words for states, outcomes and policies: for each a symbol that needs no colour, one word, and one sentence. The command
// and the pages use these and no others, so that they say the same.
package plain

import (
	"fmt"
	"time"

	"github.com/chimejobs/chime"
)

// The symbols.
const (
	Going   = "●" // it runs, or is ready to
	Stopped = "‖" // somebody has to do something before it goes on
	Good    = "✓" // it has ended well
	Bad     = "✕" // it failed
	Warning = "⚠" // look at it
	Idle    = "◌" // nothing happens, or happened
)

// A State is how something stands.
type State struct {
	Symbol   string
	Word     string
	Sentence string
}

// String is the symbol and the word: "● live".
func (s State) String() string { return s.Symbol + " " + s.Word }

// unknown is a state that a newer version has stored.
func unknown(word string) State {
	return State{Warning, word, fmt.Sprintf("This version does not know what %q means.", word)}
}

// LateAfter is how long after it is due an occurrence is called late that nobody has taken.
const LateAfter = 5 * time.Second

// Late reports whether an occurrence of a live schedule is due for longer than LateAfter and nobody has taken it.
func Late(s *chime.Schedule, now time.Time) bool {
	return s.State == chime.StateLive && !s.Next.IsZero() && now.Sub(s.Next.Add(s.Offset)) > LateAfter
}

// Failing reports whether a live schedule's last attempt failed.
func Failing(s *chime.Schedule) bool {
	return s.State == chime.StateLive && (s.Last.Outcome == chime.RunFailed || s.Last.Outcome == chime.RunDead)
}

// Schedule is how a schedule stands at an instant of the store's clock: live, paused or completed, and of those that are live failing or late.
func Schedule(s *chime.Schedule, now time.Time) State {
	switch s.State {
	case chime.StatePaused:
		return State{Stopped, "paused", "Nothing runs until it is resumed: it was paused" + by(s.Note) + "."}
	case chime.StateCompleted:
		return State{Good, "completed", "Nothing runs any more: its count is used up, or its end has passed."}
	case chime.StateLive:
	default:
		return unknown(string(s.State))
	}
	switch {
	case Failing(s) && s.Last.Outcome == chime.RunDead:
		return State{Bad, "failing", "Its last job was given up" + inARow(s.Last.Failures) + "; the next occurrence runs all the same."}
	case Failing(s):
		return State{Bad, "failing", "Its last attempt failed" + inARow(s.Last.Failures) + ", and another one follows."}
	case Late(s, now):
		return State{Warning, "late", "An occurrence is due, and no worker has taken it: either none is free, or an earlier one has not ended."}
	}
	return State{Going, "live", "It runs as its rule says."}
}

// Hindered is how a schedule stands whose jobs do not run now, for a reason of few words; empty: they do. That it fails or is late says more.
func Hindered(s State, why string) State {
	if why == "" || s.Symbol != Going {
		return s
	}
	return State{Warning, why, "Its occurrences come as its rule says, but none runs now."}
}

func inARow(failures int) string {
	if failures < 2 {
		return ""
	}
	return fmt.Sprintf(", the %s in a row that failed", ordinal(failures))
}

// ordinal is 1st, 2nd, 3rd, 4th, 11th, 21st.
func ordinal(n int) string {
	suffix := "th"
	if tens := n / 10 % 10; tens != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// Queue is how a queue stands.
func Queue(q *chime.QueueInfo) State {
	if q.Paused {
		return State{Stopped, "paused", "Nothing is taken from it until it is resumed: it was paused" + by(q.Note) + "."}
	}
	return State{Going, "live", "Workers take its jobs."}
}

// by says who paused something, and why; empty: nobody said so.
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

// Job is how a job stands that is in a state.
func Job(state chime.JobState) State {
	for _, s := range jobs {
		if s.Word == string(state) {
			return s
		}
	}
	return unknown(string(state))
}

var jobs = []State{
	{Idle, string(chime.JobWaiting), "It runs as soon as a worker is free, or an earlier occurrence has ended."},
	{Idle, string(chime.JobDelayed), "It is due later, and has not begun."},
	{Warning, string(chime.JobRetrying), "An attempt failed, or a worker vanished; the next attempt is due later."},
	{Going, string(chime.JobRunning), "A worker runs it."},
	{Going, string(chime.JobTaken), "A worker has taken it, and begins it in a moment."},
	{Stopped, string(chime.JobParked), "It waits for a worker that has a handler for it."},
	{Bad, string(chime.JobDead), "It was given up: nothing runs it until it is requeued."},
	{Good, string(chime.JobDone), "It has ended, and its result is kept."},
}

// Outcome is how an attempt, or an occurrence without one, ended.
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
	{Idle, string(chime.RunSnoozed), "It asked to run again later; that is no failure."},
	{Bad, string(chime.RunDead), "The job was given up."},
	{Warning, string(chime.RunCrashed), "Its worker vanished, and another attempt follows."},
	{Stopped, string(chime.RunCancelled), "Somebody cancelled it."},
	{Idle, string(chime.RunSuperseded), "It ended because the next occurrence came."},
	{Idle, string(chime.RunMissed), "It did not run, for it was taken too late."},
	{Idle, string(chime.RunSkipped), "It did not run, for an earlier occurrence was still running."},
}
