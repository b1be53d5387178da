package action

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/chimetest"
)

// A dialled counts the connections to a receiver and the requests that arrive there.
type dialled struct {
	closes bool          // the receiver closes a connection after each answer, without saying so
	hold   chan struct{} // nil, or answers wait until it is closed

	mu              sync.Mutex
	conns, requests int
	open            []net.Conn
}

func (d *dialled) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	d.mu.Lock()
	d.conns, d.open = d.conns+1, append(d.open, ours)
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
			if _, err := io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil || d.closes {
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

func post(t *testing.T, ctx context.Context, p *pool) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, "POST", "http://example.com/", strings.NewReader("charge 100 EUR"))
	if err != nil {
		t.Fatal(err)
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
			time.Sleep(step.after)
			post(t, t.Context(), p)
			if conns, _ := d.counts(); conns != step.conns {
				t.Errorf("request %d, after %v: %d connections, want %d", i, step.after, conns, step.conns)
			}
		}
		time.Sleep(idleTimeout + time.Second)
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
			post(t, t.Context(), p)
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
		post(t, t.Context(), p)
		post(t, late{t.Context(), new(sync.Once), func() { d.open[0].Close(); synctest.Wait() }}, p)
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
			all.Go(func() { post(t, t.Context(), p) })
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
