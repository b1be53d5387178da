package work

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/observe"
	"github.com/chimejobs/chime/internal/protocol"
)

// A heartbeat extends a worker's sessions every third of their TTL. It has the listener's own connection, so a slow call or a slow
// processor loses no session; and it makes a call to each node, so a node that does not answer loses no session of another one. It
// passes the answers to the processor, which decides what they mean.
type heartbeat struct {
	listener   protocol.Listener
	node       func(protocol.Partition) string
	ttl        time.Duration
	pulse      *observe.Pulse
	extensions chan []extension // the processor always receives while run runs

	mu   sync.Mutex
	kept map[*session]*keptSession
}

// A beat is when a node is called next, and whether a call to it is under way now.
type beat struct {
	due      time.Time
	underWay bool
}

// An endedBeat is a call that has ended.
type endedBeat struct {
	node   string
	began  time.Time
	failed bool
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

func newHeartbeat(listener protocol.Listener, node func(protocol.Partition) string, ttl time.Duration, pulse *observe.Pulse) *heartbeat {
	return &heartbeat{
		listener: listener, node: node, ttl: ttl, pulse: pulse, extensions: make(chan []extension), kept: make(map[*session]*keptSession),
	}
}

// answers delivers the answers to heartbeats.
func (h *heartbeat) answers() <-chan []extension { return h.extensions }

// open keeps a session alive from the next heartbeat on.
func (h *heartbeat) open(s *session) {
	h.mu.Lock()
	h.kept[s] = &keptSession{call: protocol.ExtendCall{Partition: s.partition(), Session: s.name(), TTL: h.ttl}}
	h.mu.Unlock()
}

// rest sets whether a session needs no heartbeat because it holds no job. Such a session is closed before it lapses, or a call extends it.
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

// watch notes that the session holds n more occurrences of a schedule; if n is negative, fewer. While it holds one, each heartbeat checks whether
// one of them is to end.
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

// run sends heartbeats until ctx ends, and waits for the calls under way.
func (h *heartbeat) run(ctx context.Context) {
	every := h.ttl / 3
	beats := make(map[string]*beat) // by node
	ended := make(chan endedBeat)
	var calls sync.WaitGroup
	defer calls.Wait()
	timer := time.NewTimer(min(every, observe.LongestNap))
	defer timer.Stop()
	defer h.pulse.End()
	for {
		h.pulse.Turn(time.Now())
		select {
		case <-ctx.Done():
			return
		case e := <-ended:
			wait := every
			if e.failed {
				wait = every / 4 // one or two more attempts before the TTL is over
			}
			*beats[e.node] = beat{due: later(e.began.Add(wait), time.Now().Add(every/8))}
		case <-timer.C:
			now := time.Now()
			nodes := h.byNode()
			maps.DeleteFunc(beats, func(node string, b *beat) bool { return !b.underWay && nodes[node] == nil })
			for node, sessions := range nodes {
				if beats[node] == nil {
					beats[node] = new(beat)
				}
				if b := beats[node]; !b.underWay && !now.Before(b.due) {
					b.underWay = true
					calls.Go(func() {
						e := endedBeat{node: node, began: now, failed: h.extend(ctx, sessions)}
						select {
						case ended <- e:
						case <-ctx.Done():
						}
					})
				}
			}
		}
		timer.Reset(min(time.Until(nextBeat(beats, every)), observe.LongestNap))
	}
}

// nextBeat returns when the first node is to be called, at most a period from now.
func nextBeat(beats map[string]*beat, every time.Duration) time.Time {
	next := time.Now().Add(every)
	for _, b := range beats {
		if !b.underWay {
			next = earlier(next, b.due)
		}
	}
	return next
}

// A sessionBeat is the call for one session.
type sessionBeat struct {
	session *session
	call    protocol.ExtendCall
}

// byNode returns a call for each session that needs one, grouped by node.
func (h *heartbeat) byNode() map[string][]sessionBeat {
	h.mu.Lock()
	defer h.mu.Unlock()
	nodes := make(map[string][]sessionBeat)
	for s, k := range h.kept {
		if k.resting {
			continue
		}
		call := k.call
		for schedule := range k.cancels {
			call.Schedules = append(call.Schedules, schedule)
		}
		node := h.node(call.Partition)
		nodes[node] = append(nodes[node], sessionBeat{session: s, call: call})
	}
	return nodes
}

// extend sends one heartbeat for sessions of one node, and passes the answers on. It reports whether one has failed.
func (h *heartbeat) extend(ctx context.Context, sessions []sessionBeat) (failed bool) {
	calls := make([]protocol.ExtendCall, len(sessions))
	for i := range sessions {
		calls[i] = sessions[i].call
	}
	limited, cancel := context.WithTimeout(ctx, h.ttl/3)
	defer cancel()
	sent := time.Now()
	answers := h.listener.Extend(limited, calls)
	extensions := make([]extension, len(sessions))
	for i := range sessions {
		extensions[i] = extension{session: sessions[i].session, sent: sent}
		if extensions[i].answer.Err = errNoAnswer; i < len(answers) {
			extensions[i].answer = answers[i]
		}
		err := extensions[i].answer.Err
		failed = failed || err != nil && !errors.Is(err, protocol.ErrSessionLost)
	}
	select {
	case h.extensions <- extensions:
	case <-ctx.Done():
	}
	return failed
}
