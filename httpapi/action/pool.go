package action

import (
	"context"
	"crypto/tls"
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
	maxBuffered = 2000            // bytes of a URL: the buffer of a connection has room for the first two lines of its request
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
// Its state changes only with mu held, and no method of a connection is called with mu held: over TLS, closing waits up to five seconds for a receiver
// that does not read, other methods wait for that, and requests to other receivers must not.
//
// Invariant: after a byte of a request could have been written to one connection, no other connection gets the request.
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
	shared bool        // it takes several requests at the same time
	users  int         // requests that have reserved it, or are trying to; 0: idle
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
	wrote.Store(len(request.URL.String()) > maxBuffered) // a long one fills the buffer, and is written before the first header
	traced := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{WroteHeaderField: func(string, []string) { wrote.Store(true) }})
	answer, err = c.RoundTrip(request.WithContext(traced))
	if err != nil {
		p.release(c, true)
		return nil, wrote.Load(), answerError(err)
	}
	body := &pooledBody{ReadCloser: answer.Body, release: func() { p.release(c, false) }}
	if answer.Body = body; answer.StatusCode == http.StatusSwitchingProtocols {
		_ = body.Close() // no request has asked for it, and reading its body would not end with the context
		answer.Body = http.NoBody
	}
	return answer, true, nil
}

// take reserves a place on an open connection, or returns nil. It closes idle connections that have broken.
func (p *pool) take(u *url.URL) *pooled {
	key := poolKey(u)
	p.mu.Lock()
	known := slices.Clone(p.conns[key])
	p.mu.Unlock()
	var broken []*pooled
	defer func() { closeAll(broken) }()
	for _, c := range slices.Backward(known) {
		if !p.enter(c) {
			continue
		}
		if c.Err() == nil && c.Reserve() == nil {
			return c
		}
		if p.leave(c, !c.shared, c.Available() == 0) {
			broken = append(broken, c)
		}
	}
	return nil
}

// enter makes a connection busy if it is in the pool and can have another request.
func (p *pool) enter(c *pooled) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.failed || c.users > 0 && !c.shared || !slices.Contains(p.conns[c.key], c) {
		return false
	}
	p.use(c)
	return true
}

// dial makes a connection with a place reserved. It is busy in the pool, and open to further requests over HTTP/2.
func (p *pool) dial(ctx context.Context, u *url.URL) (*pooled, error) {
	var failedTLS bool // the last handshake; the one before is the proxy's
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeDone: func(_ tls.ConnectionState, err error) { failedTLS = err != nil }})
	conn, err := p.transport.NewClientConn(traced, strings.ToLower(u.Scheme), net.JoinHostPort(u.Hostname(), portOf(u)))
	if err != nil {
		return nil, dialError(err, failedTLS, p.transport.Proxy != nil)
	}
	c := &pooled{ClientConn: conn, key: poolKey(u), shared: conn.Available() > 1}
	if err := c.Reserve(); err != nil {
		_ = c.Close()
		return nil, answerError(err)
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
	if p.leave(c, failed, c.Available() == 0) {
		_ = c.Close()
	}
}

// leave is release without calls of the connection. spent means that the connection takes no further request. It reports whether the connection has left
// the pool: then the caller closes it.
func (p *pool) leave(c *pooled, failed, spent bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.failed = c.failed || failed
	if c.users--; c.users > 0 {
		return false
	}
	p.idle++
	if c.failed || spent || p.idle > maxIdle || p.idleTo(c.key) > p.perHost {
		return p.remove(c)
	}
	var timer *time.Timer
	timer = time.AfterFunc(idleTimeout, func() {
		p.mu.Lock()
		expired := c.users == 0 && c.timer == timer && p.remove(c)
		p.mu.Unlock()
		if expired {
			_ = c.Close()
		}
	})
	c.timer = timer
	return false
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

// remove takes an idle connection out of the pool, and reports whether it was there. The caller holds mu, and closes the connection without mu.
func (p *pool) remove(c *pooled) bool {
	at := slices.Index(p.conns[c.key], c)
	if at < 0 {
		return false
	}
	p.idle--
	if p.conns[c.key] = slices.Delete(p.conns[c.key], at, at+1); len(p.conns[c.key]) == 0 {
		delete(p.conns, c.key)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	return true
}

// closeIdle closes all idle connections.
func (p *pool) closeIdle() {
	p.mu.Lock()
	var idle []*pooled
	for _, all := range p.conns {
		for _, c := range slices.Clone(all) {
			if c.users == 0 && p.remove(c) {
				idle = append(idle, c)
			}
		}
	}
	p.mu.Unlock()
	closeAll(idle)
}

// closeAll closes connections at the same time, because each may take some seconds.
func closeAll(conns []*pooled) {
	var all sync.WaitGroup
	for _, c := range conns {
		all.Go(func() { _ = c.Close() })
	}
	all.Wait()
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
