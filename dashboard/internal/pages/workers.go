package pages

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
)

// Workers is the list of the workers that live.
type Workers struct {
	Workers     []WorkerRow // those with the least free slots first
	Slots, Busy int         // of all
	Counted     bool        // Busy is known
	Note        string      // why the list does not say all; empty: it does
}

// A WorkerRow is a worker in a list.
type WorkerRow struct {
	overview.Worker
	State   plain.State
	Longest time.Time // since when the job runs that it has run longest; zero: it runs none, or it is not known
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
		for _, job := range w.Running {
			if older(job.Started, row.Longest) < 0 {
				row.Longest = job.Started
			}
		}
		m.Workers = append(m.Workers, row)
		m.Slots, m.Busy, m.Counted = m.Slots+w.Slots, m.Busy+w.Busy, m.Counted && w.Counted
	}
	slices.SortFunc(m.Workers, func(a, b WorkerRow) int {
		return cmp.Or(cmp.Compare(a.Slots-a.Busy, b.Slots-b.Busy), cmp.Compare(a.Address(), b.Address()), cmp.Compare(a.Name, b.Name))
	})
	return View{"Workers", m}, nil
}

// Empty stands where no worker lives.
func (*Workers) Empty() render.Empty {
	return render.Empty{
		Text: "There is no worker: nothing runs until a program starts one.",
		Line: "err := chime.Run(ctx, chime.NewWorker(store, chime.WorkerOptions{}))",
	}
}
