package work

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A heartbeat keeps a worker's sessions alive, every third of their TTL, on the listener's own connection, so that neither a
// slow call nor a slow processor costs it its sessions. What it learns goes to the processor, which alone decides.
type heartbeat struct {
	listener protocol.Listener
	ttl      time.Duration
	beats    chan []beat // the processor always receives while run runs

	mu   sync.Mutex
	kept map[*session]*keptSession
}

// A keptSession is one that the heartbeat keeps alive.
type keptSession struct {
	call    protocol.ExtendCall
	resting bool           // it holds nothing, and no call that may bring it a job is under way: no heartbeat
	cancels map[string]int // schedules with overlap policy cancel -> their occurrences held
}

var errNoAnswer = errors.New("chime: the store gave no answer")

// A beat is the answer for one session.
type beat struct {
	session *session
	sent    time.Time // local, before the call
	answer  protocol.ExtendAnswer
}

func newHeartbeat(listener protocol.Listener, ttl time.Duration) *heartbeat {
	return &heartbeat{listener: listener, ttl: ttl, beats: make(chan []beat), kept: make(map[*session]*keptSession)}
}

// answers delivers what heartbeats have brought.
func (h *heartbeat) answers() <-chan []beat { return h.beats }

// open keeps a session alive from the next heartbeat on.
func (h *heartbeat) open(s *session) {
	h.mu.Lock()
	h.kept[s] = &keptSession{call: protocol.ExtendCall{Partition: s.partition(), Session: s.name(), TTL: h.ttl}}
	h.mu.Unlock()
}

// rest says whether a session needs no heartbeat, since it holds nothing. It is closed before it lapses, or called again, which
// extends it.
func (h *heartbeat) rest(s *session, resting bool) {
	h.mu.Lock()
	if k := h.kept[s]; k != nil {
		k.resting = resting
	}
	h.mu.Unlock()
}

// close ends the keeping of a session.
func (h *heartbeat) close(s *session) {
	h.mu.Lock()
	delete(h.kept, s)
	h.mu.Unlock()
}

// watch asks, with each heartbeat, whether an occurrence of the schedule was asked to end: n more of its occurrences are held.
func (h *heartbeat) watch(s *session, schedule string, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.kept[s]
	if k == nil {
		return
	}
	if k.cancels == nil {
		k.cancels = make(map[string]int)
	}
	if k.cancels[schedule] += n; k.cancels[schedule] <= 0 {
		delete(k.cancels, schedule)
	}
}

// run sends heartbeats until ctx ends.
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
			if b.answer.Err != nil && !errors.Is(b.answer.Err, protocol.ErrSessionLost) {
				wait = every / 4 // another try or two before the TTL is over
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
	beats := make([]beat, 0, len(h.kept))
	calls := make([]protocol.ExtendCall, 0, len(h.kept))
	for s, k := range h.kept {
		if k.resting {
			continue
		}
		call := k.call
		for schedule := range k.cancels {
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
	answers := h.listener.Extend(ctx, calls)
	for i := range beats {
		beats[i].sent = sent
		if beats[i].answer.Err = errNoAnswer; i < len(answers) {
			beats[i].answer = answers[i]
		}
	}
	return beats
}
