package chime

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// A fakeJobStore is a Store in memory that treats jobs as the real one does: sessions with numbers, fences, sleeping workers, parked
// names, crashes. It checks every call against the protocol of WorkCall and fails the test if one breaks it.
type fakeJobStore struct {
	protocol.Store // methods without a fake panic
	t              testing.TB

	mu         sync.Mutex
	partitions map[protocol.Partition]*fakePartition
	sizes      map[string]int // partitions of a queue; 1 unless set
	listeners  map[string]*fakeJobListener
	fence      int64
	settled    []protocol.Settlement // in the order in which they were accepted
	refused    int                   // settlements of jobs not held
	calls      map[string]int
	seen       map[string]*fakeProtocol // by session
	workCalls  []protocol.WorkCall      // all, if keepCalls is set
	keepCalls  bool

	latency time.Duration // of a round trip of Work, before the calls are carried out
	lag     time.Duration // and after
	// fault, if set, returns for each call an error before it is carried out, or one in place of its answer.
	fault          func(act string, p protocol.Partition) (before, after error)
	checkup        error // what Check returns
	noSubscription bool  // subscriptions are not confirmed
}

// Lease: there is always a leader, so that a worker does nothing in its place.
func (s *fakeJobStore) Lease(context.Context) (string, error) { return time.Now().String(), nil }

func (s *fakeJobStore) Announce(context.Context, string, []protocol.Handled) error { return nil }

func (s *fakeJobStore) AnnounceWorker(context.Context, protocol.WorkerEntry) error { return nil }

func (s *fakeJobStore) RetireWorker(context.Context, string) error { return nil }

func (s *fakeJobStore) Unhandled(context.Context, []protocol.Handled) ([]protocol.Handled, error) {
	return nil, nil
}

// A fakePartition is what the scripts keep of one partition.
type fakePartition struct {
	ready    []string
	due      map[string]time.Time
	jobs     map[string][]byte
	crashes  map[string]int
	sessions map[string]*fakeSession
	idle     []string
	parked   map[string][]string
	dead     map[string][]byte
	paused   bool
	owedNext map[string]protocol.Owed // occurrence ID -> the schedule that is owed when it is taken
	placed   []protocol.Placement
}

type fakeSession struct {
	number   int64
	lapse    time.Time
	inflight map[string]*fakeHeld
	answer   []protocol.TakenJob
}

type fakeHeld struct {
	fence int64
	ahead bool
}

// A fakeProtocol is what the client may do next in a session.
type fakeProtocol struct {
	underWay   bool
	unanswered *protocol.WorkCall
	next       int64
	lost       bool
}

var errFake = errors.New("fake: connection reset")

func newFakeJobStore(t testing.TB) *fakeJobStore {
	return &fakeJobStore{
		t:          t,
		partitions: make(map[protocol.Partition]*fakePartition),
		sizes:      make(map[string]int),
		listeners:  make(map[string]*fakeJobListener),
		calls:      make(map[string]int),
		seen:       make(map[string]*fakeProtocol),
	}
}

func (s *fakeJobStore) part(p protocol.Partition) *fakePartition {
	part := s.partitions[p]
	if part == nil {
		part = &fakePartition{
			due:      make(map[string]time.Time),
			jobs:     make(map[string][]byte),
			crashes:  make(map[string]int),
			sessions: make(map[string]*fakeSession),
			parked:   make(map[string][]string),
			dead:     make(map[string][]byte),
			owedNext: make(map[string]protocol.Owed),
		}
		s.partitions[p] = part
	}
	return part
}

func (s *fakeJobStore) enter(act string, p protocol.Partition) (after, before error) {
	s.mu.Lock()
	s.calls[act]++
	fault := s.fault
	s.mu.Unlock()
	if fault != nil {
		before, after = fault(act, p)
	}
	return after, before
}

func (s *fakeJobStore) CheckUse(context.Context, protocol.Use, []string) error { return nil }

func (s *fakeJobStore) Check(context.Context) error {
	_, before := s.enter("check", protocol.Partition{})
	return errors.Join(before, s.checkup)
}

