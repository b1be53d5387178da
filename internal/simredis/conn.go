package simredis

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// A conn is a client's connection in memory. Write executes commands in the goroutine of the client, and Read returns their replies, so that a round
// trip wakes no other goroutine; see Turns. Write never waits for a reader: replies are kept in memory.
//
//	idle       nobody executes, and in has no complete command
//	executing  one goroutine executes the commands in in, one after the other: the one of Write, or another if a command may wait
//	ended      err is set. The goroutine that executes unsubscribes; if there is none, end does
type conn struct {
	server *Server
	serves *server.Server
	peer   *server.Peer
	wake   chan struct{} // capacity 1: out, err or deadline has changed
	limit  int           // of in, in bytes

	mu         sync.Mutex
	in         []byte // written and not executed yet, from position done on
	done       int
	spans      []int  // of commandIn
	out        []byte // replied and not read yet, from position read on
	read       int
	executing  bool
	subscribed bool
	err        error // why the connection has ended
	deadline   time.Time
}

const (
	maxUnread = 1 << 30  // Redis's default client-query-buffer-limit
	maxKept   = 64 << 10 // bytes of memory that are kept for the next commands
)

// waits has the commands that may wait for other clients.
var waits = map[string]bool{
	"BLPOP": true, "BRPOP": true, "BRPOPLPUSH": true, "BLMOVE": true, "BLMPOP": true, "BZPOPMIN": true, "BZPOPMAX": true, "BZMPOP": true,
	"XREAD": true, "XREADGROUP": true, "WAIT": true,
}

func newConn(s *Server, serves *server.Server) *conn {
	c := &conn{server: s, serves: serves, wake: make(chan struct{}, 1), limit: maxUnread}
	c.peer = server.NewPeer(bufio.NewWriter(replies{c}))
	return c
}

// Write executes the commands that p completes.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		if c.err == io.EOF {
			return 0, io.ErrClosedPipe
		}
		return 0, c.err
	}
	if len(c.in)-c.done+len(p) > c.limit {
		c.mu.Unlock()
		c.end(io.EOF)
		return 0, fmt.Errorf("simredis: write: more than %d bytes wait for the server", c.limit)
	}
	c.in = append(c.in, p...)
	mine := !c.executing
	c.executing = true
	c.mu.Unlock()
	if mine {
		c.execute(false)
	}
	return len(p), nil
}

// execute executes what was written, until no command is complete or the connection has ended. If a command may wait, another goroutine
// continues.
func (c *conn) execute(mayWait bool) {
	for {
		args, again := c.next(mayWait)
		switch {
		case len(args) > 0:
			c.serves.Dispatch(c.peer, args)
			if c.peer.Closed() {
				c.peer.Flush()
				c.end(io.EOF)
			} else if mayWait {
				c.peer.Flush()
			}
		case again:
		default:
			return
		}
	}
}

// next takes the next command. Without one it ends the execution, unless again is true.
func (c *conn) next(mayWait bool) (args []string, again bool) {
	c.mu.Lock()
	if c.err != nil {
		subscribed := c.subscribed
		c.executing = false
		c.mu.Unlock()
		if subscribed {
			c.unsubscribe()
		}
		return nil, false
	}
	args, size, err := c.commandIn(c.in[c.done:])
	switch {
	case err != nil:
		c.mu.Unlock()
		c.peer.Flush()
		c.end(io.EOF)
		return nil, true
	case size == 0:
		c.executing = false
		c.mu.Unlock()
		c.peer.Flush()
		return nil, false
	case len(args) > 0 && !mayWait && waits[strings.ToUpper(args[0])]:
		c.mu.Unlock()
		c.peer.Flush()
		if !c.server.start(func() { c.execute(true) }) {
			c.end(io.EOF)
			return nil, true
		}
		return nil, false
	}
	if c.done += size; c.done == len(c.in) {
		c.in, c.done = kept(c.in), 0
	}
	if len(args) > 1 && (strings.EqualFold(args[0], "SUBSCRIBE") || strings.EqualFold(args[0], "PSUBSCRIBE")) {
		c.subscribed = true
	}
	c.mu.Unlock()
	return args, len(args) == 0
}

