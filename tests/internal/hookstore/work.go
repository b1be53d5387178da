package hookstore

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A workLog records the calls of Work and their effects.
type workLog struct {
	sessions map[string]*session
	settled  []protocol.Settlement // the accepted ones, in order
	refused  int
	taken    int64
	calls    []protocol.WorkCall
}

// A session is the state of a worker's session: its allowed next call, and its counters.
type session struct {
	underWay   bool
	unanswered *protocol.WorkCall
	next       int64 // the number of the next call
	settled    int64 // the number of the last call with counted settlements
	taken      int64 // the number of the last call with counted jobs
	lost       bool
}

// Work checks the calls against the protocol of WorkCall.
func (s *Store) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	for i := range calls {
		s.checkWork(&calls[i])
	}
	delay(s.Latency)
	if s.VisitWork != nil {
		for i := range calls {
			s.VisitWork(&calls[i])
		}
	}
	answers := batch(s, "work", calls,
		func(c *protocol.WorkCall) protocol.Partition { return c.Partition },
		func(err error) protocol.WorkAnswer { return protocol.WorkAnswer{Err: err} },
		func(sent []protocol.WorkCall) []protocol.WorkAnswer {
			answers := s.Store.Work(ctx, sent)
			s.record(sent, answers)
			return answers
		})
	delay(s.Lag)
	for i := range calls {
		s.answered(&calls[i], &answers[i])
	}
	return answers
}

func (s *Store) checkWork(c *protocol.WorkCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.KeepWork {
		s.work.calls = append(s.work.calls, copyWork(c))
	}
	of := s.work.sessions[c.Session]
	if of == nil {
		of = &session{next: 1}
		s.work.sessions[c.Session] = of
	}
	if of.underWay {
		s.t.Errorf("session %s: two concurrent numbered calls", c.Session)
	}
	if of.lost {
		s.t.Errorf("session %s: used again after it was lost", c.Session)
	}
	if of.unanswered != nil && !reflect.DeepEqual(of.unanswered, c) {
		s.t.Errorf("session %s: an unanswered call was not sent again unchanged:\ngot  %+v\nwant %+v", c.Session, *c, *of.unanswered)
	}
	if c.Number != of.next {
		s.t.Errorf("session %s: got call number %d, want %d", c.Session, c.Number, of.next)
	}
	size := 0
	for _, settlement := range c.Settle {
		size += len(settlement.Body)
	}
	if len(c.Settle) > protocol.MaxSettlements || c.Take > protocol.MaxTake || c.Ahead > c.Take || c.Ahead < 0 || size > protocol.MaxBytes && len(c.Settle) > 1 {
		s.t.Errorf("session %s: a call too large: %d settlements of %d bytes, take %d, ahead %d", c.Session, len(c.Settle), size, c.Take, c.Ahead)
	}
	unfinished := func(settled protocol.Settlement) bool { return !settled.Finished() }
	if c.SleepOn && (c.Take > 0 || c.Sleep || len(c.Settle) == 0 || len(c.Place) > 0 || slices.ContainsFunc(c.Settle, unfinished)) {
		s.t.Errorf("session %s: invalid call that continues to sleep: %+v", c.Session, *c)
	}
	if c.TTL < time.Second || c.Session == "" || c.Worker == "" {
		s.t.Errorf("session %s: incomplete call %+v", c.Session, *c)
	}
	of.underWay = true
}

// record counts the effects of calls; a repeated call counts once.
func (s *Store) record(calls []protocol.WorkCall, answers []protocol.WorkAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range calls {
		c, a := &calls[i], &answers[i]
		of := s.work.sessions[c.Session]
		if a.Err != nil {
			continue
		}
		if of.taken < c.Number && len(a.Taken) > 0 {
			of.taken = c.Number
			s.work.taken += int64(len(a.Taken))
		}
		if of.settled >= c.Number {
			continue
		}
		of.settled = c.Number
		s.work.refused += len(a.Refused)
		for j := range c.Settle {
			if !slices.Contains(a.Refused, j) {
				settled := c.Settle[j]
				settled.Body = bytes.Clone(settled.Body)
				s.work.settled = append(s.work.settled, settled)
			}
		}
	}
}

func (s *Store) answered(c *protocol.WorkCall, a *protocol.WorkAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.work.sessions[c.Session]
	of.underWay = false
	switch {
	case errors.Is(a.Err, protocol.ErrSessionLost):
		of.lost = true
	case a.Err != nil:
		unanswered := copyWork(c)
		of.unanswered = &unanswered
	default:
		of.unanswered = nil
		if c.Number > 1 || len(a.Taken) > 0 {
			of.next = c.Number + 1
		}
	}
}

// copyWork copies a call, because its memory belongs to the worker again after the answer.
func copyWork(c *protocol.WorkCall) protocol.WorkCall {
	copied := *c
	copied.Settle, copied.Begun, copied.Place = slices.Clone(c.Settle), slices.Clone(c.Begun), slices.Clone(c.Place)
	copied.Serve, copied.Handled = slices.Clone(c.Serve), slices.Clone(c.Handled)
	for i := range copied.Settle {
		copied.Settle[i].Body = bytes.Clone(c.Settle[i].Body)
	}
	if c.Measured != nil {
		measured := *c.Measured
		measured.Names, measured.Shapes = slices.Clone(measured.Names), slices.Clone(measured.Shapes)
		copied.Measured = &measured
	}
	return copied
}

// closing checks that a session may be closed.
func (s *Store) closing(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.work.sessions[name]; of != nil && of.underWay {
		s.t.Errorf("session %s: closed during a call", name)
	}
}

// WorkCalls returns the calls of Work since the previous WorkCalls, including repeated ones, if KeepWork is set.
func (s *Store) WorkCalls() []protocol.WorkCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.work.calls
	s.work.calls = nil
	return calls
}

// Settled returns the settlements accepted so far, in order, as the workers sent them. It includes jobs that were cancelled in the meantime.
func (s *Store) Settled() []protocol.Settlement {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.work.settled)
}

// Kinds counts the accepted settlements by kind.
func (s *Store) Kinds() map[protocol.SettleKind]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	kinds := make(map[protocol.SettleKind]int)
	for i := range s.work.settled {
		kinds[s.work.settled[i].Kind]++
	}
	return kinds
}

// Refused returns how many settlements were refused so far.
func (s *Store) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.work.refused
}

// Taken returns how many jobs were given to workers so far, even if the answer was lost.
func (s *Store) Taken() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.work.taken
}
