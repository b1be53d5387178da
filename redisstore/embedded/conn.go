package embedded

import (
	"net"
	"sync"
	"time"
)

// A conn is a client's in-memory connection whose Write does not wait for the other end to read. A pipe has no buffer: a client
// that sends many commands at once would wait for the server, which waits for the client to read its answers. Here what is
// sent gathers in memory, as much as the client sends before it reads, and a goroutine that ends with the connection
// passes it on.
type conn struct {
	net.Conn
	more   chan struct{} // room for one
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	sent []byte // not passed on yet
	err  error  // of the last time that something was
}

func newConn(pipe net.Conn) *conn {
	c := &conn{Conn: pipe, more: make(chan struct{}, 1), closed: make(chan struct{})}
	go c.pass()
	return c
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
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
			c.mu.Lock()
			c.err = err
			c.mu.Unlock()
			return
		}
	}
}

// SetDeadline and SetWriteDeadline leave writing alone, which does not wait.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

func (c *conn) SetWriteDeadline(time.Time) error { return nil }

func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
