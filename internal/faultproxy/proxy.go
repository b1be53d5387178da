// Package faultproxy is a TCP proxy between a client and a Redis server that causes network faults for tests: it loses replies to executed
// commands, loses requests, and cuts, stalls, delays and refuses connections. It reads the Redis protocol, so that a test can name the command
// for a fault and does not depend on timing.
//
//	proxy := faultproxy.Start(t, server.Addr())
//	lost := proxy.LoseReply(proxy.Script("work"))
//	… // a client of proxy.Addr() calls work.lua
//	<-lost // the server has executed it, and the client's connection has ended
package faultproxy

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Proxy forwards connections to one Redis server. Its methods add and end faults, and may be called at any time from any
// goroutine.
type Proxy struct {
	target   string
	listener net.Listener
	owned    sync.WaitGroup // all goroutines of the proxy
	matching sync.Mutex     // held while matches run: they receive one command at a time and may call the proxy

	mu      sync.Mutex
	open    chan struct{} // closed unless stalled; each stall makes a new channel
	stalled bool
	refuse  bool
	closed  bool
	link    Link
	conns   map[*conn]struct{}
	rules   []*rule
	scripts map[string]string // SHA1 of a script's text to its name

	watched atomic.Pointer[[]byte] // see CountReplies

	counts struct{ connections, commands, replies, lost, cut, refused, watched atomic.Int64 }
}

// Counts are the numbers of forwarded and dropped messages since the start.
type Counts struct {
	Connections int64 // connections forwarded
	Commands    int64 // commands forwarded to the server
	Replies     int64 // replies and push messages forwarded to the client
	Lost        int64 // replies to executed commands that were dropped
	Cut         int64 // connections ended by the proxy
	Refused     int64 // connections refused
	Watched     int64 // replies with the prefix of CountReplies
}

// Start listens on a free port of the loopback interface and forwards connections to target (host:port) until the test ends.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		target: target, listener: listener, open: make(chan struct{}),
		conns: map[*conn]struct{}{}, scripts: map[string]string{},
	}
	close(p.open)
	p.owned.Go(p.accept)
	t.Cleanup(p.Close)
	return p
}

// Addr returns the address that a client dials instead of the server's.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Counts returns the counts so far.
func (p *Proxy) Counts() Counts {
	return Counts{
		Connections: p.counts.connections.Load(), Commands: p.counts.commands.Load(), Replies: p.counts.replies.Load(),
		Lost: p.counts.lost.Load(), Cut: p.counts.cut.Load(), Refused: p.counts.refused.Load(),
		Watched: p.counts.watched.Load(),
	}
}

// CountReplies sets that Counts.Watched counts, from now on, the replies of the server that begin with prefix, such as "-READONLY".
func (p *Proxy) CountReplies(prefix string) {
	text := []byte(prefix)
	p.watched.Store(&text)
}

// Cut ends every open connection, in both directions at once. New connections are accepted, and rules that wait for a reply on the old ones
// apply to them.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		p.counts.cut.Add(1)
		c.close()
		p.putBack(c)
	}
}

// Refuse(true) makes the proxy end each new connection before a byte is forwarded; Refuse(false) stops that. Open connections remain open.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// Stall holds every byte back, in both directions, and leaves all connections open, like a network that silently drops packets.
// New connections are accepted and receive nothing.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stalled {
		p.stalled, p.open = true, make(chan struct{})
	}
}

// Resume ends a Stall. The bytes held back are then forwarded.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled {
		p.stalled = false
		close(p.open)
	}
}

// Delay delays every reply by d. The replies to one pipeline are delayed once, together. Zero ends the delay.
func (p *Proxy) Delay(d time.Duration) { p.Shape(Link{Delay: d}) }

// Shape makes replies as slow as a link does. The zero Link ends that.
func (p *Proxy) Shape(link Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link = link
}

// Close ends all connections and returns when the proxy's last goroutine has ended. A second Close does nothing.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		c.close()
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
		p.owned.Go(func() { p.serve(client) })
	}
}

// serve forwards one connection until it ends.
func (p *Proxy) serve(client net.Conn) {
	c := &conn{proxy: p, client: client, done: make(chan struct{})}
	if !p.register(c) {
		p.counts.refused.Add(1)
		c.close()
		return
	}
	defer p.unregister(c)
	server, err := net.DialTimeout("tcp", p.target, 10*time.Second)
	if err != nil || !c.connect(server) {
		if err == nil {
			server.Close()
		}
		return
	}
	p.counts.connections.Add(1)
	var replies sync.WaitGroup
	replies.Go(c.forwardReplies)
	c.forwardRequests()
	replies.Wait()
}

// register returns false if the proxy refuses new connections.
func (p *Proxy) register(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.refuse {
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

// unregister removes a connection whose goroutines have ended.
func (p *Proxy) unregister(c *conn) {
	c.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
	p.putBack(c)
}

// putBack puts back the rules that apply once and have not applied, because the connection has ended for another reason before the reply came.
// The caller holds p.mu.
func (p *Proxy) putBack(c *conn) {
	for _, b := range c.takeWaiting() {
		if b.rule != nil && b.rule.once {
			p.rules = append(slices.Clone(p.rules), b.rule)
		}
	}
}

// waitOpen returns true when no stall blocks bytes, and false if the connection ends first.
func (p *Proxy) waitOpen(c *conn) bool {
	for {
		p.mu.Lock()
		open, stalled := p.open, p.stalled
		p.mu.Unlock()
		if !stalled {
			return true
		}
		select {
		case <-open:
		case <-c.done:
			return false
		}
	}
}

func (p *Proxy) replyDelay(bytes int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link.delay(bytes)
}
