// Package faultproxy stands between a client and a Redis and breaks what passes: it loses replies to what was executed,
// loses requests, cuts, stalls, delays and refuses. It reads the protocol, so that a test names the call to hit instead of
// guessing a moment.
//
//	proxy := faultproxy.Start(t, server.Addr())
//	lost := proxy.LoseReply(proxy.Script("work"))
//	… // a client of proxy.Addr() calls work.lua
//	<-lost // the server has executed it, the client saw its connection end
package faultproxy

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Proxy passes connections on to one Redis until it is told otherwise. All its methods may be called at any time, from
// any goroutine.
type Proxy struct {
	target   string
	listener net.Listener
	owned    sync.WaitGroup // every goroutine of the proxy
	matching sync.Mutex     // held while matches run: they see one command at a time, and may ask the proxy

	mu      sync.Mutex
	open    chan struct{} // closed while bytes flow; a new one for each stall
	stalled bool
	refuse  bool
	closed  bool
	delay   time.Duration
	links   map[*link]struct{}
	rules   []*rule
	scripts map[string]string // SHA1 of a script's text → its name

	counts struct{ connections, commands, replies, lost, cut, refused atomic.Int64 }
}

// Counts are what has passed and what has not, since the start.
type Counts struct {
	Connections int64 // accepted and passed on
	Commands    int64 // that reached the server
	Replies     int64 // that reached the client, push messages included
	Lost        int64 // replies to executed commands that did not
	Cut         int64 // connections ended by the proxy
	Refused     int64 // connections not passed on
}

// Start listens on a free port of the loopback interface and passes everything on to target, host and port, until the test
// ends.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		target: target, listener: listener, open: make(chan struct{}),
		links: map[*link]struct{}{}, scripts: map[string]string{},
	}
	close(p.open)
	p.owned.Go(p.accept)
	t.Cleanup(p.Close)
	return p
}

// Addr is what a client dials instead of the server.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Counts returns the counts so far.
func (p *Proxy) Counts() Counts {
	return Counts{
		Connections: p.counts.connections.Load(), Commands: p.counts.commands.Load(), Replies: p.counts.replies.Load(),
		Lost: p.counts.lost.Load(), Cut: p.counts.cut.Load(), Refused: p.counts.refused.Load(),
	}
}

// Cut ends every connection there is, in both directions at once; new ones are welcome.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		p.counts.cut.Add(1)
		l.close()
	}
}

// Refuse ends each new connection before a byte has passed, or no longer does. Those there are stay: see Cut.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// Stall keeps every byte back, in both directions, with all connections open, as a network does that drops packets without
// a word. New connections are accepted and hear nothing.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stalled {
		p.stalled, p.open = true, make(chan struct{})
	}
}

// Resume ends a Stall: what was kept back arrives.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled {
		p.stalled = false
		close(p.open)
	}
}

// Delay has every reply arrive so much later; those of one pipeline together. Zero ends it.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Close ends everything and returns when the proxy's last goroutine has ended. Closing it again does nothing.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for l := range p.links {
		l.close()
	}
	p.mu.Unlock()
	p.listener.Close()
	p.owned.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.owned.Go(func() { p.link(client) })
	}
}

// link passes one connection on, to its end.
func (p *Proxy) link(client net.Conn) {
	l := &link{proxy: p, client: client, done: make(chan struct{})}
	if !p.join(l) {
		p.counts.refused.Add(1)
		l.close()
		return
	}
	defer p.part(l)
	server, err := net.DialTimeout("tcp", p.target, 10*time.Second)
	if err != nil || !l.connect(server) {
		if err == nil {
			server.Close()
		}
		return
	}
	p.counts.connections.Add(1)
	var replies sync.WaitGroup
	replies.Go(l.replies)
	l.requests()
	replies.Wait()
}

func (p *Proxy) join(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.refuse {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

// part forgets a link whose goroutines have ended.
func (p *Proxy) part(l *link) {
	l.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
	for _, b := range l.waiting { // ended before its reply came, by something else: the rule has not struck
		if b.rule != nil && b.rule.once {
			p.rules = append(slices.Clone(p.rules), b.rule)
		}
	}
}

// gate returns when bytes may flow; false: the connection ended meanwhile.
func (p *Proxy) gate(l *link) bool {
	for {
		p.mu.Lock()
		open, stalled := p.open, p.stalled
		p.mu.Unlock()
		if !stalled {
			return true
		}
		select {
		case <-open:
		case <-l.done:
			return false
		}
	}
}

func (p *Proxy) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}
