package pages

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
)

const (
	waitsLong = 5 * time.Minute // waiting for a free worker
	fullLong  = 5 * time.Minute // all slots of all workers are busy
	maxNamed  = 3               // number of names in a sentence
)

// Health describes the whole store in one sentence: its worst problem.
type Health struct {
	Problem
	Well bool
	Rest []Problem // the other problems, worst first

	Known []Known // acknowledged problems
}

// A Problem is something that somebody should check.
type Problem struct {
	Tone string // fail or late; ok if there is no problem
	Text string
	Path string // the page with details
	Name string // the name of the query parameter Is; empty: none
	Is   string
}

// healthOf returns the health of a store. open are the groups of failures that nobody has acknowledged.
func healthOf(s *Standing, listing Listing, open []overview.Group) Health {
	var all []Problem
	add := func(is bool, p Problem) {
		if is {
			all = append(all, p)
		}
	}
	now := s.Now()
	failing, late, known, paused, live := sortedOut(s.Known, listing, now.Add(-time.Since(listing.At)))
	waiting, parked, oldest := waitingOf(s.Queues, now)
	of := "of " + format.Plural(len(listing.Schedules), "schedule", "schedules")
	if !listing.Whole {
		of = "of the first " + format.Count(len(listing.Schedules)) + " schedules"
	}

	add(s.leaderless(), Problem{Tone: "fail", Text: noLeader, Path: "workers"})
	add(s.Notes[overview.Workers] == "" && len(s.Workers) == 0 && waiting > 0, Problem{Tone: "fail", Path: "workers",
		Text: fmt.Sprintf("There is no live worker, and %s %s.", format.Plural(waiting, "job", "jobs"), format.Agree(waiting, "waits", "wait"))})
	add(len(failing) > 0, Problem{Tone: "fail", Path: "schedules", Name: "state", Is: "failing",
		Text: fmt.Sprintf("%s %s %s failing: %s.", format.Count(len(failing)), of, format.Agree(len(failing), "is", "are"), someOf(failing))})
	add(len(late) > 0, Problem{Tone: "late", Path: "schedules", Name: "state", Is: "late",
		Text: fmt.Sprintf("%s %s %s late: %s.", format.Count(len(late)), of, format.Agree(len(late), "is", "are"), someOf(late))})
	add(oldest.Name != "", Problem{Tone: "late", Path: render.Path("queues", oldest.Name),
		Text: fmt.Sprintf("Jobs on queue %s have been waiting for %s.", oldest.Name, format.Rough(oldest.wait))})
	if text := s.unservedText(); text != "" && (len(s.Workers) > 0 || waiting == 0) {
		add(true, Problem{Tone: "fail", Path: "queues", Text: text})
	}
	add(parked > 0, Problem{Tone: "late", Path: "jobs", Name: "state", Is: "parked",
		Text: fmt.Sprintf("%s %s parked: no worker has a handler for %s.", format.Plural(parked, "job", "jobs"), format.Agree(parked, "is", "are"), format.Agree(parked, "it", "them"))})
	add(fullFor(s.Workers, now) >= fullLong, Problem{Tone: "late", Path: "workers", Text: "All slots of all workers have been busy for " + format.Rough(fullFor(s.Workers, now)) + "."})
	if job, most, failed := overview.ByJob(open); failed > 0 {
		attempts := format.Plural(failed, "attempt", "attempts")
		text := fmt.Sprintf("%s failed in the last hour, %s of them of job %s.", attempts, format.Count(most), job)
		if most == failed {
			text = fmt.Sprintf("%s of job %s failed in the last hour.", attempts, job)
		}
		add(true, Problem{Tone: "late", Path: "failures", Text: text})
	}
	if len(all) > 0 {
		return Health{Problem: all[0], Rest: all[1:], Known: known}
	}
	text := "All well: " + format.Plural(live, "schedule", "schedules") + " on time"
	switch {
	case live == 0 && len(s.Queues) > 0:
		text = "All well: nothing has failed, and no job has been waiting for long"
	case live == 0:
		text = "All well: there are no schedules and no jobs"
	case !listing.Whole:
		text = "All well in what was read so far: " + format.Plural(live, "schedule", "schedules") + " on time"
	}
	if paused > 0 {
		text += ", " + format.Count(paused) + " paused"
	}
	return Health{Problem: Problem{Tone: "ok", Text: text + "."}, Well: true, Known: known}
}

// sortedOut returns the failing schedules, the late ones, the failing ones that are acknowledged, and the numbers of paused and live ones, at the time of the reading.
func sortedOut(acknowledged []chime.Acknowledgement, listing Listing, at time.Time) (failing, late []string, known []Known, paused, live int) {
	for _, schedule := range listing.Schedules {
		switch {
		case schedule.Unread != nil:
		case plain.Failing(schedule.Schedule):
			if of := coveredSchedule(acknowledged, schedule.Schedule, at); of != nil {
				known = append(known, Known{Acknowledgement: *of, Text: "Schedule " + schedule.Name + " is failing", Path: render.Path("schedules", schedule.Name)})
				continue
			}
			failing = append(failing, schedule.Name)
		case plain.Late(schedule.Schedule, at):
			late = append(late, schedule.Name)
		case schedule.State == chime.StatePaused:
			paused++
		case schedule.State == chime.StateLive:
			live++
		}
	}
	return failing, late, known, paused, live
}

// A longWait is the waiting time of a queue's oldest job.
type longWait struct {
	Name string
	wait time.Duration
}

// waitingOf returns the numbers of waiting and parked jobs. It also returns the queue whose oldest job has waited longest, if that is too long. Paused
// queues are left out, because their jobs are meant to wait.
func waitingOf(queues []overview.Queue, now time.Time) (waiting, parked int64, oldest longWait) {
	for _, q := range queues {
		parked += q.Parked
		if q.Paused {
			continue
		}
		waiting += q.Waiting
		if wait := now.Sub(q.Oldest); !q.Oldest.IsZero() && wait >= waitsLong && wait > oldest.wait {
			oldest = longWait{q.Name, wait}
		}
	}
	return waiting, parked, oldest
}

// fullFor returns how long all slots of all workers have been busy, or 0 if they are not all busy.
func fullFor(workers []overview.Worker, now time.Time) time.Duration {
	if len(workers) == 0 || slices.ContainsFunc(workers, func(w overview.Worker) bool { return w.Full.IsZero() }) {
		return 0
	}
	last := slices.MaxFunc(workers, func(a, b overview.Worker) int { return a.Full.Compare(b.Full) })
	return now.Sub(last.Full)
}

// someOf returns the first names and the number of the others.
func someOf(names []string) string {
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += " and " + format.Plural(more, "other", "others")
	}
	return text
}
