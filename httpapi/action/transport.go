package action

import (
	"container/list"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	dialTimeout      = 5 * time.Second
	handshakeTimeout = 10 * time.Second
	maxAnswerHeader  = 64 << 10 // bytes
	maxOwnPools      = 256      // pools of connections with client certificates
)

// transports hold the connections of a sender. All requests share them, except requests with a client certificate: their connections
// serve one job only, because the certificate would authenticate another job's request too.
type transports struct {
	egress  Egress
	perHost int // idle connections to one host and port
	shared  *pool

	mu   sync.Mutex
	own  map[[32]byte]*list.Element // by job, certificate and key
	used list.List                  // of *ownPool, the last used one in front
}

type ownPool struct {
	key [32]byte
	*pool
}

func newTransports(egress Egress, perHost int) *transports {
	t := &transports{egress: egress, perHost: perHost, own: map[[32]byte]*list.Element{}}
	t.shared = t.make(nil)
	return t
}

// make returns a pool of connections.
func (t *transports) make(certificate *tls.Certificate) *pool {
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.egress.Roots}
	if certificate != nil {
		config.Certificates = []tls.Certificate{*certificate}
	}
	dialer := &net.Dialer{Timeout: dialTimeout, Control: t.egress.guard().Control}
	if t.egress.Proxy != nil {
		dialer.Control = nil // only the proxy's address is dialled
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
		TLSClientConfig: config, TLSHandshakeTimeout: handshakeTimeout, ForceAttemptHTTP2: true, DisableCompression: true,
		MaxResponseHeaderBytes: maxAnswerHeader,
	}
	if t.egress.Proxy != nil {
		transport.Proxy = http.ProxyURL(t.egress.Proxy)
	}
	return newPool(transport, t.perHost)
}

// of returns the pool for a request. job identifies the job uniquely.
func (t *transports) of(job string, auth *Authentication) (*pool, error) {
	if auth == nil || auth.Type != ClientCertificate {
		return t.shared, nil
	}
	certificate, err := tls.X509KeyPair([]byte(auth.Certificate), []byte(auth.Key.text))
	if err != nil {
		return nil, &requestError{"the client certificate and its key cannot be read", nil}
	}
	key := sha256.Sum256([]byte(owner(job, auth.Certificate, auth.Key.text)))
	pool, evicted := t.ownPool(key, &certificate)
	if evicted != nil {
		evicted.closeIdle()
	}
	return pool, nil
}

// ownPool returns the pool of a job, and a pool that it has replaced or nil.
func (t *transports) ownPool(key [32]byte, certificate *tls.Certificate) (own, evicted *pool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.own[key]; ok {
		t.used.MoveToFront(e)
		return e.Value.(*ownPool).pool, nil
	}
	own = t.make(certificate)
	t.own[key] = t.used.PushFront(&ownPool{key, own})
	if t.used.Len() > maxOwnPools {
		oldest := t.used.Remove(t.used.Back()).(*ownPool)
		delete(t.own, oldest.key)
		evicted = oldest.pool
	}
	return own, evicted
}

// close closes the idle connections.
func (t *transports) close() {
	pools := []*pool{t.shared}
	t.mu.Lock()
	for e := t.used.Front(); e != nil; e = e.Next() {
		pools = append(pools, e.Value.(*ownPool).pool)
	}
	t.mu.Unlock()
	var all sync.WaitGroup
	for _, pool := range pools {
		all.Go(pool.closeIdle)
	}
	all.Wait()
}
