// Package hookstore puts hooks around a store for tests: faults, delays, counts, and nodes that fail. It also checks that the roles keep to
// the protocol of the calls that they may send again, and fails the test where one does not.
//
// What it wraps is a store on the embedded server, so that a test with faults runs the scripts that a real server runs.
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

// ErrReset is an error for faults: that of a connection which ended.
var ErrReset = errors.New("hookstore: connection reset")

// A Fault is asked about each call before it is sent; of a call for several partitions about the part of each. With before the part is
// not sent, and the error is its answer. With after it is carried out, and the error takes the place of its answer. It may sleep: the round trip
// waits.
//
// act is what the call does: a method's name in lower case, with spaces between its words, and "close" for CloseSession. The partition of a
// call that is not about one is zero; of a declaration only its queue is known.
type Fault func(act string, p protocol.Partition) (before, after error)

// A Store is a store with hooks. The fields are set before a role uses it; the methods are safe for concurrent use.
type Store struct {
	protocol.Store // that carries the calls out
	t              testing.TB

	Latency     time.Duration // of a round trip of Work or Enqueue, before its calls are carried out
	Lag         time.Duration // and after
	Unconfirmed bool          // that a subscription is confirmed is never delivered
	// VisitWork, if set, gets each call of Work after the latency, before it is sent. It must not keep the call.
	VisitWork func(*protocol.WorkCall)
	// EnqueueFault, if set, is asked about each call of Enqueue, as well as the Fault.
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

// New puts hooks around a store. What breaks the protocol fails the test t.
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

// SetFault sets what is asked about each call from now on; nil: nothing is.
func (s *Store) SetFault(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Count is how often an act was called: the parts of a call for several partitions count one by one.
func (s *Store) Count(act string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[act]
}

// Counts returns Count of every act that was called.
func (s *Store) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// RoundTrips is how many round trips an act has taken.
func (s *Store) RoundTrips(act string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.roundTrips[act]
}

// tripped counts a round trip.
func (s *Store) tripped(act string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roundTrips[act]++
}

// enter counts a call, or a part of one, and returns its faults, and how long a node that is down lets it wait.
func (s *Store) enter(act string, p protocol.Partition) (wait time.Duration, before, after error) {
	s.mu.Lock()
	s.counts[act]++
	fault := s.fault
	wait, down := s.nodes.wait(p)
	s.mu.Unlock()
	if down {
		return wait, ErrReset, nil
	}
	if fault != nil {
		before, after = fault(act, p)
	}
	return 0, before, after
}

// one makes a call that has one answer; for no partition, one, or several.
func one[A any](s *Store, act string, send func() (A, error), partitions ...protocol.Partition) (answer A, err error) {
	s.tripped(act)
	if len(partitions) == 0 {
		partitions = make([]protocol.Partition, 1)
	}
	var before, after error
	var longest time.Duration
	for _, p := range partitions {
		wait, b, a := s.enter(act, p)
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

// only is one for a call that answers with an error only.
func only(s *Store, act string, send func() error, partitions ...protocol.Partition) error {
	_, err := one(s, act, func() (struct{}, error) { return struct{}{}, send() }, partitions...)
	return err
}

// batch makes a call that has an answer for each of its parts.
func batch[Part, A any](s *Store, act string, parts []Part, of func(*Part) protocol.Partition, failed func(error) A, send func([]Part) []A) []A {
	s.tripped(act)
	answers := make([]A, len(parts))
	afters := make([]error, len(parts))
	var sent []Part
	var at []int // where their answers belong
	var longest time.Duration
	for i := range parts {
		wait, before, after := s.enter(act, of(&parts[i]))
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

// itself is the partition that a part is.
func itself(p *protocol.Partition) protocol.Partition { return *p }

// Check asks Fault about "check".
func (s *Store) Check(ctx context.Context) error {
	return only(s, "check", func() error { return s.Store.Check(ctx) })
}

// CheckUse asks Fault about "check use".
func (s *Store) CheckUse(ctx context.Context, use protocol.Use, queues []string) error {
	return only(s, "check use", func() error { return s.Store.CheckUse(ctx, use, queues) })
}
