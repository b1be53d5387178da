package action

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/chimetest"
)

// A dialled counts the connections to a receiver and the requests that arrive there.
type dialled struct {
	closes bool          // the receiver closes a connection after each answer, without saying so
	hold   chan struct{} // nil, or answers wait until it is closed
	answer string        // empty: 200 with a body

	mu              sync.Mutex
	conns, requests int
	open, theirs    []net.Conn
}

func (d *dialled) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	d.mu.Lock()
	d.conns, d.open, d.theirs = d.conns+1, append(d.open, ours), append(d.theirs, theirs)
	d.mu.Unlock()
	go func() {
		defer theirs.Close()
		for in := bufio.NewReader(theirs); ; {
			request, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, request.Body)
			d.mu.Lock()
			d.requests++
			d.mu.Unlock()
			if d.hold != nil {
				<-d.hold
			}
			if _, err := io.WriteString(theirs, cmp.Or(d.answer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")); err != nil || d.closes {
				return
			}
		}
	}()
	return ours, nil
}

func (d *dialled) counts() (conns, requests int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conns, d.requests
}

const receiverURL = "http://example.com/"

func post(t *testing.T, ctx context.Context, p *pool, uri string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, "POST", uri, strings.NewReader("charge 100 EUR"))
	if err != nil {
		t.Error(err)
		return
	}
	answer, err := p.RoundTrip(request)
	if err != nil {
		t.Error(err)
		return
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "ok" {
		t.Errorf("%q, %v", body, err)
	}
}

func pooledTo(d *dialled, perHost int) *pool {
	return newPool(&http.Transport{DialContext: d.dial}, perHost)
}

// Many servers close an idle connection after five seconds.
func TestAnIdleConnectionIsUsedForTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialled{}
		p := pooledTo(d, 20)
		for i, step := range []struct {
			after time.Duration
			conns int
		}{{0, 1}, {0, 1}, {1900 * time.Millisecond, 1}, {1900 * time.Millisecond, 1}, {2100 * time.Millisecond, 2}} {
			time.Sleep(step.after) // fake time
			post(t, t.Context(), p, receiverURL)
			if conns, _ := d.counts(); conns != step.conns {
				t.Errorf("request %d, after %v: %d connections, want %d", i, step.after, conns, step.conns)
			}
		}
		time.Sleep(idleTimeout + time.Second) // fake time
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.conns) != 0 || p.idle != 0 {
			t.Errorf("%d hosts and %d idle connections remain", len(p.conns), p.idle)
		}
	})
}

func TestAConnectionThatBrokeWhileIdleIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialled{closes: true}
		p := pooledTo(d, 20)
		for range 3 {
			post(t, t.Context(), p, receiverURL)
			synctest.Wait()
		}
		if conns, requests := d.counts(); conns != 3 || requests != 3 {
			t.Errorf("%d connections and %d requests, want 3 and 3", conns, requests)
		}
	})
}

// A late is a context that calls something when it is first asked for its values: after a connection was taken, before a byte is written.
type late struct {
	context.Context
	once *sync.Once
	call func()
}

func (l late) Value(key any) any {
	l.once.Do(l.call)
	return l.Context.Value(key)
}

func TestARequestOfWhichNothingWasWrittenIsSentOnAnotherConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialled{}
		p := pooledTo(d, 20)
		defer p.closeIdle()
		post(t, t.Context(), p, receiverURL)
		post(t, late{t.Context(), new(sync.Once), func() { d.open[0].Close(); synctest.Wait() }}, p, receiverURL)
		if conns, requests := d.counts(); conns != 2 || requests != 2 {
			t.Errorf("%d connections and %d requests, want 2 and 2", conns, requests)
		}
	})
}

func TestOnlySoManyIdleConnectionsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialled{hold: make(chan struct{})}
		p := pooledTo(d, 3)
		defer p.closeIdle()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { post(t, t.Context(), p, receiverURL) })
		}
		synctest.Wait()
		close(d.hold)
		all.Wait()
		p.mu.Lock()
		idle := p.idle
		p.mu.Unlock()
		if conns, _ := d.counts(); conns != 10 || idle != 3 {
			t.Errorf("%d connections, of which %d are kept, want 10 and 3", conns, idle)
		}
	})
}

// Over HTTP/2 requests at the same time share a connection.
func TestRequestsOverHTTP2ShareAConnection(t *testing.T) {
	const atOnce = 5
	var arrived atomic.Int32
	all, peers := make(chan struct{}), make(chan string, 1+atOnce)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peers <- r.RemoteAddr
		switch arrived.Add(1) {
		case 1: // leaves an idle connection
		case 1 + atOnce:
			close(all)
		default:
			<-all
		}
		_, _ = io.WriteString(w, "ok")
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	p := newPool(server.Client().Transport.(*http.Transport).Clone(), 20)
	defer p.closeIdle()
	post(t, t.Context(), p, server.URL)
	var requests sync.WaitGroup
	for range atOnce {
		requests.Go(func() { post(t, t.Context(), p, server.URL) })
	}
	requests.Wait()
	close(peers)
	used := map[string]bool{}
	for peer := range peers {
		used[peer] = true
	}
	if len(used) != 1 {
		t.Errorf("%d connections, want 1", len(used))
	}
}

