package pages

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
)

// announcesFor is how long a worker of a version without heartbeats is shown.
const announcesFor = 12 * time.Minute

// silent reports whether a worker's heartbeat is overdue: a worker sends two in each SessionTTL, and is gone after a SessionTTL without one.
func silent(w *overview.Worker, now time.Time) bool {
	return !w.Seen.IsZero() && now.Sub(w.Seen) > cmp.Or(w.SessionTTL, announcesFor)*3/4
}

// Worker is the page of a worker.
type Worker struct {
	overview.Worker
	State  plain.State
	Heard  string // how recently its heartbeats come, in words that do not change with each of them; empty: the last one is overdue
	Leads  bool   // the scheduler of its process is the leader
	Queues []Served
	Jobs   []*chime.JobInfo // its running jobs, longest first
	Note   string           // why these are not all; empty: these are all
}

// A Served is a queue that a worker takes from.
type Served struct {
	Name   string
	Weight int
}

// Worker reads the page of a worker.
func (s *Site) Worker(ctx context.Context, r *Request) (View, error) {
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	name := r.Values["worker"]
	i := slices.IndexFunc(standing.Workers, func(w overview.Worker) bool { return w.Name == name })
	if i < 0 {
		if note := standing.Notes[overview.Workers]; note != "" {
			return View{}, &MissingError{Text: fmt.Sprintf("Workers cannot be shown: %s.", note)}
		}
		return View{}, &MissingError{
			Text:  fmt.Sprintf("The worker %.60q is gone: it has stopped, or it has vanished. Other workers run its jobs.", name),
			Links: []render.Lead{{Text: "All workers", Path: "workers"}},
		}
	}
	m := &Worker{Worker: standing.Workers[i], Note: standing.Notes[overview.Running]}
	m.State, m.Leads = workerState(&m.Worker, standing.Now()), leads(&m.Worker, standing.Leader)
	if !silent(&m.Worker, standing.Now()) && !m.Seen.IsZero() {
		m.Heard = "within the last " + format.Exact(cmp.Or(m.SessionTTL, announcesFor))
	}
	for _, queue := range slices.Sorted(maps.Keys(m.WorkerInfo.Queues)) {
		m.Queues = append(m.Queues, Served{queue, m.WorkerInfo.Queues[queue]})
	}
	m.Jobs = slices.Clone(m.Running)
	if m.Note != "" {
		m.Jobs = slices.DeleteFunc(slices.Clone(standing.Running), func(j *chime.JobInfo) bool { return j.Worker != name })
	}
	slices.SortFunc(m.Jobs, func(a, b *chime.JobInfo) int { return cmp.Or(older(a.Started, b.Started), cmp.Compare(a.ID, b.ID)) })
	return View{m.Address(), m}, nil
}

// Sharing says how many jobs run in how many slots; empty: each job uses a slot.
func (m *Worker) Sharing() string {
	if !m.Counted || !m.SharesSlots() {
		return ""
	}
	return plain.Slots(m.WorkerInfo)
}

// workerState returns the state of a worker.
func workerState(w *overview.Worker, now time.Time) plain.State {
	switch {
	case silent(w, now):
		return plain.State{Symbol: plain.Warning, Word: "late", Sentence: "Its last heartbeat is overdue: its process may be gone, or it cannot reach Redis."}
	case !w.Counted:
		return plain.State{Symbol: plain.Going, Word: "live", Sentence: "It is live; more jobs run than are counted here."}
	case w.Busy == 0:
		return plain.State{Symbol: plain.Idle, Word: "idle", Sentence: "It waits for jobs."}
	case w.SharesSlots():
		return plain.State{Symbol: plain.Going, Word: "running", Sentence: "It runs jobs. A handler that gets several jobs at once uses one slot for all of them."}
	case w.Busy >= w.Slots:
		return plain.State{Symbol: plain.Warning, Word: "full", Sentence: "All its slots are busy: it takes the next job when one of them ends."}
	}
	return plain.State{Symbol: plain.Going, Word: "running", Sentence: "It runs jobs and has free slots."}
}
