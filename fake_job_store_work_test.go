package chime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

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
	*h = protocol.WaitHint{Paused: part.paused, Parked: slices.Sorted(maps.Keys(part.parked)), Looked: true, ParkedMark: int64(len(part.parked))}
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
