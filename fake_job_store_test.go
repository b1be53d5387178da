package chime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
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

func (s *fakeJobStore) Announce(context.Context, []protocol.Handled) error { return nil }

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

func (s *fakeJobStore) Check(context.Context) error {
	_, before := s.enter("check", protocol.Partition{})
	return errors.Join(before, s.checkup)
}

func (s *fakeJobStore) Partitions(_ context.Context, queue string) (int, error) {
	_, before := s.enter("partitions", protocol.Partition{})
	return max(1, s.sizes[queue]), before
}

// add enqueues jobs for now and wakes a sleeping worker for each, as the real script does.
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

func (part *fakePartition) sleep(name string, asleep bool) {
	i := slices.Index(part.idle, name)
	if asleep && i < 0 {
		part.idle = append(part.idle, name)
	}
	if !asleep && i >= 0 {
		part.idle = slices.Delete(part.idle, i, i+1)
	}
}

func (s *fakeJobStore) Work(_ context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	answers := make([]protocol.WorkAnswer, len(calls))
	for i := range calls {
		s.checkCall(&calls[i])
	}
	s.mu.Lock()
	s.calls["round trip"]++
	s.mu.Unlock()
	if s.latency > 0 {
		time.Sleep(s.latency) // fake time in a bubble
	}
	for i := range calls {
		after, before := s.enter("work", calls[i].Partition)
		if before != nil {
			answers[i].Err = before
			continue
		}
		answers[i] = s.work(&calls[i])
		if after != nil {
			answers[i] = protocol.WorkAnswer{Err: after}
		}
	}
	if s.lag > 0 {
		time.Sleep(s.lag) // fake time too
	}
	for i := range calls {
		s.checkAnswer(&calls[i], &answers[i])
	}
	return answers
}

// checkCall checks a call against the protocol.
func (s *fakeJobStore) checkCall(c *protocol.WorkCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keepCalls {
		kept := *c
		kept.Settle = slices.Clone(c.Settle)
		s.workCalls = append(s.workCalls, kept)
	}
	p := s.seen[c.Session]
	if p == nil {
		p = &fakeProtocol{next: 1}
		s.seen[c.Session] = p
	}
	if p.underWay {
		s.t.Errorf("session %s: two numbered calls under way", c.Session)
	}
	if p.lost {
		s.t.Errorf("session %s: used again after it was lost", c.Session)
	}
	if p.unanswered != nil && !reflect.DeepEqual(p.unanswered, c) {
		s.t.Errorf("session %s: an unanswered call was not sent again unchanged:\ngot  %+v\nwant %+v", c.Session, *c, *p.unanswered)
	}
	if c.Number != p.next {
		s.t.Errorf("session %s: got call number %d, want %d", c.Session, c.Number, p.next)
	}
	bytes := 0
	for _, settlement := range c.Settle {
		bytes += len(settlement.Body)
	}
	if len(c.Settle) > 500 || c.Take > 500 || c.Ahead > c.Take || c.Ahead < 0 || bytes > 1<<20 && len(c.Settle) > 1 {
		s.t.Errorf("session %s: a call too large: %d settlements of %d bytes, take %d, ahead %d", c.Session, len(c.Settle), bytes, c.Take, c.Ahead)
	}
	if c.SleepOn && (c.Take > 0 || c.Sleep || len(c.Settle) == 0 || len(c.Place) > 0 || slices.ContainsFunc(c.Settle, func(settled protocol.Settlement) bool { return !settled.Finished() })) {
		s.t.Errorf("session %s: a call that sleeps on is %+v", c.Session, *c)
	}
	if c.TTL < time.Second || c.Session == "" || c.Worker == "" {
		s.t.Errorf("session %s: incomplete call %+v", c.Session, *c)
	}
	p.underWay = true
}

func (s *fakeJobStore) checkAnswer(c *protocol.WorkCall, a *protocol.WorkAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.seen[c.Session]
	p.underWay = false
	switch {
	case errors.Is(a.Err, ErrSessionLost):
		p.lost = true
	case a.Err != nil:
		copied := *c
		copied.Settle = slices.Clone(c.Settle)
		p.unanswered = &copied
	default:
		p.unanswered = nil
		if c.Number > 1 || len(a.Taken) > 0 {
			p.next = c.Number + 1
		}
	}
}

