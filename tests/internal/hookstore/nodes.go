package hookstore

import (
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// nodes are the nodes of a cluster in which every queue has its own node. The zero value is a server without nodes.
type nodes struct {
	apart bool
	down  map[string]time.Duration // node -> how long a call to it takes to fail
}

func (n *nodes) wait(p protocol.Partition) (wait time.Duration, down bool) {
	wait, down = n.down[p.Queue]
	return wait, down && p.Queue != ""
}

// QueuesAreNodes gives every queue its own node, with the queue's name.
func (s *Store) QueuesAreNodes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes.apart = true
}

// FailNode makes calls to a node fail from now on, after a delay. During the delay the other calls of the same round trip have no answer either, as
// in a pipeline.
func (s *Store) FailNode(node string, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes.down = map[string]time.Duration{node: after}
}

// RepairNodes makes all nodes work again.
func (s *Store) RepairNodes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes.down = nil
}

// Node returns the queue of the partition after QueuesAreNodes.
func (s *Store) Node(p protocol.Partition) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes.apart {
		return p.Queue
	}
	return s.Store.Node(p)
}
