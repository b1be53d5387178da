// Package hookstore puts hooks around a store for tests: faults, delays, counters, and nodes that fail. It also checks that the roles follow the
// protocol for calls that may be repeated, and fails the test if they do not.
//
// It wraps a store on the embedded server, so a test with faults runs the scripts that a real server runs.
package hookstore

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

// ErrReset is an error for faults: the connection ended.
var ErrReset = errors.New("hookstore: connection reset")

// A Fault is called for each call before it is sent. For a call to several partitions it is called for each part. With a before error the part is
// not sent, and the error is its answer. With an after error the part is executed, and the error replaces its answer. The Fault may sleep, and then
// the round trip waits.
//
// action names the call: the method's name in lower case, with spaces between its words, and "close" for CloseSession. The partition is zero for a
// call without one. For a declaration only its queue is set.
type Fault func(action string, p protocol.Partition) (before, after error)

// A Store is a store with hooks. The fields are set before a role uses it; the methods are safe for concurrent use.
type Store struct {
	protocol.Store // which executes the calls
	t              testing.TB

	Latency     time.Duration // of a round trip of Work or Enqueue, before its calls are executed
	Lag         time.Duration // and afterwards
	Unconfirmed bool          // the confirmation of a subscription is never delivered
	// VisitWork, if set, gets each call of Work after the latency, before it is sent. It must not keep the call.
	VisitWork func(*protocol.WorkCall)
	// EnqueueFault, if set, is called for each call of Enqueue, in addition to the Fault.
	EnqueueFault func(*protocol.EnqueueCall) (before, after error)
	KeepWork     bool // for WorkCalls
	KeepEnqueue  bool // for EnqueueCalls

	mu         sync.Mutex
	fault      Fault
	counts     map[string]int
	roundTrips map[string]int
	nodes      nodes
	work       workLog
	enqueue    enqueueLog
}

// New puts hooks around a store. A violation of the protocol fails the test t.
func New(t testing.TB, store chime.Store) *Store {
	return &Store{
		Store: store.Protocol(), t: t,
		counts: make(map[string]int), roundTrips: make(map[string]int),
		work:    workLog{sessions: make(map[string]*session)},
		enqueue: enqueueLog{senders: make(map[sender]*sent)},
	}
}

// Protocol makes it a chime.Store.
func (s *Store) Protocol() protocol.Store { return s }

// SetFault sets the Fault for all following calls; nil: none.
func (s *Store) SetFault(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Count returns how often an action was called. Each part of a call to several partitions counts.
func (s *Store) Count(action string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[action]
}

// Counts returns the Count of every action that was called.
func (s *Store) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// RoundTrips returns how many round trips an action took.
func (s *Store) RoundTrips(action string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.roundTrips[action]
}

// tripped counts a round trip.
func (s *Store) tripped(action string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roundTrips[action]++
}

// enter counts a call or a part of one, and returns its faults and the delay of a node that is down.
func (s *Store) enter(action string, p protocol.Partition) (wait time.Duration, before, after error) {
	s.mu.Lock()
	s.counts[action]++
	fault := s.fault
	wait, down := s.nodes.wait(p)
	s.mu.Unlock()
	if down {
		return wait, ErrReset, nil
	}
	if fault != nil {
		before, after = fault(action, p)
	}
	return 0, before, after
}

// one makes a call with one answer for any number of partitions.
func one[A any](s *Store, action string, send func() (A, error), partitions ...protocol.Partition) (answer A, err error) {
	s.tripped(action)
	if len(partitions) == 0 {
		partitions = make([]protocol.Partition, 1)
	}
	var before, after error
	var longest time.Duration
	for _, p := range partitions {
		wait, b, a := s.enter(action, p)
		before, after, longest = cmp.Or(before, b), cmp.Or(after, a), max(longest, wait)
	}
	delay(longest)
	if before != nil {
		return answer, before
	}
	if answered, err := send(); after == nil {
		return answered, err
	}
	return answer, after
}

// only is like one, for a call that returns only an error.
func only(s *Store, action string, send func() error, partitions ...protocol.Partition) error {
	_, err := one(s, action, func() (struct{}, error) { return struct{}{}, send() }, partitions...)
	return err
}

// batch makes a call with one answer for each of its parts.
func batch[Part, A any](s *Store, action string, parts []Part, of func(*Part) protocol.Partition, failed func(error) A, send func([]Part) []A) []A {
	s.tripped(action)
	answers := make([]A, len(parts))
	afters := make([]error, len(parts))
	var sent []Part
	var at []int // the indices of their answers
	var longest time.Duration
	for i := range parts {
		wait, before, after := s.enter(action, of(&parts[i]))
		longest = max(longest, wait)
		if before != nil {
			answers[i] = failed(before)
			continue
		}
		sent, at, afters[i] = append(sent, parts[i]), append(at, i), after
	}
	if len(sent) > 0 {
		for i, answer := range send(sent) {
			if answers[at[i]] = answer; afters[at[i]] != nil {
				answers[at[i]] = failed(afters[at[i]])
			}
		}
	}
	delay(longest)
	return answers
}

// delay lets time pass.
func delay(d time.Duration) {
	if d > 0 {
		time.Sleep(d) // in a bubble, where this is fake time
	}
}

// itself returns the partition of a part that is a partition.
func itself(p *protocol.Partition) protocol.Partition { return *p }

// Check calls Fault with "check".
func (s *Store) Check(ctx context.Context) error {
	return only(s, "check", func() error { return s.Store.Check(ctx) })
}

// CheckUse calls Fault with "check use".
func (s *Store) CheckUse(ctx context.Context, use protocol.Use, queues []string) error {
	return only(s, "check use", func() error { return s.Store.CheckUse(ctx, use, queues) })
}
