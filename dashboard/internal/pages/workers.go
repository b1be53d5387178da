package pages

import (
	"cmp"
	"context"
	"slices"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
)

// Workers is the list of the live workers.
type Workers struct {
	Workers     []WorkerRow // fewest free slots first
	Slots, Busy int         // of all workers
	Counted     bool        // Busy is known
	AtMost      bool        // Busy is the most that may be busy
	Versions    bool        // the workers have different versions
	Note        string      // why the list is incomplete; empty: it is complete

	Running     []RunningRow // the longest running jobs
	Held        int64        // number of running and taken jobs
	RunningNote string       // why Running may not have the longest ones; empty: it has
}

const maxLongest = 10 // number of jobs below the list of workers

// A WorkerRow is a row of the list of workers.
type WorkerRow struct {
	overview.Worker
	State   plain.State
	Leads   bool           // the scheduler of its process leads
	Silent  bool           // its last heartbeat is overdue
	Longest *chime.JobInfo // its longest running job; nil: none, or not known
}

// A RunningRow is a running job with its worker.
type RunningRow struct {
	*chime.JobInfo
	Address string // address of the worker; empty: not known
}

// Workers reads the list of workers.
func (s *Site) Workers(ctx context.Context, _ *Request) (View, error) {
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	m := &Workers{Note: standing.Notes[overview.Workers], Counted: true}
	for _, w := range standing.Workers {
		row := WorkerRow{Worker: w, State: workerState(&w, standing.Now())}
		row.Leads, row.Silent = leads(&w, standing.Leader), silent(&w, standing.Now())
		for _, job := range w.Running {
			if row.Longest == nil || older(job.Started, row.Longest.Started) < 0 {
				row.Longest = job
			}
		}
		m.Workers = append(m.Workers, row)
		m.Versions = m.Versions || w.Version != standing.Workers[0].Version
		m.Slots, m.Busy, m.Counted, m.AtMost = m.Slots+w.Slots, m.Busy+w.Busy, m.Counted && w.Counted, m.AtMost || w.SharesSlots()
	}
	slices.SortFunc(m.Workers, func(a, b WorkerRow) int {
		return cmp.Or(cmp.Compare(a.Slots-a.Busy, b.Slots-b.Busy), cmp.Compare(a.Address(), b.Address()), cmp.Compare(a.Name, b.Name))
	})
	m.Held, m.RunningNote = standing.Held, standing.Notes[overview.Running]
	for _, job := range standing.Running[:min(len(standing.Running), maxLongest)] {
		row := RunningRow{JobInfo: job}
		if i := slices.IndexFunc(standing.Workers, func(w overview.Worker) bool { return w.Name == job.Worker }); i >= 0 {
			row.Address = standing.Workers[i].Address()
		}
		m.Running = append(m.Running, row)
	}
	return View{"Workers", m}, nil
}

// leads reports whether the leading scheduler runs in the worker's process.
func leads(w *overview.Worker, leader *chime.Leader) bool {
	return leader != nil && leader.PID != 0 && leader.Host == w.Host && leader.PID == w.PID
}

// Share returns the busy share of the slots, in percent.
func (w *Workers) Share() int {
	if w.Slots == 0 {
		return 0
	}
	return 100 * w.Busy / w.Slots
}

// Empty is shown if there is no live worker.
func (*Workers) Empty() render.Empty {
	return render.Empty{
		Text: "There are no workers: nothing runs until a program starts one.",
		Line: "err := chime.Run(ctx, chime.NewWorker(store, chime.WorkerOptions{}))",
	}
}
