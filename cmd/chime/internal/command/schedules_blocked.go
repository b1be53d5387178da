package command

import (
	"context"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/blocked"
)

// blockers are the reasons that block the jobs of a live schedule, each with its remedy. The first one is shown with the state.
func (s *session) blockers(ctx context.Context, f *foundSchedule) (all []string, err error) {
	store, err := s.store()
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	found, err := blocked.Of(ctx, store, f.Schedule)
	for _, h := range found {
		all = append(all, h.Text+": "+remedy(h.Kind, f.Schedule))
	}
	if len(found) > 0 {
		f.waits = found[0].Kind
	}
	return all, err
}

// addHindrances adds the reasons that block the jobs of schedules.
func (s *session) addHindrances(ctx context.Context, found []*foundSchedule) error {
	if len(found) == 0 {
		return nil
	}
	store, err := s.store()
	if err != nil {
		return err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	board, err := blocked.Read(ctx, store)
	if err != nil {
		return err
	}
	for _, f := range found {
		if f.unread == nil {
			f.waits = board.Of(f.Schedule)
		}
	}
	return nil
}

// remedy returns what unblocks the jobs.
func remedy(kind blocked.Kind, of *chime.Schedule) string {
	switch kind {
	case blocked.Paused:
		return "chime queues resume " + of.Queue
	case blocked.Parked:
		return "start a worker that has a handler for it"
	}
	return "start one"
}
