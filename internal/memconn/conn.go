// Package memconn gives the client of a server in the same process a connection that does not block it.
package memconn

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// A conn is a client's in-memory connection whose Write does not wait for the server to read. A pipe has no buffer: a client that sends many
// commands at once would wait for the server, and the server for the client to read its answers. A conn keeps written bytes in memory, and a
// goroutine that ends with the connection forwards them. A connection with more than maxUnread bytes not forwarded yet is closed, as Redis closes
// one.
type conn struct {
	net.Conn
	written chan struct{} // capacity 1: unread is not empty
	closed  chan struct{}
	ended   chan struct{} // forward has returned
	once    sync.Once
	limit   int // of unread, in bytes

	mu     sync.Mutex
	unread []byte // written and not forwarded yet
	err    error  // why nothing is forwarded any more
}

// maxUnread is Redis's default client-query-buffer-limit, in bytes.
const maxUnread = 1 << 30

// maxKept is how much memory, in bytes, is kept for the next writes.
const maxKept = 64 << 10

// New returns the client's end of a pipe to a server, as a conn.
func New(pipe net.Conn) net.Conn { return newConn(pipe) }

func newConn(pipe net.Conn) *conn {
	c := &conn{Conn: pipe, limit: maxUnread, written: make(chan struct{}, 1), closed: make(chan struct{}), ended: make(chan struct{})}
	go c.forward()
	return c
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	if len(c.unread)+len(p) > c.limit {
		c.err = fmt.Errorf("memconn: write: the server has more than %d bytes to read", c.limit)
		_ = c.Conn.Close()
		return 0, c.err
	}
	c.unread = append(c.unread, p...)
	select {
	case c.written <- struct{}{}:
	default:
	}
	return len(p), nil
}

// forward writes to the pipe what Write has kept, until the connection is closed or fails.
func (c *conn) forward() {
	defer close(c.ended)
	var forwarding []byte
	for {
		select {
		case <-c.written:
		case <-c.closed:
			return
		}
		c.mu.Lock()
		forwarding, c.unread = c.unread, forwarding[:0]
		c.mu.Unlock()
		if _, err := c.Conn.Write(forwarding); err != nil {
			c.fail(err)
			return
		}
		if cap(forwarding) > maxKept {
			forwarding = nil
		}
	}
}

// fail records why nothing is forwarded any more: the first reason counts.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err, c.unread = err, nil
	}
}

// SetDeadline sets the deadline of reading only: Write does not wait.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline does nothing: Write does not wait.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// Close closes the connection and waits for its goroutine; what was not forwarded yet is lost.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.fail(net.ErrClosed)
	err := c.Conn.Close()
	<-c.ended
	return err
}
