package chime

import (
	"context"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A fakeNodeStore is a fakeJobStore in which every queue lives on a node of its own, of the queue's name. A call that a node does not
// answer fails after the time that the client waits; until then the calls of other nodes in the same round trip have no answer
// either, as in a pipeline.
type fakeNodeStore struct {
	*fakeJobStore

	nodesMu sync.Mutex
	down    map[string]time.Duration // node -> how long a call to it takes until it fails
}

func (s *fakeNodeStore) Node(p protocol.Partition) string { return p.Queue }

// fails sets how long calls to a node take until they fail; answers ends that.
func (s *fakeNodeStore) fails(node string, after time.Duration) {
	s.nodesMu.Lock()
	defer s.nodesMu.Unlock()
	s.down = map[string]time.Duration{node: after}
}

func (s *fakeNodeStore) answers() {
	s.nodesMu.Lock()
	defer s.nodesMu.Unlock()
	s.down = nil
}

func (s *fakeNodeStore) isDown(p protocol.Partition) (wait time.Duration, down bool) {
	s.nodesMu.Lock()
	defer s.nodesMu.Unlock()
	wait, down = s.down[p.Queue]
	return wait, down
}

// onNodes makes calls of one round trip: those of a node that is down fail, and take the longest of the waits together.
func onNodes[Call, Answer any](s *fakeNodeStore, calls []Call, of func(*Call) protocol.Partition, failed Answer, answer func([]Call) []Answer) []Answer {
	answers := make([]Answer, len(calls))
	var longest time.Duration
	for i := range calls {
		if wait, down := s.isDown(of(&calls[i])); down {
			answers[i] = failed
			longest = max(longest, wait)
			continue
		}
		answers[i] = answer(calls[i : i+1])[0]
	}
	time.Sleep(longest) // fake time
	return answers
}

func (s *fakeNodeStore) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	return onNodes(s, calls, func(c *protocol.WorkCall) protocol.Partition { return c.Partition }, protocol.WorkAnswer{Err: errFake},
		func(c []protocol.WorkCall) []protocol.WorkAnswer { return s.fakeJobStore.Work(ctx, c) })
}

func (s *fakeNodeStore) Poll(ctx context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	return onNodes(s, calls, func(c *protocol.PollCall) protocol.Partition { return c.Partition }, protocol.PollAnswer{Err: errFake},
		func(c []protocol.PollCall) []protocol.PollAnswer { return s.fakeJobStore.Poll(ctx, c) })
}

func (s *fakeNodeStore) Leave(ctx context.Context, calls []protocol.LeaveCall) (err error) {
	for i := range calls {
		if wait, down := s.isDown(calls[i].Partition); down {
			time.Sleep(wait) // fake time
			err = errFake
			continue
		}
		if failed := s.fakeJobStore.Leave(ctx, calls[i:i+1]); failed != nil {
			err = failed
		}
	}
	return err
}

func (s *fakeNodeStore) CloseSession(ctx context.Context, p protocol.Partition, name string, measured *protocol.Measured) error {
	if wait, down := s.isDown(p); down {
		time.Sleep(wait) // fake time
		return errFake
	}
	return s.fakeJobStore.CloseSession(ctx, p, name, measured)
}

func (s *fakeNodeStore) Listen(name string) protocol.Listener {
	return &fakeNodeListener{Listener: s.fakeJobStore.Listen(name), store: s}
}

// A fakeNodeListener extends sessions through the store's nodes.
type fakeNodeListener struct {
	protocol.Listener
	store *fakeNodeStore
}

func (l *fakeNodeListener) Extend(ctx context.Context, calls []protocol.ExtendCall) []protocol.ExtendAnswer {
	return onNodes(l.store, calls, func(c *protocol.ExtendCall) protocol.Partition { return c.Partition }, protocol.ExtendAnswer{Err: errFake},
		func(c []protocol.ExtendCall) []protocol.ExtendAnswer { return l.Listener.Extend(ctx, c) })
}
