package work

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A heartbeat extends a worker's sessions every third of their TTL. It has the listener's own connection, so a slow call or a slow
// processor loses no session. It passes the answers to the processor, which decides what they mean.
type heartbeat struct {
	listener   protocol.Listener
	ttl        time.Duration
	extensions chan []extension // the processor always receives while run runs

	mu   sync.Mutex
	kept map[*session]*keptSession
}

// A keptSession is one that the heartbeat keeps alive.
type keptSession struct {
	call    protocol.ExtendCall
	resting bool           // it needs no heartbeat: it holds no job, and no call that may take one is under way
	cancels map[string]int // schedules with overlap policy cancel -> their occurrences held
}

var errNoAnswer = errors.New("chime: the store gave no answer")

// An extension is the answer to the heartbeat of one session.
type extension struct {
	session *session
	sent    time.Time // local, before the call
	answer  protocol.ExtendAnswer
}

func newHeartbeat(listener protocol.Listener, ttl time.Duration) *heartbeat {
	return &heartbeat{listener: listener, ttl: ttl, extensions: make(chan []extension), kept: make(map[*session]*keptSession)}
}

// answers delivers the answers to heartbeats.
func (h *heartbeat) answers() <-chan []extension { return h.extensions }

// open keeps a session alive from the next heartbeat on.
func (h *heartbeat) open(s *session) {
	h.mu.Lock()
	h.kept[s] = &keptSession{call: protocol.ExtendCall{Partition: s.partition(), Session: s.name(), TTL: h.ttl}}
	h.mu.Unlock()
}

// rest sets whether a session needs no heartbeat because it holds no job. Such a session is closed before it lapses, or a call
// extends it.
func (h *heartbeat) rest(s *session, resting bool) {
	h.mu.Lock()
	if k := h.kept[s]; k != nil {
		k.resting = resting
	}
	h.mu.Unlock()
}

// close ends the heartbeats of a session.
func (h *heartbeat) close(s *session) {
	h.mu.Lock()
	delete(h.kept, s)
	h.mu.Unlock()
}

// watch notes that the session holds n more occurrences of a schedule, fewer if n is negative. While it holds one, each heartbeat
// asks whether one of them is to end.
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
		answers := h.extend(ctx)
		wait := every
		for _, a := range answers {
			if a.answer.Err != nil && !errors.Is(a.answer.Err, protocol.ErrSessionLost) {
				wait = every / 4 // another try or two before the TTL is over
			}
		}
		if len(answers) > 0 {
			select {
			case h.extensions <- answers:
			case <-ctx.Done():
				return
			}
		}
		timer.Reset(max(wait-time.Since(begun), every/8))
	}
}

// extend sends one heartbeat for all sessions that need one.
func (h *heartbeat) extend(ctx context.Context) []extension {
	h.mu.Lock()
	extensions := make([]extension, 0, len(h.kept))
	calls := make([]protocol.ExtendCall, 0, len(h.kept))
	for s, k := range h.kept {
		if k.resting {
			continue
		}
		call := k.call
		for schedule := range k.cancels {
			call.Schedules = append(call.Schedules, schedule)
		}
		extensions = append(extensions, extension{session: s})
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
	for i := range extensions {
		extensions[i].sent = sent
		if extensions[i].answer.Err = errNoAnswer; i < len(answers) {
			extensions[i].answer = answers[i]
		}
	}
	return extensions
}