// unsubscribe ends the goroutines that miniredis has for a subscriber.
func (c *conn) unsubscribe() {
	for _, command := range []string{"DISCARD", "UNSUBSCRIBE", "PUNSUBSCRIBE"} {
		c.serves.Dispatch(c.peer, []string{command})
	}
}

// end ends the connection. The first reason counts.
func (c *conn) end(reason error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err, c.in, c.done = reason, nil, 0
	mine := !c.executing && c.subscribed
	c.mu.Unlock()
	c.peer.Close() // for a command that waits
	if mine {
		c.unsubscribe()
	}
	c.notify()
	c.server.forget(c)
}

// Close ends the connection. A command that waits ends when the server wakes it.
func (c *conn) Close() error {
	c.end(net.ErrClosed)
	return nil
}

// Read waits for replies until the read deadline.
func (c *conn) Read(p []byte) (int, error) {
	for {
		c.mu.Lock()
		deadline, err, left := c.deadline, c.err, time.Duration(0)
		if !deadline.IsZero() {
			left = time.Until(deadline)
		}
		switch {
		case err == net.ErrClosed:
			c.mu.Unlock()
			return 0, err
		case !deadline.IsZero() && left <= 0:
			c.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		case c.read < len(c.out):
			n := copy(p, c.out[c.read:])
			if c.read += n; c.read == len(c.out) {
				c.out, c.read = kept(c.out), 0
			}
			c.mu.Unlock()
			return n, nil
		}
		c.mu.Unlock()
		if err != nil {
			c.notify() // for another reader
			return 0, err
		}
		c.wait(left)
	}
}

// wait waits until something has changed; 0: without a limit.
func (c *conn) wait(limit time.Duration) {
	if limit == 0 {
		<-c.wake
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.wake:
	case <-timer.C:
	}
}

func (c *conn) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// SetReadDeadline sets until when Read waits; zero: without a limit.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	c.notify()
	return nil
}

// SetDeadline sets the deadline of Read only: Write does not wait.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline does nothing: Write does not wait.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

func (c *conn) LocalAddr() net.Addr  { return address{} }
func (c *conn) RemoteAddr() net.Addr { return address{} }

// replies is the server's side of a connection.
type replies struct{ *conn }

func (r replies) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.out = append(r.out, p...)
		r.notify()
	}
	return len(p), nil
}

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "memory" }

// kept empties a buffer, and releases one that has become large.
func kept(buffer []byte) []byte {
	if cap(buffer) > maxKept {
		return nil
	}
	return buffer[:0]
}

// commandIn reads the first command: an array of bulk strings. It returns its size in bytes; 0: it is not complete.
func (c *conn) commandIn(in []byte) (args []string, size int, err error) {
	n, at, err := number(in, 0, '*')
	if err != nil || at == 0 {
		return nil, 0, err
	}
	c.spans = c.spans[:0]
	for range n {
		length, from, err := number(in, at, '$')
		if err != nil || from == 0 || len(in) < from+length+2 {
			return nil, 0, err
		}
		c.spans = append(c.spans, from, from+length)
		at = from + length + 2
	}
	args = make([]string, 0, n)
	for i := 0; i < len(c.spans); i += 2 {
		args = append(args, string(in[c.spans[i]:c.spans[i+1]])) // each of its own: commands keep some of them
	}
	return args, at, nil
}

// number reads a line of a kind and a number, and returns where the next one begins; 0: the line is not complete.
func number(in []byte, at int, kind byte) (n, next int, err error) {
	for i := at; i < len(in); i++ {
		switch b := in[i]; {
		case i == at && b == kind:
		case i > at+2 && b == '\n' && in[i-1] == '\r':
			return n, i + 1, nil
		case i > at && b >= '0' && b <= '9' && n < maxUnread && in[i-1] != '\r':
			n = 10*n + int(b-'0')
		case i > at+1 && b == '\r' && in[i-1] != '\r':
		default:
			return 0, 0, server.ErrProtocol
		}
	}
	return 0, 0, nil
}
