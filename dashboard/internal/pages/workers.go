package pages

import (
	"context"
	"slices"

	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/overview"
)

// Workers is the list of the workers that live.
type Workers struct {
	Workers     []overview.Worker // those with the least free slots first
	Slots, Busy int               // of all; Busy only of those whose slots are counted
	Note        string            // why the list does not say all; empty: it does
}

// Workers reads the list of workers.
func (s *Site) Workers(ctx context.Context, _ *Request) (View, error) {
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	m := &Workers{Workers: slices.Clone(standing.Workers), Note: standing.Notes[overview.Workers]}
	for _, w := range m.Workers {
		m.Slots, m.Busy = m.Slots+w.Slots, m.Busy+w.Busy
	}
	return View{"Workers", m}, nil
}

// Empty stands where no worker lives.
func (*Workers) Empty() render.Empty {
	return render.Empty{
		Text: "There is no worker: nothing runs until a program starts one.",
		Line: "err := chime.Run(ctx, chime.NewWorker(store, chime.WorkerOptions{}))",
	}
}
