// Package live keeps open pages up to date. A process has one poller for all viewers, and a stream of events to each viewer.
//
// The poller runs from the first stream until a while after the last one, so nothing is read while no page is open. Each turn reads the state of the
// store (Source.Beat), and renders the regions of the open topics (Source.Regions). A topic is rendered once, even if many viewers have it open.
// A region is sent to the viewers with an older copy.
package live

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	maxTopics  = 20  // number of topics rendered in one turn; if there are more, they are rendered in rotation
	maxStreams = 500 // maximum number of streams of a hub
)

// A Region is a part of a page that changes.
type Region struct {
	ID   string // the ID of its element
	HTML []byte // the inner HTML
	Hash uint64 // hash of the content whose change makes sending it worthwhile
}

// A Beat is the state of the store at a turn of the poller.
type Beat struct {
	Now   time.Time      // the store's clock
	Frame map[string]any // the changing data of every page's frame, sent as JSON
}

// A Source renders topics. A topic has everything on which its regions depend: page, query, zone, rights.
type Source[Topic comparable] interface {
	// Beat reads the state of the store. Viewers see its error and the duration, such as "No answer from Redis for 12s".
	Beat(ctx context.Context) (Beat, error)
	// Regions renders the regions of a topic, at least one. If it fails, viewers keep their regions and see the error.
	Regions(ctx context.Context, topic Topic) ([]Region, error)
}

// Options are the options of NewHub.
type Options struct {
	Every   time.Duration // interval between two turns of the poller
	Linger  time.Duration // how long the poller continues after the last stream has ended
	Version string        // version of the scripts: a page with another version reloads itself
}

// A Hub has the poller of a process and its streams.
type Hub[Topic comparable] struct {
	source  Source[Topic]
	options Options

	mu      sync.Mutex
	streams map[*stream]Topic
	viewers map[string]int // viewer → number of streams
	polls   bool           // the poller runs
	idle    time.Time      // since when there have been no streams
	skipped int            // number of topics rendered in earlier turns, if there are too many for one turn
	closed  bool
	trouble time.Time     // since when the store has not answered; zero: it answers
	joined  chan struct{} // buffered; signals a new stream
	beat    Beat          // the last beat; only the poller uses this and beatAt
	beatAt  time.Time     // by this process's clock; zero: no beat yet
	pollers sync.WaitGroup
	stop    context.CancelFunc
	ctx     context.Context
}

// NewHub returns a hub. It reads nothing before its first stream.
func NewHub[Topic comparable](source Source[Topic], options Options) *Hub[Topic] {
	ctx, stop := context.WithCancel(context.Background())
	return &Hub[Topic]{source: source, options: options, streams: map[*stream]Topic{}, viewers: map[string]int{}, joined: make(chan struct{}, 1), ctx: ctx, stop: stop}
}

// Close ends all streams and the poller. Later streams end at once.
func (h *Hub[Topic]) Close() {
	h.mu.Lock()
	h.closed = true
	for s := range h.streams {
		s.end("the server is stopping")
	}
	h.mu.Unlock()
	h.stop()
	h.pollers.Wait()
}

// join adds a stream. It returns false if there are too many streams, if its viewer has too many, or if the hub is closed.
func (h *Hub[Topic]) join(s *stream, topic Topic, viewer string, most int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.streams) >= maxStreams || h.viewers[viewer] >= most {
		return false
	}
	h.streams[s] = topic
	h.viewers[viewer]++
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

func (h *Hub[Topic]) leave(s *stream, viewer string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
	if h.viewers[viewer]--; h.viewers[viewer] == 0 {
		delete(h.viewers, viewer)
	}
	if len(h.streams) == 0 {
		h.idle = time.Now()
	}
}

// poll takes turns until there has been no stream for Linger.
func (h *Hub[Topic]) poll() {
	ticker := time.NewTicker(h.options.Every)
	defer ticker.Stop()
	for h.watched() {
		h.turn()
		h.rest(ticker.C)
	}
}

// rest waits for the next turn. Meanwhile it greets new streams.
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

// greet renders the pages of new streams at once. A page in the browser's time zone shows its charts only then. Topics beyond the limit of one turn
// wait for the following turns.
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

// watched reports whether the poller has to continue. If not, the next stream starts another poller.
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

// sendTopic renders a topic and sends it to all streams of it.
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

// topics returns the topics of a turn: all open ones, or the next ones if there are too many.
func (h *Hub[Topic]) topics() []Topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := map[Topic]int64{} // the number of its first stream, so that the order does not change between turns
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

// noteTrouble returns since when the store has not answered, by this process's clock.
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
