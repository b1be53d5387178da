package pages

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
)

const (
	waitsLong = 5 * time.Minute // for a free worker
	fullLong  = 5 * time.Minute // all slots of all workers are busy
	maxNamed  = 3               // of what a sentence is about
)

// Health is how all of it goes, in a sentence: the worst that is to be said.
type Health struct {
	Problem
	Well bool
	Rest []Problem // what else is to be said, the worst first
}

// A Problem is something that somebody should look at.
type Problem struct {
	Tone string // fail or late; of what is well, ok
	Text string
	Path string // of the page that tells more, with its query in Query
	Name string // of that query's value; empty: there is none
	Is   string
}

// healthOf is what is to be said of a store.
func healthOf(s *Standing, listing Listing) Health {
	var all []Problem
	add := func(is bool, p Problem) {
		if is {
			all = append(all, p)
		}
	}
	now := s.Now()
	failing, late, paused, live := sortedOut(listing, now.Add(-time.Since(listing.At)))
	waiting, parked, oldest := waitingOf(s.Queues, now)
	of := "of " + render.Plural(int64(len(listing.Schedules)), "schedule", "schedules")
	if !listing.Whole {
		of = "of the first " + render.Count(int64(len(listing.Schedules))) + " schedules"
	}

	add(s.Leader != nil && s.Leader.Name == "" && s.schedules() > 0, Problem{Tone: "fail", Text: "No scheduler leads: nobody plans what comes next.", Path: "workers"})
	add(s.Notes[overview.Workers] == "" && len(s.Workers) == 0 && waiting > 0, Problem{Tone: "fail", Path: "workers",
		Text: fmt.Sprintf("No worker lives, and %s %s.", render.Plural(waiting, "job", "jobs"), agree(waiting, "waits", "wait"))})
	add(len(failing) > 0, Problem{Tone: "fail", Path: "schedules", Name: "state", Is: "failing",
		Text: fmt.Sprintf("%s %s %s failing: %s.", render.Count(int64(len(failing))), of, agree(int64(len(failing)), "is", "are"), someOf(failing))})
	add(len(late) > 0, Problem{Tone: "late", Path: "schedules", Name: "state", Is: "late",
		Text: fmt.Sprintf("%s %s %s late: %s.", render.Count(int64(len(late))), of, agree(int64(len(late)), "is", "are"), someOf(late))})
	add(oldest.Name != "", Problem{Tone: "late", Path: render.Path("queues", oldest.Name),
		Text: fmt.Sprintf("Jobs of queue %s have waited for %s.", oldest.Name, roughly(oldest.wait))})
	if unserved, _ := s.hindered(); len(unserved) > 0 && len(s.Workers) > 0 {
		add(true, Problem{Tone: "fail", Path: "queues", Text: fmt.Sprintf("Jobs wait on %s, and no worker that lives takes from it.", firstOf(unserved))})
	}
	add(parked > 0, Problem{Tone: "late", Path: "jobs", Name: "state", Is: "parked",
		Text: fmt.Sprintf("%s %s parked: no worker has a handler for them.", render.Plural(parked, "job", "jobs"), agree(parked, "is", "are"))})
	add(fullFor(s.Workers, now) >= fullLong, Problem{Tone: "late", Path: "workers", Text: "All slots of all workers have been busy for " + roughly(fullFor(s.Workers, now)) + "."})
	if failed := failures(s.Failures); failed > 0 {
		attempts, worst := render.Plural(failed, "attempt", "attempts"), s.Failures[0]
		text := fmt.Sprintf("%s failed in the last hour, %s of them of %s.", attempts, render.Count(worst.Count), worst.Job)
		if worst.Count == failed {
			text = fmt.Sprintf("%s of %s failed in the last hour.", attempts, worst.Job)
		}
		add(true, Problem{Tone: "late", Path: "failures", Text: text})
	}
	if len(all) > 0 {
		return Health{Problem: all[0], Rest: all[1:]}
	}
	text := "All well: " + render.Plural(int64(live), "schedule", "schedules") + " on time"
	switch {
	case live == 0 && len(s.Queues) > 0:
		text = "All well: nothing has failed, and nothing waits for long"
	case live == 0:
		text = "All is quiet: there is no schedule and no job"
	case !listing.Whole:
		text = "All well, as far as was read: " + render.Plural(int64(live), "schedule", "schedules") + " on time"
	}
	if paused > 0 {
		text += ", " + render.Count(int64(paused)) + " paused"
	}
	return Health{Problem: Problem{Tone: "ok", Text: text + "."}, Well: true}
}

// sortedOut are the schedules that failed, those that were late, and how many were paused and how many lived, when they were read.
func sortedOut(listing Listing, at time.Time) (failing, late []string, paused, live int) {
	for _, schedule := range listing.Schedules {
		switch {
		case schedule.Unread != nil:
		case plain.Failing(schedule.Schedule):
			failing = append(failing, schedule.Name)
		case plain.Late(schedule.Schedule, at):
			late = append(late, schedule.Name)
		case schedule.State == chime.StatePaused:
			paused++
		case schedule.State == chime.StateLive:
			live++
		}
	}
	return failing, late, paused, live
}

// A longWait is how long the oldest job of a queue has waited.
type longWait struct {
	Name string
	wait time.Duration
}

// waitingOf is how many jobs wait and how many are parked, and the queue whose oldest job has waited longest, if that is long. Queues that are
// paused are meant to stand still.
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

// fullFor is for how long all slots of all workers have been busy; 0: they are not.
func fullFor(workers []overview.Worker, now time.Time) time.Duration {
	if len(workers) == 0 || slices.ContainsFunc(workers, func(w overview.Worker) bool { return w.Full.IsZero() }) {
		return 0
	}
	last := slices.MaxFunc(workers, func(a, b overview.Worker) int { return a.Full.Compare(b.Full) })
	return now.Sub(last.Full)
}

func failures(groups []overview.Group) (n int64) {
	for _, g := range groups {
		n += g.Count
	}
	return n
}

// someOf names the first of many.
func someOf(names []string) string {
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += " and " + render.Plural(int64(more), "other", "others")
	}
	return text
}

func agree(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// roughly writes how long something takes, in its largest unit.
func roughly(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}} {
		if d >= unit.size {
			return fmt.Sprintf("%d %s", (d+unit.size/2)/unit.size, unit.name)
		}
	}
	return "less than a minute"
}