func (s *fakeJobStore) work(c *protocol.WorkCall) (a protocol.WorkAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	part := s.part(c.Partition)
	a.Now = now
	for range c.Place {
		a.Placed = append(a.Placed, protocol.PlaceAnswer{Placed: 1})
	}
	session := part.sessions[c.Session]
	switch {
	case session == nil && c.Number != 1:
		a.Err = ErrSessionLost
		return a
	case session != nil && session.number == c.Number:
		session.lapse = now.Add(c.TTL)
		a.Taken = session.answer
		part.waitHint(&a.WaitHint, c.Worker, now, true)
		return a
	case session != nil && session.number != c.Number-1:
		a.Err = fmt.Errorf("fake: call %d after %d", c.Number, session.number)
		return a
	}
	part.placed = append(part.placed, c.Place...)
	if session == nil {
		session = &fakeSession{inflight: make(map[string]*fakeHeld)}
	}
	session.number, session.lapse = c.Number, now.Add(c.TTL)
	for _, b := range c.Begun {
		if held := session.inflight[b.ID]; held != nil && held.fence == b.Fence {
			held.ahead = false
		}
	}
	for i, settlement := range c.Settle {
		held := session.inflight[settlement.ID]
		if held == nil || held.fence != settlement.Fence {
			a.Refused = append(a.Refused, i)
			s.refused++
			continue
		}
		delete(session.inflight, settlement.ID)
		s.settled = append(s.settled, settlement)
		s.settle(part, settlement, now)
	}
	s.take(part, session, c, &a, now)
	session.answer = a.Taken
	if len(a.Taken) > 0 || c.Number > 1 {
		part.sessions[c.Session] = session
	}
	if c.SleepOn {
		return a
	}
	part.waitHint(&a.WaitHint, c.Worker, now, c.Take > len(a.Taken))
	part.sleep(c.Worker, c.Sleep && !a.More && len(a.Taken) < c.Take)
	part.waitHint(&a.WaitHint, c.Worker, now, c.Take > len(a.Taken))
	if a.More {
		s.wake(part)
	}
	return a
}

func (s *fakeJobStore) settle(part *fakePartition, x protocol.Settlement, now time.Time) {
	if len(x.Body) > 0 {
		part.jobs[x.ID] = x.Body
	}
	switch x.Kind {
	case protocol.SettleDone, protocol.SettleMissed:
		delete(part.jobs, x.ID)
	case protocol.SettleLater:
		s.delay(part, x.ID, now.Add(x.Delay))
	case protocol.SettleDead:
		part.dead[x.ID] = part.jobs[x.ID]
		delete(part.jobs, x.ID)
	case protocol.SettleBack:
		part.ready = slices.Insert(part.ready, 0, x.ID)
		s.wake(part)
	case protocol.SettlePark:
		part.parked[x.Name] = append(part.parked[x.Name], x.ID)
	default:
		s.t.Errorf("settlement of kind %q", x.Kind)
	}
}

func (s *fakeJobStore) take(part *fakePartition, session *fakeSession, c *protocol.WorkCall, a *protocol.WorkAnswer, now time.Time) {
	if part.paused {
		return
	}
	take := func(id string) {
		s.fence++
		begun := len(a.Taken) < c.Take-c.Ahead
		session.inflight[id] = &fakeHeld{fence: s.fence, ahead: !begun}
		a.Taken = append(a.Taken, protocol.TakenJob{ID: id, Fence: s.fence, Crashes: part.crashes[id], Begun: begun, Body: part.jobs[id]})
		if owed, ok := part.owedNext[id]; ok {
			owed.Since, owed.Now = now, now
			a.Owed = append(a.Owed, owed)
		}
	}
	for _, name := range c.Serve {
		for len(part.parked[name]) > 0 && len(a.Taken) < c.Take {
			take(part.parked[name][0])
			part.parked[name] = part.parked[name][1:]
		}
		if len(part.parked[name]) == 0 {
			delete(part.parked, name)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(part.due)) {
		if len(a.Taken) < c.Take && !part.due[id].After(now) {
			delete(part.due, id)
			take(id)
		}
	}
	for len(part.ready) > 0 && len(a.Taken) < c.Take {
		id := part.ready[0]
		part.ready = part.ready[1:]
		take(id)
	}
}

func (part *fakePartition) waitHint(h *protocol.WaitHint, worker string, now time.Time, free bool) {
	*h = protocol.WaitHint{Paused: part.paused, Parked: slices.Sorted(maps.Keys(part.parked))}
	for name, session := range part.sessions {
		if h.Lapse.IsZero() || session.lapse.Before(h.Lapse) {
			h.Lapse = session.lapse
		}
		if !session.lapse.After(now) {
			h.Lapsed = append(h.Lapsed, protocol.LapsedSession{Session: name, Lapse: session.lapse})
		}
	}
	if part.paused {
		return
	}
	head, ok := part.head()
	h.More = len(part.ready) > 0 || ok && !head.After(now)
	place := slices.Index(part.idle, worker)
	h.Second = place == 1
	if free && ok && head.After(now) && (place == 0 || place == 1) {
		h.Next = head.Sub(now)
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
		part.sleep(c.Worker, c.Sleep)
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

func (s *fakeJobStore) CloseSession(_ context.Context, p protocol.Partition, name string) error {
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

func (s *fakeJobStore) Reap(_ context.Context, c protocol.ReapCall) (bool, error) {
	after, before := s.enter("reap", c.Partition)
	if before != nil {
		return false, before
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	part := s.part(c.Partition)
	session := part.sessions[c.Session]
	if session == nil || !session.lapse.Equal(c.Seen) || session.lapse.After(time.Now()) {
		return true, after
	}
	s.reap(part, c.Session)
	return true, after
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
