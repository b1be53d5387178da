package plain

import (
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime"
)

// Overlap says what a schedule's overlap policy does.
func Overlap(policy chime.OverlapPolicy) string {
	switch policy {
	case chime.OverlapSkip:
		return "An occurrence that comes while the last one runs is dropped."
	case chime.OverlapWait:
		return "An occurrence that comes while the last one runs waits for its end; at most one waits, others are dropped."
	case chime.OverlapCancel:
		return "An occurrence that comes while the last one runs ends that one, and runs then."
	case chime.OverlapAllow:
		return "Occurrences may run at the same time."
	}
	return unknown(string(policy)).Sentence
}

// Misfire says what a schedule's misfire policy does with occurrences that are taken later than the grace.
func Misfire(policy chime.MisfirePolicy) string {
	switch policy {
	case chime.MisfireRunOnce:
		return "If occurrences were missed, one runs late and the others are counted."
	case chime.MisfireSkip:
		return "Occurrences that were missed are counted, and do not run."
	case chime.MisfireCatchUp:
		return "Occurrences that were missed in the last 24 hours run late, the newest 100 of them, one after the other."
	}
	return unknown(string(policy)).Sentence
}

// Grace says from when on a schedule's occurrence counts as missed.
func Grace(d time.Duration) string {
	return fmt.Sprintf("An occurrence is missed if no worker has taken it %s after it is due.", span(d))
}

// Spread says when a schedule's occurrences are due. offset is Schedule.Offset.
func Spread(spread, offset time.Duration) string {
	if spread == 0 {
		return "Occurrences are due when they are planned."
	}
	return fmt.Sprintf("Occurrences are due %s after they are planned: a part of %s that the name decides.", span(offset), span(spread))
}

// Retry says how often a schedule's jobs are tried, and how long they wait between two attempts.
func Retry(policy chime.RetryPolicy, maxAttempts int) string {
	times := "Handler or worker say how often a job is tried, else 5 times"
	switch {
	case maxAttempts == 1:
		return "A job is tried once."
	case maxAttempts > 1:
		times = fmt.Sprintf("A job is tried %d times", maxAttempts)
	}
	if wait := policy.String(); wait != "" {
		return times + ", and waits between two attempts " + short(wait) + "."
	}
	return times + "; they say how long it waits between two attempts."
}

// PauseAfter says what failures do to a schedule.
func PauseAfter(n int) string {
	switch n {
	case 0:
		return "It goes on however many occurrences are given up."
	case 1:
		return "It is paused when an occurrence is given up."
	}
	return fmt.Sprintf("It is paused when %d occurrences in a row are given up.", n)
}

// span is a duration without the units of which it has none: 1m, 1h30m, 250ms.
func span(d time.Duration) string { return short(d.String()) }

// short leaves the units out of durations in a text of which they have none.
func short(text string) string {
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(text)
}
