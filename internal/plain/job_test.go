package plain_test

import (
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/plain"
)

func TestTheSentenceOfAJobNamesTheAttemptAndItsTime(t *testing.T) {
	now := time.Date(2026, 11, 21, 13, 26, 48, 0, time.UTC)
	for _, c := range []struct {
		job  chime.JobInfo
		want string
	}{
		{chime.JobInfo{State: chime.JobWaiting, Attempt: 1, MaxAttempts: 25}, "◌ waiting: It waits for a free worker, or for an earlier occurrence to end, before its 1st of 25 attempts."},
		{chime.JobInfo{State: chime.JobDelayed, Attempt: 1, MaxAttempts: 1, Due: now.Add(3*time.Minute + 12*time.Second)}, "◌ delayed: Its only attempt is due in 3m 12s."},
		{chime.JobInfo{State: chime.JobDelayed, Due: now}, "◌ delayed: Its 1st attempt is due now."},
		{chime.JobInfo{State: chime.JobRetrying, Attempt: 3, MaxAttempts: 25, Due: now.Add(4 * time.Second)}, "⚠ retrying: Its 3rd of 25 attempts is due in 4s."},
		{chime.JobInfo{State: chime.JobRetrying, Attempt: 22, Due: now.Add(126*24*time.Hour + 12*time.Hour + time.Second)}, "⚠ retrying: Its 22nd attempt is due in 126d 12h."},
		{chime.JobInfo{State: chime.JobRunning, Attempt: 2, MaxAttempts: 3, Started: now.Add(-time.Hour - time.Second)}, "● running: A worker has been running its 2nd of 3 attempts for 1h."},
		{chime.JobInfo{State: chime.JobRunning, Attempt: 2, Started: now, Cancelled: true}, "● running: A worker has been running its 2nd attempt for less than a second; its cancellation was requested."},
		{chime.JobInfo{State: chime.JobRunning, Attempt: 2}, "● running: A worker runs its 2nd attempt."},
		{chime.JobInfo{State: chime.JobTaken, Attempt: 1, MaxAttempts: 25, Cancelled: true}, "● taken: A worker has taken it and is about to begin its 1st of 25 attempts; its cancellation was requested."},
		{chime.JobInfo{State: chime.JobParked, Attempt: 1}, "‖ parked: It waits for a worker that has a handler for it."},
		{chime.JobInfo{State: chime.JobDead, Attempt: 25, MaxAttempts: 25, Ended: now.Add(-49 * time.Hour)}, "✕ dead: It died 2d 1h ago, after its 25th of 25 attempts; it does not run again unless it is requeued."},
		{chime.JobInfo{State: chime.JobDone, Attempt: 1, Ended: now}, "✓ done: It ended just now, and its result is kept."},
		{chime.JobInfo{State: chime.JobDone, Attempt: 1, Outcome: chime.RunCancelled}, "✓ done: It ended as cancelled, and its result is kept."},
		{chime.JobInfo{State: chime.JobDead, Err: errors.New("newer")}, "⚠ dead: This version cannot read it."},
		{chime.JobInfo{State: chime.JobWaiting, MaxAttempts: 1, Expires: now.Add(4*time.Minute + 30*time.Second)}, "◌ waiting: It waits for a free worker, or for an earlier occurrence to end, before its only attempt; it expires in 4m 30s unless it begins before."},
		{chime.JobInfo{State: chime.JobDelayed, MaxAttempts: 1, Due: now.Add(time.Minute), Expires: now.Add(6 * time.Minute)}, "◌ delayed: Its only attempt is due in 1m; it expires in 6m unless it begins before."},
		{chime.JobInfo{State: chime.JobParked, Expires: now.Add(time.Millisecond)}, "‖ parked: It waits for a worker that has a handler for it; it expires in 1s unless it begins before."},
		{chime.JobInfo{State: chime.JobParked, Expires: now}, "‖ parked: It waits for a worker that has a handler for it; its time was over just now, so it ends as expired when a worker takes it."},
		{chime.JobInfo{State: chime.JobTaken, MaxAttempts: 1, Expires: now.Add(-3 * time.Minute)}, "● taken: A worker has taken it and is about to begin its only attempt; its time was over 3m ago, so it ends as expired."},
		{chime.JobInfo{State: chime.JobDone, Attempt: 1, Outcome: chime.RunExpired, Ended: now.Add(-time.Hour)}, "✓ done: It ended as expired 1h ago, and its result is kept."},
		{chime.JobInfo{State: "quantum"}, `⚠ quantum: This version does not know what "quantum" means.`},
	} {
		if got := plain.JobInfo(&c.job, chime.Reason{}, now); got.String()+": "+got.Sentence != c.want || !isSentence(got.Sentence) {
			t.Errorf("got  %v: %s\nwant %s", got, got.Sentence, c.want)
		}
	}
}

