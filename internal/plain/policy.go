package plain

import (
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
)

// Overlap describes what a schedule's overlap policy does.
func Overlap(policy chime.OverlapPolicy) string {
	switch policy {
	case chime.OverlapSkip:
		return "An occurrence is dropped if the previous one still runs."
	case chime.OverlapWait:
		return "An occurrence waits if the previous one still runs; at most one waits, and others are dropped."
	case chime.OverlapCancel:
		return "An occurrence cancels the previous one if that still runs, and then runs itself."
	case chime.OverlapAllow:
		return "Occurrences may run at the same time."
	}
	return unknown(string(policy)).Sentence
}

// Misfire describes what a schedule's misfire policy does with occurrences that are taken later than the grace.
func Misfire(policy chime.MisfirePolicy) string {
	switch policy {
	case chime.MisfireRunOnce:
		return "If occurrences were missed, one of them runs late and the others are only counted."
	case chime.MisfireSkip:
		return "Missed occurrences are only counted; they do not run."
	case chime.MisfireCatchUp:
		return "Occurrences missed in the last 24 hours run late, one after another, at most the newest 100 of them."
	}
	return unknown(string(policy)).Sentence
}

// Grace describes when a schedule's occurrence counts as missed.
func Grace(d time.Duration) string {
	return fmt.Sprintf("An occurrence is missed if no worker has taken it %s after it is due.", format.Exact(d))
}

// Spread describes when a schedule's occurrences are due. offset is Schedule.Offset.
func Spread(spread, offset time.Duration) string {
	if spread == 0 {
		return "Occurrences are due at their planned time."
	}
	return fmt.Sprintf("Occurrences are due %s after their planned time; the schedule's name determines this part of %s.", format.Exact(offset), format.Exact(spread))
}

// Retry describes how often a schedule's jobs are tried and how long they wait between two attempts.
func Retry(policy chime.RetryPolicy, maxAttempts int) string {
	times := "A job is tried 5 times, unless its handler or worker sets another number"
	switch {
	case maxAttempts == 1:
		return "A job is tried once."
	case maxAttempts > 1:
		times = fmt.Sprintf("A job is tried %d times", maxAttempts)
	}
	if wait := policy.String(); wait != "" {
		return times + "; between two attempts it waits " + wait + "."
	}
	return times + "; they also set the wait between two attempts."
}

// MaxUnfinished describes the limit of unfinished runs.
func MaxUnfinished(n int) string {
	return "It may have " + format.Plural(n, "run", "runs") + " that have not ended. More are skipped."
}

// PauseAfter describes when dead jobs pause a schedule.
func PauseAfter(n int) string {
	switch n {
	case 0:
		return "Dead jobs never pause it."
	case 1:
		return "It is paused after one dead job."
	}
	return fmt.Sprintf("It is paused after %d consecutive dead jobs.", n)
}