func (s *fakeJobStore) Partitions(_ context.Context, queue string) (int, error) {
	_, before := s.enter("partitions", protocol.Partition{})
	return max(1, s.sizes[queue]), before
}

// add enqueues jobs that are ready at once and wakes a sleeping worker for each, as enqueue.lua does.
func (s *fakeJobStore) add(queue string, e wire.Envelope, ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		p := protocol.Partition{Queue: queue}
		if n := s.sizes[queue]; n > 1 {
			p.Index = int(id[len(id)-1]) % n
		}
		part := s.part(p)
		part.jobs[id] = e.Encode()
		part.ready = append(part.ready, id)
		s.wake(part)
	}
}

// addAt makes a job due at an instant and notifies the first two sleeping workers.
func (s *fakeJobStore) addAt(queue string, at time.Time, e wire.Envelope, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	part := s.part(protocol.Partition{Queue: queue})
	part.jobs[id] = e.Encode()
	s.delay(part, id, at)
}

func (s *fakeJobStore) delay(part *fakePartition, id string, at time.Time) {
	head, ok := part.head()
	part.due[id] = at
	if !ok || at.Before(head) {
		for _, name := range part.idle[:min(2, len(part.idle))] {
			s.send(name, protocol.Signal{Alarm: at})
		}
	}
}

func (part *fakePartition) head() (first time.Time, ok bool) {
	for _, at := range part.due {
		if !ok || at.Before(first) {
			first, ok = at, true
		}
	}
	return first, ok
}

// wake wakes the worker that has slept longest.
func (s *fakeJobStore) wake(part *fakePartition) {
	if len(part.idle) == 0 {
		return
	}
	name := part.idle[0]
	part.idle = part.idle[1:]
	s.send(name, protocol.Signal{Wake: true})
}

func (s *fakeJobStore) send(name string, signal protocol.Signal) {
	if listener := s.listeners[name]; listener != nil {
		select {
		case listener.signals <- signal:
		default:
		}
	}
}

// forgetVanished removes sleeping workers that have ended and whose last call failed. The real store passes over a registration that
// is not renewed.
func (s *fakeJobStore) forgetVanished() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, part := range s.partitions {
		part.idle = slices.DeleteFunc(part.idle, func(name string) bool { return s.listeners[name] == nil })
	}
}

func (part *fakePartition) sleep(name string, asleep bool) {
	i := slices.Index(part.idle, name)
	if asleep && i < 0 {
		part.idle = append(part.idle, name)
	}
	if !asleep && i >= 0 {
		part.idle = slices.Delete(part.idle, i, i+1)
	}
}

func (s *fakeJobStore) Poll(_ context.Context, calls []protocol.PollCall) []protocol.PollAnswer {
	answers := make([]protocol.PollAnswer, len(calls))
	for i, c := range calls {
		after, before := s.enter("poll", c.Partition)
		if err := errors.Join(before, after); err != nil {
			answers[i].Err = err
			continue
		}
		s.mu.Lock()
		part := s.part(c.Partition)
		if c.Sleep {
			part.sleep(c.Worker, true)
		}
		answers[i].Now = time.Now()
		if c.Sleep {
			answers[i].Since = time.Now()
		}
		part.waitHint(&answers[i].WaitHint, c.Worker, time.Now(), true)
		s.mu.Unlock()
	}
	return answers
}

