package live

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime/internal/format"
)

const (
	maxBehind    = 64 << 10 // maximum number of unread bytes when new events come; with more, the stream is dropped
	writeTimeout = 15 * time.Second
)

var streamsEver atomic.Int64

// A stream has the events of one open page. It buffers events, so that no viewer delays the poller.
type stream struct {
	number int64
	has    map[string]uint64 // region → hash of the last sent content; only the poller uses this and broken
	broken string            // why the regions are not updated; empty: they are updated

	mu      sync.Mutex
	waiting []byte
	ended   bool
	wake    chan struct{} // buffered
}

func newStream() *stream {
	return &stream{number: streamsEver.Add(1), has: map[string]uint64{}, wake: make(chan struct{}, 1)}
}

// Serve sends the events of a topic until the viewer leaves, is too far behind, or the hub closes. If there are too many streams, if this viewer has most
// streams already, or if the hub is closed, it sends only the event "full", whose text the page shows, and returns false. A status would not reach the
// page: an EventSource does not pass it on.
func (h *Hub[Topic]) Serve(w http.ResponseWriter, r *http.Request, topic Topic, viewer string, most int) bool {
	s := newStream()
	s.send("hello", map[string]any{"every": h.options.Every.Milliseconds(), "version": h.options.Version})
	served := h.join(s, topic, viewer, most)
	if served {
		defer h.leave(s, viewer)
	} else {
		s = newStream()
		s.send("full", map[string]string{"text": "This page is not live: the maximum number of pages is open, or the server is stopping. Close other pages, or reload this one to see changes."})
		s.end("")
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("X-Accel-Buffering", "no") // a proxy must not buffer events
	w.WriteHeader(http.StatusOK)
	s.write(r.Context(), http.NewResponseController(w), w)
	return served
}

// write sends buffered events until ctx ends, the viewer does not read, or the stream has ended.
func (s *stream) write(ctx context.Context, control *http.ResponseController, w http.ResponseWriter) {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
		text, ended := s.take()
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // ignored: a server without write deadlines does not need one
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
		panic("live: " + err.Error()) // texts and numbers can always be encoded
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

// dropIfBehind ends the stream of a viewer who has not read the events of earlier turns. The page opens another stream, and gets all regions again.
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

// end ends the stream after all earlier events have been sent.
func (s *stream) end(why string) { s.send("end", map[string]string{"text": why}) }

// isNew reports whether the stream has not received its page yet.
func (s *stream) isNew() bool { return len(s.has) == 0 && s.broken == "" }

// sendRegions sends the regions that have changed since they were last sent.
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

// sendBroken sends once the reason why the regions are not updated.
func (s *stream) sendBroken(err error) {
	if s.broken != err.Error() {
		s.broken = err.Error()
		s.send("broken", map[string]any{"text": s.broken})
		clear(s.has) // the next update sends all regions again
	}
}

// sendBeat reports that the store has answered, and sends the rest of the frame.
func (s *stream) sendBeat(beat Beat) {
	data := map[string]any{"now": beat.Now.UnixMilli()}
	for key, value := range beat.Frame {
		data[key] = value
	}
	s.send("beat", data)
}

// sendTrouble sends the reason why the store cannot be read, and since when.
func (s *stream) sendTrouble(err error, since time.Time) {
	text := err.Error()
	if silent := time.Since(since).Round(time.Second); silent > 0 {
		text += " for " + format.Age(silent)
	}
	s.send("trouble", map[string]any{"text": text, "since": since.UnixMilli()})
}