func TestTheSentenceOfAJobNamesTheReasonWhyItDoesNotRun(t *testing.T) {
	now := time.Date(2026, 11, 21, 13, 26, 48, 0, time.UTC)
	waiting := chime.JobInfo{State: chime.JobWaiting, Attempt: 1, MaxAttempts: 25}
	delayed := chime.JobInfo{State: chime.JobDelayed, Attempt: 1, MaxAttempts: 25, Due: now.Add(time.Minute)}
	expiring := chime.JobInfo{State: chime.JobWaiting, Attempt: 1, Expires: now.Add(-5 * time.Minute)}
	vanished := chime.JobInfo{State: chime.JobTaken, Expires: now, Attempt: 1, Vanished: now.Add(-15*time.Minute - 3*time.Second)}
	limit := chime.Limit{Running: 2, Starts: 10, Per: time.Minute}
	for _, c := range []struct {
		job  chime.JobInfo
		why  chime.Reason
		want string
	}{
		{waiting, chime.Reason{Kind: chime.ReasonPaused, Queue: "mail", Note: chime.Note{By: "anna", Text: "migration"}}, `◌ waiting: It waits for its 1st of 25 attempts: queue mail is paused by anna, because of "migration".`},
		{waiting, chime.Reason{Kind: chime.ReasonPaused, Queue: "mail"}, "◌ waiting: It waits for its 1st of 25 attempts: queue mail is paused."},
		{waiting, chime.Reason{Kind: chime.ReasonUnserved, Queue: "mail"}, "⚠ waiting: It waits for its 1st of 25 attempts: no live worker serves queue mail."},
		{waiting, chime.Reason{Kind: chime.ReasonBehind, Behind: "report@2026-11-21T13:00:00Z"}, "◌ waiting: It waits for its 1st of 25 attempts: report@2026-11-21T13:00:00Z has not ended."},
		{waiting, chime.Reason{Kind: chime.ReasonBehind}, "◌ waiting: It waits for its 1st of 25 attempts: an earlier occurrence has not ended."},
		{waiting, chime.Reason{Kind: chime.ReasonLimited, Queue: "mail", Limit: limit, Place: 12}, "◌ waiting: It waits for its 1st of 25 attempts: queue mail has a limit of 2 at once, 10 starts in 1m, and it is 12th in line."},
		{waiting, chime.Reason{Kind: chime.ReasonInLine, Place: 1}, "◌ waiting: It waits for its 1st of 25 attempts: it is 1st in line for a free worker."},
		{waiting, chime.Reason{Kind: chime.ReasonInLine, Place: 3, Group: "g"}, "◌ waiting: It waits for its 1st of 25 attempts: it is 3rd in line of its group for a free worker."},
		{waiting, chime.Reason{Kind: chime.ReasonGroup, Place: 2, Group: "g", Blocked: chime.GroupPaused}, "◌ waiting: It waits for its 1st of 25 attempts: its group \"g\" is paused, and it is 2nd in line of its group."},
		{waiting, chime.Reason{Kind: chime.ReasonGroup, Place: 2, Group: "g", Blocked: chime.GroupOrdered, By: "a"}, "◌ waiting: It waits for its 1st of 25 attempts: a of its group \"g\" has not ended, and it is 2nd in line of its group."},
		{waiting, chime.Reason{Kind: chime.ReasonInLine, Beyond: true}, "◌ waiting: It waits for its 1st of 25 attempts: its place in line is beyond 10,000 for a free worker."},
		{expiring, chime.Reason{Kind: chime.ReasonUnserved, Queue: "mail"}, "⚠ waiting: It waits for its 1st attempt: no live worker serves queue mail; its time was over 5m ago, so it ends as expired when a worker takes it."},
		{delayed, chime.Reason{Kind: chime.ReasonUnserved, Queue: "mail"}, "⚠ delayed: Its 1st of 25 attempts is due in 1m, but no live worker serves queue mail."},
		{chime.JobInfo{State: chime.JobParked}, chime.Reason{Kind: chime.ReasonParked}, "‖ parked: It waits for a worker that has a handler for it."},
		{chime.JobInfo{State: chime.JobParked}, chime.Reason{Kind: chime.ReasonUnserved, Queue: "mail"}, "⚠ parked: It waits for a worker that has a handler for it, and no live worker serves queue mail."},
		{vanished, chime.Reason{Kind: chime.ReasonVanished}, "⚠ interrupted: Its worker vanished 15m 3s ago; it runs again when a worker starts."},
		{vanished, chime.Reason{Kind: chime.ReasonVanished, Served: true}, "⚠ interrupted: Its worker vanished 15m 3s ago; it runs again when another worker takes it."},
	} {
		if got := plain.JobInfo(&c.job, c.why, now); got.String()+": "+got.Sentence != c.want || !isSentence(got.Sentence) {
			t.Errorf("got  %v: %s\nwant %s", got, got.Sentence, c.want)
		}
	}
}
