package hookstore

import (
	"context"
	"sync"

	"github.com/chimejobs/chime/internal/protocol"
)

// Listen opens a listener whose Extend can fail.
func (s *Store) Listen(name string) protocol.Listener {
	inner := s.Store.Listen(name)
	l := &listener{Listener: inner, store: s, signals: inner.Signals()}
	if s.Unconfirmed {
		l.filter()
	}
	return l
}

type listener struct {
	protocol.Listener
	store   *Store
	signals <-chan protocol.Signal

	ended     chan struct{} // set by filter
	filtering sync.WaitGroup
	once      sync.Once
}

// filter hides from the role that the subscription was confirmed.
func (l *listener) filter() {
	others := make(chan protocol.Signal)
	l.signals, l.ended = others, make(chan struct{})
	l.filtering.Go(func() {
		for {
			select {
			case <-l.ended:
				return
			case signal := <-l.Listener.Signals():
				if signal.Connected {
					continue
				}
				select {
				case others <- signal:
				case <-l.ended:
					return
				}
			}
		}
	})
}

func (l *listener) Signals() <-chan protocol.Signal { return l.signals }

func (l *listener) Extend(ctx context.Context, calls []protocol.ExtendCall) []protocol.ExtendAnswer {
	return batch(l.store, "extend", calls,
		func(c *protocol.ExtendCall) protocol.Partition { return c.Partition },
		func(err error) protocol.ExtendAnswer { return protocol.ExtendAnswer{Err: err} },
		func(sent []protocol.ExtendCall) []protocol.ExtendAnswer { return l.Listener.Extend(ctx, sent) })
}

func (l *listener) Close() error {
	if l.ended != nil {
		l.once.Do(func() { close(l.ended) })
		l.filtering.Wait()
	}
	return l.Listener.Close()
}
