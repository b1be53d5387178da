package action

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	idleTimeout = 2 * time.Second // shorter than the 5 s after which many servers close an idle connection
	maxIdle     = 500             // idle connections of one pool
)

// A pool is an http.RoundTripper that writes each request to one connection only. An http.Transport repeats some requests by itself, those with an
// Idempotency-Key among them: once on each idle connection that has broken, and over HTTP/2 as long as the receiver resets the stream with some codes.
//
// A connection is being dialled, then busy or idle in turn, and closed in the end:
//
//   - busy: a request has reserved it. Over HTTP/1.1 it has one request at a time, over HTTP/2 as many as the receiver permits.
//   - idle: it has no request. It is closed after idleTimeout, or at once if a request on it has failed, if it takes no further one, or if the pool has
//     enough idle connections.
//
// Its state changes only with mu held. Invariant: after a byte of a request could have been written to one connection, no other connection gets the request.
type pool struct {
	transport *http.Transport // dials; the pool of its own stays empty
	perHost   int             // idle connections to one host and port

	mu    sync.Mutex
	conns map[string][]*pooled // by scheme, host and port; the last one dialled is at the end
	idle  int                  // idle connections of all keys
}

// A pooled is a connection of a pool.
type pooled struct {
	*http.ClientConn
	key    string
	users  int         // requests that have reserved it; 0: idle
	failed bool        // a request on it had no answer, so it gets no further one: it may be dead, although nothing has closed it
	timer  *time.Timer // closes it, while it is idle
}

func newPool(transport *http.Transport, perHost int) *pool {
	transport.IdleConnTimeout = idleTimeout
	return &pool{transport: transport, perHost: perHost, conns: map[string][]*pooled{}}
}

// RoundTrip sends a request once. There is one repetition, on a new connection: if a connection that was used before has closed before anything of the
// request was written to it.
func (p *pool) RoundTrip(request *http.Request) (*http.Response, error) {
	if c := p.take(request.URL); c != nil {
		answer, begun, err := p.send(c, request)
		if err == nil || begun || request.Context().Err() != nil {
			return answer, err
		}
		if request.Body != nil && request.Body != http.NoBody {
			again := *request
			if again.GetBody == nil {
				return nil, err
			}
			if again.Body, err = again.GetBody(); err != nil {
				return nil, err
			}
			request = &again
		}
	}
	c, err := p.dial(request.Context(), request.URL)
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	answer, _, err := p.send(c, request)
	return answer, err
}

// send sends a request on a reserved connection, which it releases with the body of the answer. begun reports whether a part of it may have been written.
func (p *pool) send(c *pooled, request *http.Request) (answer *http.Response, begun bool, err error) {
	var wrote atomic.Bool
	traced := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{WroteHeaderField: func(string, []string) { wrote.Store(true) }})
	answer, err = c.RoundTrip(request.WithContext(traced))
	if err != nil {
		p.release(c, true)
		return nil, wrote.Load(), bare(err)
	}
	answer.Body = &pooledBody{ReadCloser: answer.Body, release: func() { p.release(c, false) }}
	return answer, true, nil
}

// bare is an error of a connection without the words that an http.Transport removes too.
func bare(err error) error {
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), "net/http: Transport failed to read from server: ") {
		return inner
	}
	return err
}

// take reserves a place on an open connection, or returns nil. It closes idle connections that have broken.
func (p *pool) take(u *url.URL) *pooled {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range slices.Backward(slices.Clone(p.conns[poolKey(u)])) {
		if !c.failed && c.Err() == nil && c.Reserve() == nil {
			p.use(c)
			return c
		}
		if c.users == 0 {
			p.close(c)
		}
	}
	return nil
}

// dial makes a connection with a place reserved. It is busy in the pool, and open to further requests over HTTP/2.
func (p *pool) dial(ctx context.Context, u *url.URL) (*pooled, error) {
	conn, err := p.transport.NewClientConn(ctx, strings.ToLower(u.Scheme), net.JoinHostPort(u.Hostname(), portOf(u)))
	if err != nil {
		return nil, err
	}
	c := &pooled{ClientConn: conn, key: poolKey(u)}
	if err := c.Reserve(); err != nil {
		_ = c.Close()
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c.key] = append(p.conns[c.key], c)
	p.idle++
	p.use(c)
	return c, nil
}

// use makes a connection busy, or gives it one more request. The caller holds mu.
func (p *pool) use(c *pooled) {
	if c.users++; c.users > 1 {
		return
	}
	p.idle--
	if c.timer != nil {
		c.timer.Stop()
	}
}

// release ends one request of a connection.
func (p *pool) release(c *pooled, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.failed = c.failed || failed
	if c.users--; c.users > 0 {
		return
	}
	p.idle++
	if c.failed || c.Available() == 0 || p.idle > maxIdle || p.idleTo(c.key) > p.perHost {
		p.close(c)
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(idleTimeout, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if c.users == 0 && c.timer == timer {
			p.close(c)
		}
	})
	c.timer = timer
}

func (p *pool) idleTo(key string) int {
	n := 0
	for _, c := range p.conns[key] {
		if c.users == 0 {
			n++
		}
	}
	return n
}

// close closes an idle connection. The caller holds mu. A closed connection may be closed again.
func (p *pool) close(c *pooled) {
	at := slices.Index(p.conns[c.key], c)
	if at < 0 {
		return
	}
	p.idle--
	if p.conns[c.key] = slices.Delete(p.conns[c.key], at, at+1); len(p.conns[c.key]) == 0 {
		delete(p.conns, c.key)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	_ = c.Close()
}

// closeIdle closes all idle connections.
func (p *pool) closeIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, all := range p.conns {
		for _, c := range slices.Clone(all) {
			if c.users == 0 {
				p.close(c)
			}
		}
	}
}

// poolKey is the destination of the connections that requests to a URL can use.
func poolKey(u *url.URL) string {
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), portOf(u))
}

// A pooledBody ends a request when its answer's body is closed.
type pooledBody struct {
	io.ReadCloser
	once    sync.Once
	release func()
}

func (b *pooledBody) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.release)
	return err
}