func (s *fakeJobStore) Leave(_ context.Context, calls []protocol.LeaveCall) error {
	after, before := s.enter("leave", calls[0].Partition)
	if before != nil {
		return before
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range calls {
		part := s.part(c.Partition)
		part.sleep(c.Worker, false)
		if c.Pass {
			s.wake(part)
		}
	}
	return after
}

func (s *fakeJobStore) CloseSession(_ context.Context, p protocol.Partition, name string, _ *protocol.Measured) error {
	_, before := s.enter("close", p)
	if before != nil {
		return before
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[name].underWay {
		s.t.Errorf("session %s: closed while a call is under way", name)
	}
	if session := s.part(p).sessions[name]; session != nil && len(session.inflight) == 0 {
		delete(s.part(p).sessions, name)
	}
	return nil
}

func (s *fakeJobStore) Lapsed(_ context.Context, p protocol.Partition) ([]protocol.LapsedSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var h protocol.WaitHint
	s.part(p).waitHint(&h, "", time.Now(), false)
	return h.Lapsed, nil
}

func (s *fakeJobStore) Reap(_ context.Context, calls []protocol.ReapCall) []protocol.ReapAnswer {
	answers := make([]protocol.ReapAnswer, len(calls))
	for i, c := range calls {
		answers[i] = s.reapOne(c)
	}
	return answers
}

func (s *fakeJobStore) reapOne(c protocol.ReapCall) protocol.ReapAnswer {
	after, before := s.enter("reap", c.Partition)
	if before != nil {
		return protocol.ReapAnswer{Err: before}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	part := s.part(c.Partition)
	session := part.sessions[c.Session]
	if session != nil && session.lapse.Equal(c.Seen) && !session.lapse.After(time.Now()) {
		s.reap(part, c.Session)
	}
	return protocol.ReapAnswer{Done: true, Err: after}
}

func (s *fakeJobStore) Sweep(_ context.Context, partitions []protocol.Partition, _ time.Duration) []protocol.SweepAnswer {
	return make([]protocol.SweepAnswer, len(partitions))
}

// reap returns a session's jobs, also if it has not lapsed.
func (s *fakeJobStore) reap(part *fakePartition, name string) {
	for id, held := range part.sessions[name].inflight {
		if !held.ahead {
			part.crashes[id]++
		}
		part.ready = slices.Insert(part.ready, 0, id)
	}
	delete(part.sessions, name)
	s.wake(part)
}

// reapAll reaps every session at once, as after a very long silence.
func (s *fakeJobStore) reapAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, part := range s.partitions {
		for name := range part.sessions {
			s.reap(part, name)
		}
	}
}

func (s *fakeJobStore) Listen(name string) protocol.Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	listener := &fakeJobListener{store: s, name: name, signals: make(chan protocol.Signal, 16)}
	s.listeners[name] = listener
	if !s.noSubscription {
		listener.signals <- protocol.Signal{Connected: true}
	}
	return listener
}

type fakeJobListener struct {
	store   *fakeJobStore
	name    string
	signals chan protocol.Signal
}

func (l *fakeJobListener) Signals() <-chan protocol.Signal { return l.signals }

func (l *fakeJobListener) Extend(_ context.Context, calls []protocol.ExtendCall) []protocol.ExtendAnswer {
	s := l.store
	answers := make([]protocol.ExtendAnswer, len(calls))
	for i, c := range calls {
		after, before := s.enter("extend", c.Partition)
		if err := errors.Join(before, after); err != nil {
			answers[i].Err = err
			continue
		}
		s.mu.Lock()
		if session := s.part(c.Partition).sessions[c.Session]; session != nil {
			session.lapse = time.Now().Add(c.TTL)
		} else {
			answers[i].Err = ErrSessionLost
		}
		s.mu.Unlock()
	}
	return answers
}

func (l *fakeJobListener) Close() error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	delete(l.store.listeners, l.name)
	return nil
}

// checkEmpty fails the test if anything is left in flight, in a session, or asleep.
func (s *fakeJobStore) checkEmpty() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, part := range s.partitions {
		if len(part.sessions) > 0 || len(part.idle) > 0 {
			s.t.Errorf("%v: %d sessions and %d sleeping workers are left, want none", p, len(part.sessions), len(part.idle))
		}
	}
}

// kinds counts the settlements accepted so far.
func (s *fakeJobStore) kinds() map[protocol.SettleKind]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds := make(map[protocol.SettleKind]int)
	for _, x := range s.settled {
		kinds[x.Kind]++
	}
	return kinds
}

func (s *fakeJobStore) count(act string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[act]
}

func (s *fakeJobStore) Server() string { return "a store in memory" }

func (s *fakeJobStore) Node(protocol.Partition) string { return "" }