// A heldConn closes only when a test permits it, like a TLS connection to a receiver that does not read.
type heldConn struct {
	net.Conn
	begun, permitted chan struct{}
}

func (c heldConn) Close() error {
	c.begun <- struct{}{}
	<-c.permitted
	return c.Conn.Close()
}

// One receiver can delay the end of its own connections, but no request to another one.
func TestAConnectionThatTakesLongToCloseDelaysNoOtherReceiver(t *testing.T) {
	slow := &url.URL{Scheme: "http", Host: "slow.example"}
	for name, end := range map[string]func(p *pool, d *dialled, closes <-chan struct{}){
		"it has closed, and is wanted": func(p *pool, d *dialled, closes <-chan struct{}) { d.theirs[0].Close(); <-closes; go p.take(slow) },
		"all idle ones are closed":     func(p *pool, _ *dialled, closes <-chan struct{}) { go p.closeIdle(); <-closes },
		"the pool is full": func(p *pool, _ *dialled, closes <-chan struct{}) {
			p.perHost = 0
			go post(t, t.Context(), p, slow.String())
			<-closes
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, begun, permitted := &dialled{}, make(chan struct{}), make(chan struct{})
			p := newPool(&http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := d.dial(ctx, network, address)
				if strings.HasPrefix(address, "slow.") {
					conn = heldConn{conn, begun, permitted}
				}
				return conn, err
			}}, 20)
			post(t, t.Context(), p, slow.String())
			end(p, d, begun)
			post(t, t.Context(), p, receiverURL) // it would wait without an end
			close(permitted)
			p.closeIdle()
		})
	}
}

// After 101 Switching Protocols the connection has no end that a context could reach.
func TestAnAnswerThatSwitchesProtocolsHasNoBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialled{answer: "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"}
		p := pooledTo(d, 20)
		request, err := http.NewRequestWithContext(t.Context(), "GET", "http://example.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := p.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() {
			_, err := io.ReadAll(answer.Body)
			read <- err
		}()
		synctest.Wait()
		select {
		case err := <-read:
			if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
				t.Errorf("status %d, %v", answer.StatusCode, err)
			}
		default:
			t.Error("reading the body waits for the receiver, without an end")
		}
		answer.Body.Close()
		if len(p.conns) != 0 || p.idle != 0 {
			t.Errorf("%d hosts and %d idle connections remain", len(p.conns), p.idle)
		}
	})
}

// A breakingConn accepts some bytes and fails then.
type breakingConn struct {
	net.Conn
	room *int
}

func (c breakingConn) Write(data []byte) (int, error) {
	if *c.room -= len(data); *c.room < 0 {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(data)
}

// The target of a request can be longer than the buffer of a connection, and be written before the first header.
func TestARequestOfWhichALongTargetWasWrittenIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, room := &dialled{}, 1<<20
		p := newPool(&http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := d.dial(ctx, network, address)
			return breakingConn{conn, &room}, err
		}}, 20)
		post(t, t.Context(), p, receiverURL)
		room = 4 << 10
		request, err := http.NewRequestWithContext(t.Context(), "GET", "http://example.com/"+strings.Repeat("x", 8000), nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := p.RoundTrip(request); err == nil {
			answer.Body.Close()
			t.Error("it was sent")
		}
		if conns, _ := d.counts(); conns != 1 {
			t.Errorf("%d connections, want 1", conns)
		}
	})
}

// The request for a token goes the same way as the others.
func TestATokenIsRequestedOnce(t *testing.T) {
	certificate, roots := serverCertificate(t)
	r := &breakingReceiver{answer2: resetsStream(1), warmed: make(chan struct{})}
	address := r.listen(t, "h2", certificate)
	n, err := ParseNet(address)
	if err != nil {
		t.Fatal(err)
	}
	sender := NewSender(SenderOptions{Secrets: testRing(t), Egress: Egress{AllowNets: []Net{n}, Roots: roots}})
	t.Cleanup(sender.Close)
	a := to("https://"+address+"/", func(r *Request) {
		r.Authentication, r.Timeout = &Authentication{Type: OAuth, TokenURL: "https://" + address + "/token", ClientID: "me", ClientSecret: Plain("canary")}, Interval(time.Second)
	})
	w := chimetest.Work(t, sender.Handle, jobOf(t, a))
	if got := r.count(); got != 1 {
		t.Errorf("the token was requested %d times, want once; %v", got, w.Err)
	}
}

var _ http.RoundTripper = (*pool)(nil)
