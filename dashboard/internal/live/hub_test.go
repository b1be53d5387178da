package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A fakeSource counts its reads.
type fakeSource struct {
	mu       sync.Mutex
	beats    int
	rendered map[string]int
	html     map[string]string // topic → its only region
	down     error
	gone     error
}

func (f *fakeSource) Beat(context.Context) (Beat, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beats++
	return Beat{Now: time.Now(), Frame: map[string]any{"failures": 3}}, f.down
}

func (f *fakeSource) Regions(_ context.Context, topic string) ([]Region, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rendered[topic]++
	html := f.html[topic]
	if html == "" {
		html = topic
	}
	return []Region{{ID: "main", HTML: []byte(html), Hash: uint64(len(html))}}, f.gone
}

func (f *fakeSource) set(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

func (f *fakeSource) counts() (beats int, rendered map[string]int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rendered = map[string]int{}
	for topic, n := range f.rendered {
		rendered[topic] = n
	}
	return f.beats, rendered
}

// A page is a viewer's page: it has the events of its stream. While stalled, it reads nothing.
type page struct {
	mu      sync.Mutex
	sent    bytes.Buffer
	stalled chan struct{} // it reads if this is closed or nil
	header  http.Header
	code    int
	close   context.CancelFunc
	ended   chan bool
}

func (p *page) Header() http.Header  { return p.header }
func (p *page) WriteHeader(code int) { p.code = code }
func (p *page) Flush()               {}
func (p *page) Write(text []byte) (int, error) {
	if p.stalled != nil {
		<-p.stalled
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent.Write(text)
}

// read returns the events since the last read.
func (p *page) read() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.sent.Reset()
	return p.sent.String()
}

func open(h *Hub[string], topic string, stalled chan struct{}) *page {
	ctx, cancel := context.WithCancel(context.Background())
	p := &page{header: http.Header{}, close: cancel, ended: make(chan bool, 1), stalled: stalled}
	r := httptest.NewRequestWithContext(ctx, "GET", "/events", nil)
	go func() { p.ended <- h.Serve(p, r, topic, "anna", maxStreams) }()
	return p
}

// openAs is open for one of several viewers, who may have few streams.
func openAs(h *Hub[string], viewer string, most int) *page {
	ctx, cancel := context.WithCancel(context.Background())
	p := &page{header: http.Header{}, close: cancel, ended: make(chan bool, 1)}
	go func() {
		p.ended <- h.Serve(p, httptest.NewRequestWithContext(ctx, "GET", "/events", nil), "a", viewer, most)
	}()
	return p
}

func newTestHub(source *fakeSource) *Hub[string] {
	source.rendered, source.html = map[string]int{}, map[string]string{}
	return NewHub(source, Options{Every: 2 * time.Second, Linger: 10 * time.Second, Version: "v1"})
}

// after waits in fake time until all goroutines that this wakes are idle.
func after(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

func TestNobodyLooksNothingIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		hub := newTestHub(source)
		defer hub.Close()
		after(time.Minute)
		if beats, _ := source.counts(); beats != 0 {
			t.Fatalf("before the first viewer the store was read %d times", beats)
		}
		for range 2 { // the second viewer comes after the poller has ended
			before, _ := source.counts()
			viewer := open(hub, "overview", nil)
			after(9 * time.Second)
			if beats, _ := source.counts(); beats-before != 5 {
				t.Errorf("in 9 s the store was read %d times, want 5: at once and every 2 s", beats-before)
			}
			viewer.close()
			after(10 * time.Second)
			left, rendered := source.counts()
			after(time.Hour)
			if beats, again := source.counts(); beats > left+1 || again["overview"] != rendered["overview"] {
				t.Errorf("an hour after the last viewer the store was read %d times more", beats-left)
			}
		}
	})
}

func TestATopicIsRenderedOnceForAllItsViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		hub := newTestHub(source)
		defer hub.Close()
		var viewers []*page
		for range 50 {
			viewers = append(viewers, open(hub, "overview", nil))
		}
		after(time.Second)
		_, before := source.counts()
		after(20 * time.Second)
		if _, rendered := source.counts(); rendered["overview"]-before["overview"] != 10 {
			t.Errorf("in 20 s it was rendered %d times, want 10", rendered["overview"]-before["overview"])
		}
		for i, viewer := range viewers {
			if text := viewer.read(); strings.Count(text, "event: region") != 1 {
				t.Errorf("viewer %d was sent %d regions, want 1: it has not changed", i, strings.Count(text, "event: region"))
			}
		}
	})
}

func TestARegionIsSentWhenItHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		hub := newTestHub(source)
		defer hub.Close()
		viewer := open(hub, "a", nil)
		after(time.Second)
		text := viewer.read()
		for _, want := range []string{"event: hello\ndata: {\"every\":2000,\"version\":\"v1\"}\n\n", `"html":"a","id":"main"`, `"failures":3`} {
			if !strings.Contains(text, want) {
				t.Errorf("the first events have no %s:\n%s", want, text)
			}
		}
		source.set(func() { source.html["a"] = "<b>\n</b>" })
		after(2 * time.Second)
		if text := viewer.read(); !strings.Contains(text, `"html":"\u003cb\u003e\n\u003c/b\u003e"`) {
			t.Errorf("the change was not sent:\n%s", text)
		}
		if viewer.header.Get("Content-Type") != "text/event-stream; charset=utf-8" || viewer.header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("header %v", viewer.header)
		}
	})
}

// A new viewer between two turns does not wait for the next turn, and nothing else is read for them.
func TestWhoComesIsGreeted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		hub := newTestHub(source)
		defer hub.Close()
		first := open(hub, "a", nil)
		after(500 * time.Millisecond)
		first.read()
		beats, _ := source.counts()
		second := open(hub, "b", nil)
		synctest.Wait()
		if text := second.read(); strings.Count(text, "event: region") != 1 {
			t.Errorf("at once it was sent:\n%s\nwant its region", text)
		}
		again, rendered := source.counts()
		if text := first.read(); text != "" || again != beats || rendered["a"] != 1 {
			t.Errorf("the store was read %d times for it, topic a was rendered %d times in total, and another viewer was sent %q; want 0, 1 and nothing", again-beats, rendered["a"], text)
		}
		source.set(func() { source.down = errors.New("no answer") })
		after(2 * time.Second)
		third := open(hub, "c", nil)
		synctest.Wait()
		if _, rendered := source.counts(); rendered["c"] != 0 || strings.Contains(third.read(), "event: region") {
			t.Error("a topic was rendered while the store did not answer")
		}
	})
}

func TestMoreTopicsThanATurnHasTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		hub := newTestHub(source)
		defer hub.Close()
		for i := range maxTopics + 5 {
			open(hub, fmt.Sprint(i), nil)
		}
		after(time.Second)
		_, before := source.counts()
		after(4 * 2 * time.Second)
		_, rendered := source.counts()
		sum := 0
		for i := range maxTopics + 5 {
			n := rendered[fmt.Sprint(i)] - before[fmt.Sprint(i)]
			if sum += n; n < 2 {
				t.Errorf("topic %d was rendered %d times in 4 turns, want 2", i, n)
			}
		}
		if sum > 4*maxTopics {
			t.Errorf("4 turns have rendered %d topics, want at most %d", sum, 4*maxTopics)
		}
	})
}

func TestViewersSeeAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		hub := newTestHub(source)
		defer hub.Close()
		viewer := open(hub, "a", nil)
		after(time.Second)
		viewer.read()
		source.set(func() { source.down = errors.New("No answer from Redis") })
		after(6 * time.Second)
		text := viewer.read()
		for _, want := range []string{`"text":"No answer from Redis"}`, `"text":"No answer from Redis for 4s"}`} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s:\n%s", want, text)
			}
		}
		if strings.Contains(text, "event: beat") {
			t.Errorf("the page shows no outage:\n%s", text)
		}
		source.set(func() { source.down = nil })
		after(2 * time.Second)
		source.set(func() { source.down = errors.New("No answer from Redis") })
		after(2 * time.Second)
		if text := viewer.read(); !strings.Contains(text, "event: beat") || !strings.Contains(text, `"text":"No answer from Redis"}`) {
			t.Errorf("the duration of a second outage includes the first one:\n%s", text)
		}
	})
}

func TestARenderErrorIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		hub := newTestHub(source)
		defer hub.Close()
		viewer := open(hub, "a", nil)
		after(time.Second)
		viewer.read()
		source.set(func() { source.gone = errors.New("the schedule was deleted") })
		after(6 * time.Second)
		if text := viewer.read(); strings.Count(text, "event: broken\ndata: {\"text\":\"the schedule was deleted\"}") != 1 {
			t.Errorf("want it sent once:\n%s", text)
		}
		source.set(func() { source.gone = nil })
		after(2 * time.Second)
		if text := viewer.read(); !strings.Contains(text, "event: region") {
			t.Errorf("the new content was not sent:\n%s", text)
		}
	})
}

// A viewer who does not read delays nobody, and is dropped. A large page alone is not a reason to drop a viewer.
func TestAViewerWhoIsBehindIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &fakeSource{}
		hub := newTestHub(source)
		defer hub.Close()
		large := strings.Repeat("x", 3*maxBehind)
		source.html["a"] = large
		stalled := make(chan struct{})
		slow, quick := open(hub, "a", stalled), open(hub, "a", nil)
		for i := range 5 {
			source.set(func() { source.html["a"] = large + strings.Repeat("y", i) })
			after(2 * time.Second)
		}
		if text := quick.read(); strings.Count(text, "event: region") < 5 || strings.Contains(text, "event: end") {
			t.Errorf("the quick viewer was sent %d regions", strings.Count(text, "event: region"))
		}
		close(stalled)
		synctest.Wait()
		if served := <-slow.ended; !served {
			t.Error("it was not served at all")
		}
		if text := slow.read(); !strings.HasSuffix(text, "event: end\ndata: {\"text\":\"this page was too slow to read\"}\n\n") {
			t.Errorf("the slow viewer got %d bytes and no reason", len(text))
		}
	})
}

func TestCloseEndsAllStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := newTestHub(&fakeSource{})
		viewer := open(hub, "a", nil)
		after(time.Second)
		hub.Close()
		<-viewer.ended
		if text := viewer.read(); !strings.Contains(text, "event: end") {
			t.Errorf("it got no event:\n%s", text)
		}
		late := open(hub, "a", nil)
		if served := <-late.ended; served || !strings.HasPrefix(late.read(), "event: full\n") {
			t.Error("a closed hub serves a stream")
		}
	})
}

func TestThereAreSoManyStreamsAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := newTestHub(&fakeSource{})
		defer hub.Close()
		var first *page
		for i := range maxStreams {
			if p := open(hub, "a", nil); i == 0 {
				first = p
			}
		}
		synctest.Wait()
		if served := <-open(hub, "a", nil).ended; served {
			t.Errorf("stream %d was served", maxStreams+1)
		}
		first.close()
		<-first.ended
		next := open(hub, "a", nil)
		after(time.Second)
		if next.code != 200 {
			t.Error("a stream that ended still counts")
		}
	})
}

// One viewer with many pages takes no stream of another one, and every page that gets none learns it.
func TestAViewerHasALimitOfStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := newTestHub(&fakeSource{})
		defer hub.Close()
		var pages []*page
		for range 3 {
			pages = append(pages, openAs(hub, "anna", 3))
		}
		after(time.Second)
		refused := openAs(hub, "anna", 3)
		if served := <-refused.ended; served {
			t.Error("the fourth stream of a viewer with three was served")
		}
		if text := refused.read(); !strings.HasPrefix(text, "event: full\n") || !strings.Contains(text, "event: end\n") || strings.Contains(text, "hello") {
			t.Errorf("the refused page got %q, want the events full and end", text)
		}
		if refused.code != 200 || !strings.HasPrefix(refused.header.Get("Content-Type"), "text/event-stream") {
			t.Errorf("the refused page got %d, %v; want a stream", refused.code, refused.header)
		}
		other := openAs(hub, "ben", 3)
		pages[0].close()
		<-pages[0].ended
		again := openAs(hub, "anna", 3)
		after(time.Second)
		if !strings.HasPrefix(other.read(), "event: hello\n") || !strings.HasPrefix(again.read(), "event: hello\n") {
			t.Error("another viewer, or a viewer who has closed a page, got no stream")
		}
	})
}
