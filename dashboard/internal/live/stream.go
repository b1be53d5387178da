package live

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxBehind    = 64 << 10 // bytes that a viewer has not read when more come: beyond, the stream is dropped
	writeTimeout = 15 * time.Second
)

var streamsEver atomic.Int64

// A stream is the events of one open page. What is to be sent waits in it, so that no viewer holds up the poller.
type stream struct {
	number int64
	has    map[string]uint64 // region → hash of what was sent last; this and broken are the poller's alone
	broken string            // why the regions stay as they are; empty: they do not

	mu      sync.Mutex
	waiting []byte
	ended   bool
	wake    chan struct{} // has room for one
}

func newStream() *stream {
	return &stream{number: streamsEver.Add(1), has: map[string]uint64{}, wake: make(chan struct{}, 1)}
}

// Serve sends the events of a topic until the viewer goes, is too far behind, or the hub closes. false: there are too many streams, and
// nothing was written.
func (h *Hub[Topic]) Serve(w http.ResponseWriter, r *http.Request, topic Topic) bool {
	s := newStream()
	s.send("hello", map[string]any{"every": h.options.Every.Milliseconds(), "version": h.options.Version})
	if !h.join(s, topic) {
		return false
	}
	defer h.leave(s)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("X-Accel-Buffering", "no") // a proxy is not to collect events
	w.WriteHeader(http.StatusOK)
	s.write(r.Context(), http.NewResponseController(w), w)
	return true
}

// write sends what waits, until ctx ends, the viewer does not read, or the stream was ended.
func (s *stream) write(ctx context.Context, control *http.ResponseController, w http.ResponseWriter) {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
		text, ended := s.take()
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a server that has none needs none
		if _, err := w.Write(text); err != nil {
			return
		}
		if err := control.Flush(); err != nil || ended {
			return
		}
	}
}

func (s *stream) take() (text []byte, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, s.waiting = s.waiting, nil
	return text, s.ended
}

// send adds an event.
func (s *stream) send(event string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		panic("live: " + err.Error()) // it is made of texts and numbers
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.waiting = fmt.Appendf(s.waiting, "event: %s\ndata: %s\n\n", event, text)
	s.ended = event == "end"
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// dropIfBehind ends the stream of a viewer who has not read what earlier turns sent: the page opens another one, and gets all anew.
func (s *stream) dropIfBehind() {
	s.mu.Lock()
	behind := len(s.waiting) > maxBehind
	if behind {
		s.waiting = nil
	}
	s.mu.Unlock()
	if behind {
		s.end("this page was too slow to read")
	}
}

// end ends the stream when all before has been sent.
func (s *stream) end(why string) { s.send("end", map[string]string{"text": why}) }

// isNew reports whether the stream has got nothing of its page yet.
func (s *stream) isNew() bool { return len(s.has) == 0 && s.broken == "" }

// sendRegions sends those of the regions that are not as they were sent last.
func (s *stream) sendRegions(now time.Time, regions []Region) {
	for _, region := range regions {
		if hash, sent := s.has[region.ID]; sent && hash == region.Hash {
			continue
		}
		s.has[region.ID] = region.Hash
		s.send("region", map[string]any{"id": region.ID, "html": string(region.HTML), "now": now.UnixMilli()})
	}
	s.broken = ""
}

// sendBroken tells once why the regions stay as they are.
func (s *stream) sendBroken(err error) {
	if s.broken != err.Error() {
		s.broken = err.Error()
		s.send("broken", map[string]any{"text": s.broken})
		clear(s.has) // all that comes next mends it
	}
}

// sendBeat tells that the store has answered, and the rest of the frame.
func (s *stream) sendBeat(beat Beat) {
	data := map[string]any{"now": beat.Now.UnixMilli()}
	for key, value := range beat.Frame {
		data[key] = value
	}
	s.send("beat", data)
}

// sendTrouble tells why the store cannot be read, and since when.
func (s *stream) sendTrouble(err error, since time.Time) {
	text := err.Error()
	if silent := time.Since(since).Round(time.Second); silent > 0 {
		text += fmt.Sprintf(" for %d s", int(silent.Seconds()))
	}
	s.send("trouble", map[string]any{"text": text, "since": since.UnixMilli()})
}
