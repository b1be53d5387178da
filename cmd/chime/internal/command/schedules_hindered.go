package command

import (
	"context"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/hindrance"
)

// hindrances are what keeps the jobs of a live schedule from running now, each with what ends it.
func (s *session) hindrances(ctx context.Context, of *chime.Schedule) (all []string, err error) {
	store, err := s.store()
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	found, err := hindrance.Of(ctx, store, of)
	for _, h := range found {
		all = append(all, h.Text+": "+remedy(h.Kind, of))
	}
	return all, err
}

// remedy is what ends a hindrance.
func remedy(kind hindrance.Kind, of *chime.Schedule) string {
	switch kind {
	case hindrance.Paused:
		return "chime queues resume " + of.Queue
	case hindrance.Parked:
		return "start one that has a handler for it"
	}
	return "start one"
}
