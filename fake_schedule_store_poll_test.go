package chime

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func (s *fakeScheduleStore) Poll(ctx context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	after, before := s.enter(ctx, "poll")
	defer s.mu.Unlock()
	answers := make([]protocol.PollAnswer, len(calls))
	for i := range answers {
		answers[i] = protocol.PollAnswer{Err: errors.Join(before, after), Now: s.now(), WaitHint: protocol.WaitHint{Lapsed: s.lapsed}}
	}
	return answers
}

func (s *fakeScheduleStore) Unhandled(ctx context.Context, asked []protocol.Handled) ([]protocol.Handled, error) {
	after, before := s.enter(ctx, "unhandled")
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(asked), func(h protocol.Handled) bool { return !slices.Contains(s.absent, h.Name) }), errors.Join(before, after)
}

func (s *fakeScheduleStore) Reap(ctx context.Context, calls []protocol.ReapCall) []protocol.ReapAnswer {
	answers := make([]protocol.ReapAnswer, len(calls))
	for i, call := range calls {
		after, before := s.enter(ctx, "reap "+call.Session)
		s.mu.Unlock()
		answers[i] = protocol.ReapAnswer{Done: true, Err: errors.Join(before, after)}
	}
	return answers
}

func (s *fakeScheduleStore) Sweep(ctx context.Context, partitions []protocol.Partition, _ time.Duration) []protocol.SweepAnswer {
	after, before := s.enter(ctx, "sweep")
	defer s.mu.Unlock()
	answers := make([]protocol.SweepAnswer, len(partitions))
	for i := range answers {
		s.swept++
		answers[i] = protocol.SweepAnswer{More: true, Err: errors.Join(before, after)}
	}
	return answers
}

func (s *fakeScheduleStore) Listen(name string) protocol.Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	listener := &fakeScheduleListener{store: s, name: name, signals: make(chan protocol.Signal, 8)}
	listener.send(protocol.Signal{Connected: true})
	s.listeners[name] = listener
	return listener
}

type fakeScheduleListener struct {
	store   *fakeScheduleStore
	name    string
	signals chan protocol.Signal
}

func (l *fakeScheduleListener) send(signal protocol.Signal) {
	select {
	case l.signals <- signal:
	default:
	}
}

func (l *fakeScheduleListener) Signals() <-chan protocol.Signal { return l.signals }

func (l *fakeScheduleListener) Extend(_ context.Context, calls []protocol.ExtendCall) []protocol.ExtendAnswer {
	return nil
}

func (l *fakeScheduleListener) Close() error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	delete(l.store.listeners, l.name)
	return nil
}

// work takes what is due, at its instant, and places what follows as a worker does, until ctx ends.
func (s *fakeScheduleStore) work(ctx context.Context) {
	for {
		next, some := s.takeDue()
		wait := time.Second
		if some {
			wait = min(wait, max(time.Until(next), 0))
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (s *fakeScheduleStore) takeDue() (next time.Time, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, f := range s.schedules {
		for _, at := range slices.Clone(f.due) {
			if at.After(s.now()) {
				continue
			}
			p, err := s.plans.Of(name, f.text())
			if err != nil {
				continue
			}
			f.due = slices.DeleteFunc(f.due, at.Equal)
			if f.cursor.Placed && f.cursor.At.Equal(at) && f.state == "live" {
				f.owed = s.now()
				if !s.noPlace {
					placement := p.Next(s.owe(name))
					s.place(&placement)
				}
			}
			id := name + "@" + at.UTC().Format(time.RFC3339)
			if p.Runs(at, s.now()) {
				s.ran[id]++
				f.stored.Started++
				continue
			}
			s.missed[id]++
			f.stored.Missed++
			if f.cursor.Used--; f.state == "completed" {
				f.state, f.owed = "live", s.now()
			}
		}
	}
	for _, f := range s.schedules { // with the instants that this round has placed
		for _, at := range f.due {
			if !some || at.Before(next) {
				next, some = at, true
			}
		}
	}
	return next, some
}
