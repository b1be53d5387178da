package chime

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A heartbeat keeps a worker's sessions alive, every third of their TTL, on the Line's own connection, so that neither a
// slow call nor a slow taker costs it its sessions. What it learns goes to the taker, which alone decides.
type heartbeat struct {
	line  protocol.Listener
	ttl   time.Duration
	beats chan []beat // the taker always listens while run runs

	mu   sync.Mutex
	held map[*session]*pulse
}

// A pulse is one session under the heartbeat's care.
type pulse struct {
	call    protocol.ExtendCall
	resting bool
	cancels map[string]int // schedules with overlap policy cancel -> their occurrences held
}

var errNoAnswer = errors.New("chime: the store gave no answer")

// A beat is the answer for one session.
type beat struct {
	session *session
	sent    time.Time // local, before the call
	answer  protocol.ExtendAnswer
}

func newHeartbeat(line protocol.Listener, ttl time.Duration) *heartbeat {
	return &heartbeat{line: line, ttl: ttl, beats: make(chan []beat), held: make(map[*session]*pulse)}
}

// open puts a session under care, from the next beat on.
func (h *heartbeat) open(s *session) {
	h.mu.Lock()
	h.held[s] = &pulse{call: protocol.ExtendCall{Partition: s.lane.partition, Session: s.name, TTL: h.ttl}}
	h.mu.Unlock()
}

// rest says whether a session needs no beats, since it holds nothing. It is closed before it lapses, or called again, which extends it.
func (h *heartbeat) rest(s *session, resting bool) {
	if s.resting == resting {
		return
	}
	s.resting = resting
	h.mu.Lock()
	if p := h.held[s]; p != nil {
		p.resting = resting
	}
	h.mu.Unlock()
}

func (h *heartbeat) close(s *session) {
	h.mu.Lock()
	delete(h.held, s)
	h.mu.Unlock()
}

// watch asks, with each beat, whether an occurrence of the schedule was asked to end.
func (h *heartbeat) watch(s *session, schedule string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.held[s]
	if p == nil {
		return
	}
	if p.cancels == nil {
		p.cancels = make(map[string]int)
	}
	if p.cancels[schedule] += n; p.cancels[schedule] <= 0 {
		delete(p.cancels, schedule)
	}
}

// run beats until ctx ends.
func (h *heartbeat) run(ctx context.Context) {
	every := h.ttl / 3
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		begun := time.Now()
		beats := h.beat(ctx)
		wait := every
		for _, b := range beats {
			if b.answer.Err != nil && !errors.Is(b.answer.Err, ErrSessionLost) {
				wait = every / 4 // another chance or two before the TTL is over
			}
		}
		if len(beats) > 0 {
			select {
			case h.beats <- beats:
			case <-ctx.Done():
				return
			}
		}
		timer.Reset(max(wait-time.Since(begun), every/8))
	}
}

func (h *heartbeat) beat(ctx context.Context) []beat {
	h.mu.Lock()
	beats := make([]beat, 0, len(h.held))
	calls := make([]protocol.ExtendCall, 0, len(h.held))
	for s, p := range h.held {
		if p.resting {
			continue
		}
		call := p.call
		for schedule := range p.cancels {
			call.Schedules = append(call.Schedules, schedule)
		}
		beats = append(beats, beat{session: s})
		calls = append(calls, call)
	}
	h.mu.Unlock()
	if len(calls) == 0 {
		return nil
	}
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, h.ttl/3)
	defer cancel()
	answers := h.line.Extend(ctx, calls)
	for i := range beats {
		beats[i].sent = sent
		if beats[i].answer.Err = errNoAnswer; i < len(answers) {
			beats[i].answer = answers[i]
		}
	}
	return beats
}
