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
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
)

const (
	announces   = 4 * time.Minute            // interval of a worker's heartbeats
	silentAfter = announces + 30*time.Second // a worker without a heartbeat for this long is late
)

// Worker is the page of a worker.
type Worker struct {
	overview.Worker
	State  plain.State
	Leads  bool // the scheduler of its process is the leader
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
			Text:  fmt.Sprintf("The worker %.60q is gone: it has stopped, or it sent no heartbeat for 12 minutes. Other workers run its jobs.", name),
			Links: []render.Lead{{Text: "All workers", Path: "workers"}},
		}
	}
	m := &Worker{Worker: standing.Workers[i], Note: standing.Notes[overview.Running]}
	m.State, m.Leads = workerState(&m.Worker, standing.Now()), leads(&m.Worker, standing.Leader)
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

// workerState returns the state of a worker.
func workerState(w *overview.Worker, now time.Time) plain.State {
	switch silent := now.Sub(w.Seen); {
	case !w.Seen.IsZero() && silent > silentAfter:
		return plain.State{Symbol: plain.Warning, Word: "late", Sentence: "Its last heartbeat is overdue: its process may be gone, or it cannot reach Redis."}
	case !w.Counted:
		return plain.State{Symbol: plain.Going, Word: "live", Sentence: "It is live; more jobs run than are counted here."}
	case w.Busy == 0:
		return plain.State{Symbol: plain.Idle, Word: "idle", Sentence: "It waits for jobs."}
	case w.Busy >= w.Slots:
		return plain.State{Symbol: plain.Warning, Word: "full", Sentence: "All its slots are busy: it takes the next job when one of them ends."}
	}
	return plain.State{Symbol: plain.Going, Word: "running", Sentence: "It runs jobs and has free slots."}
}
