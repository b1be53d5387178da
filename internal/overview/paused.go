package overview

import (
	"context"
	"errors"
	"slices"

	"github.com/chimejobs/chime"
)

const maxPaused = 20 // maximum number of kept paused schedules; each costs a command

// Keep makes polls show a schedule after the next ones while it is paused, so that the person who paused it can resume it there.
func (p *Poller) Keep(schedule string) {
	p.keeping.Lock()
	defer p.keeping.Unlock()
	p.kept = slices.DeleteFunc(p.kept, func(name string) bool { return name == schedule })
	p.kept = append(p.kept, schedule)
	p.kept = p.kept[max(0, len(p.kept)-maxPaused):]
}

// readNext reads the next schedules and the kept paused ones.
func (p *Poller) readNext(ctx context.Context, s *Snapshot, queues []*chime.QueueInfo) (err error) {
	p.keeping.Lock()
	kept := slices.Clone(p.kept)
	p.keeping.Unlock()
	if s.Next, err = Soonest(ctx, p.store, queues, maxNext); err != nil {
		return err
	}
	for _, name := range kept {
		schedule, err := p.schedules.Get(ctx, name)
		switch {
		case err != nil && !errors.Is(err, chime.ErrNotFound):
			return err
		case err != nil || schedule.State != chime.StatePaused:
			p.letGo(name)
			continue
		}
		s.Next = slices.DeleteFunc(s.Next, func(next *chime.Schedule) bool { return next.Name == name })
		s.Next = append(s.Next, schedule)
	}
	return nil
}

// letGo removes a schedule from the kept ones.
func (p *Poller) letGo(schedule string) {
	p.keeping.Lock()
	defer p.keeping.Unlock()
	p.kept = slices.DeleteFunc(p.kept, func(name string) bool { return name == schedule })
}
