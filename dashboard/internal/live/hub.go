// Package live keeps open pages up to date: one poller for all viewers of a process, and a stream of events to each.
//
// The poller runs from the first stream until a while after the last: nobody looks, nothing is read. Each turn reads how the store is
// (Source.Beat), and renders the regions of the topics that somebody has open (Source.Regions): a topic that many have open is rendered once.
// A region goes out to those whose copy is older.
package live

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	maxTopics  = 20  // that are rendered in a turn; more take turns
	maxStreams = 500 // of a hub
)

// A Region is a part of a page that changes.
type Region struct {
	ID   string // of its element
	HTML []byte // its inside
	Hash uint64 // of what is worth sending it again for
}

// A Beat is how the store is at a turn of the poller.
type Beat struct {
	Now   time.Time      // the store's clock
	Frame map[string]any // what changes of every page's frame; as JSON
}

// A Source knows what topics look like. A topic is all that its regions depend on: page, query, zone, rights.
type Source[Topic comparable] interface {
	// Beat reads how the store is. Viewers are told its error and for how long it lasts, as in "No answer from Redis for 12 s".
	Beat(ctx context.Context) (Beat, error)
	// Regions renders the regions of a topic, at least one. Viewers keep those that they have if it fails, and are told why.
	Regions(ctx context.Context, topic Topic) ([]Region, error)
}

// Options are the options of NewHub.
type Options struct {
	Every   time.Duration // between two turns of the poller
	Linger  time.Duration // how long the poller goes on when nobody looks any more
	Version string        // of the scripts: a page with others loads itself again
}

// A Hub has the poller of a process and its streams.
type Hub[Topic comparable] struct {
	source  Source[Topic]
	options Options

	mu      sync.Mutex
	streams map[*stream]Topic
	polls   bool      // the poller runs
	idle    time.Time // since when there is no stream
	skipped int       // topics that earlier turns have rendered, where there are too many for one
	closed  bool
	trouble time.Time     // since when the store does not answer; zero: it does
	joined  chan struct{} // has room for one: a stream has come
	beat    Beat          // the last one; this and beatAt are the poller's alone
	beatAt  time.Time     // by this process's clock; zero: there was none
	pollers sync.WaitGroup
	stop    context.CancelFunc
	ctx     context.Context
}

// NewHub returns a hub, which reads nothing before its first stream.
func NewHub[Topic comparable](source Source[Topic], options Options) *Hub[Topic] {
	ctx, stop := context.WithCancel(context.Background())
	return &Hub[Topic]{source: source, options: options, streams: map[*stream]Topic{}, joined: make(chan struct{}, 1), ctx: ctx, stop: stop}
}

// Close ends all streams, and the poller. Streams that come later end at once.
func (h *Hub[Topic]) Close() {
	h.mu.Lock()
	h.closed = true
	for s := range h.streams {
		s.end("the server stops")
	}
	h.mu.Unlock()
	h.stop()
	h.pollers.Wait()
}

// join adds a stream; false: there are as many as there may be, or the hub is closed.
func (h *Hub[Topic]) join(s *stream, topic Topic) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.streams) >= maxStreams {
		return false
	}
	h.streams[s] = topic
	if !h.polls {
		h.polls = true
		h.pollers.Go(h.poll)
	}
	select {
	case h.joined <- struct{}{}:
	default:
	}
	return true
}

func (h *Hub[Topic]) leave(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
	if len(h.streams) == 0 {
		h.idle = time.Now()
	}
}

// poll turns until nobody has looked for Linger.
func (h *Hub[Topic]) poll() {
	ticker := time.NewTicker(h.options.Every)
	defer ticker.Stop()
	for h.watched() {
		h.turn()
		h.rest(ticker.C)
	}
}

// rest waits for the next turn. Who comes meanwhile is greeted.
func (h *Hub[Topic]) rest(next <-chan time.Time) {
	for {
		select {
		case <-next:
			return
		case <-h.ctx.Done():
			return
		case <-h.joined:
			h.greet()
		}
	}
}

// greet renders the pages of those who have come since the last turn, so that nobody waits for the next one: a page that is drawn in the browser's
// time zone shows its charts only then. What is more than a turn renders waits for turns.
func (h *Hub[Topic]) greet() {
	var fresh []Topic
	troubled := false
	h.each(func(s *stream, topic Topic) {
		troubled = !h.trouble.IsZero()
		if s.isNew() && !slices.Contains(fresh, topic) && len(fresh) < maxTopics {
			fresh = append(fresh, topic)
		}
	})
	if troubled || h.beatAt.IsZero() {
		return
	}
	for _, topic := range fresh {
		h.sendTopic(topic, h.beat.Now.Add(time.Since(h.beatAt)))
	}
}

// watched reports whether the poller is to go on; if not, the next stream starts another one.
func (h *Hub[Topic]) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.polls = h.ctx.Err() == nil && (len(h.streams) > 0 || time.Since(h.idle) < h.options.Linger)
	return h.polls
}

// turn reads and sends once.
func (h *Hub[Topic]) turn() {
	beat, err := h.source.Beat(h.ctx)
	if h.ctx.Err() != nil {
		return
	}
	h.each(func(s *stream, _ Topic) { s.dropIfBehind() })
	if err != nil {
		since := h.noteTrouble()
		h.each(func(s *stream, _ Topic) { s.sendTrouble(err, since) })
		return
	}
	h.noteAnswer()
	h.beat, h.beatAt = beat, time.Now()
	for _, topic := range h.topics() {
		h.sendTopic(topic, beat.Now)
	}
	h.each(func(s *stream, _ Topic) { s.sendBeat(beat) })
}

// sendTopic renders a topic and sends it to all who have it open.
func (h *Hub[Topic]) sendTopic(topic Topic, now time.Time) {
	regions, err := h.source.Regions(h.ctx, topic)
	h.each(func(s *stream, of Topic) {
		switch {
		case of != topic:
		case err != nil:
			s.sendBroken(err)
		default:
			s.sendRegions(now, regions)
		}
	})
}

// topics are those of a turn: all that somebody has open, or the next ones where there are too many.
func (h *Hub[Topic]) topics() []Topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := map[Topic]int64{} // number of the first stream that has it open: an order that does not change from turn to turn
	for s, topic := range h.streams {
		if since, known := first[topic]; !known || s.number < since {
			first[topic] = s.number
		}
	}
	all := slices.SortedFunc(maps.Keys(first), func(a, b Topic) int { return int(first[a] - first[b]) })
	if len(all) <= maxTopics {
		h.skipped = 0
		return all
	}
	if h.skipped >= len(all) {
		h.skipped = 0
	}
	end := min(h.skipped+maxTopics, len(all))
	turn := all[h.skipped:end]
	if h.skipped = end; end == len(all) {
		h.skipped = 0
	}
	return turn
}

// noteTrouble returns since when the store does not answer, by this process's clock.
func (h *Hub[Topic]) noteTrouble() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.trouble.IsZero() {
		h.trouble = time.Now()
	}
	return h.trouble
}

func (h *Hub[Topic]) noteAnswer() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trouble = time.Time{}
}

func (h *Hub[Topic]) each(do func(*stream, Topic)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s, topic := range h.streams {
		do(s, topic)
	}
}
