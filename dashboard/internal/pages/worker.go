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
	announces   = 4 * time.Minute            // so often a worker announces itself
	silentAfter = announces + 30*time.Second // its last sign of life a worker is late
)

// Worker is the page of a worker.
type Worker struct {
	overview.Worker
	State  plain.State
	Leads  bool // the scheduler of its process leads
	Queues []Served
	Jobs   []*chime.JobInfo // that it runs, those first that have run longest
	Note   string           // why these are not all; empty: they are
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
			Text:  fmt.Sprintf("The worker %.60q has gone: it has stopped, or nothing was heard of it for 12 minutes. What it ran runs elsewhere.", name),
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

// workerState says how a worker is.
func workerState(w *overview.Worker, now time.Time) plain.State {
	switch silent := now.Sub(w.Seen); {
	case !w.Seen.IsZero() && silent > silentAfter:
		return plain.State{Symbol: plain.Warning, Word: "late", Sentence: "It announces itself every four minutes, and has not: its process may be gone, or cannot reach Redis."}
	case !w.Counted:
		return plain.State{Symbol: plain.Going, Word: "live", Sentence: "It lives; more jobs run than are counted here."}
	case w.Busy == 0:
		return plain.State{Symbol: plain.Idle, Word: "idle", Sentence: "It waits for jobs."}
	case w.Busy >= w.Slots:
		return plain.State{Symbol: plain.Warning, Word: "full", Sentence: "All of its slots are busy: what comes waits for the end of a job."}
	}
	return plain.State{Symbol: plain.Going, Word: "running", Sentence: "It runs jobs, and has slots free."}
}
