package embedded

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// A conn is a client's in-memory connection whose Write does not wait for the other end to read. A pipe has no buffer: a client
// that sends many commands at once would wait for the server, which waits for the client to read its answers. Here what is
// sent gathers in memory, and a goroutine that ends with the connection passes it on. A connection with more than maxSent
// waiting is closed, as a Redis closes one.
type conn struct {
	net.Conn
	more   chan struct{} // room for one
	closed chan struct{}
	ended  chan struct{} // when pass has
	once   sync.Once
	most   int // bytes waiting, maxSent

	mu   sync.Mutex
	sent []byte // not passed on yet
	err  error  // why nothing is any more
}

// maxSent is Redis's default client-query-buffer-limit.
const maxSent = 1 << 30

// maxSpare is the most memory that is kept for what is sent next.
const maxSpare = 64 << 10

func newConn(pipe net.Conn) *conn {
	c := &conn{Conn: pipe, most: maxSent, more: make(chan struct{}, 1), closed: make(chan struct{}), ended: make(chan struct{})}
	go c.pass()
	return c
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	if len(c.sent)+len(p) > c.most {
		c.err = fmt.Errorf("embedded: more than %d bytes sent that the server has not read", c.most)
		_ = c.Conn.Close()
		return 0, c.err
	}
	c.sent = append(c.sent, p...)
	select {
	case c.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (c *conn) pass() {
	defer close(c.ended)
	var passing []byte
	for {
		select {
		case <-c.more:
		case <-c.closed:
			return
		}
		c.mu.Lock()
		passing, c.sent = c.sent, passing[:0]
		c.mu.Unlock()
		if _, err := c.Conn.Write(passing); err != nil {
			c.fail(err)
			return
		}
		if cap(passing) > maxSpare {
			passing = nil
		}
	}
}

// fail keeps the first reason why nothing is passed on any more.
func (c *conn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err, c.sent = err, nil
	}
}

// SetDeadline and SetWriteDeadline leave writing alone, which does not wait.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// Close ends the connection and its goroutine; what has not been passed on is lost.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.fail(net.ErrClosed)
	err := c.Conn.Close()
	<-c.ended
	return err
}
