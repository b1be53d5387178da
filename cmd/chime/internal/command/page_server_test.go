package command

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// pipes is a listener in memory, so that a server runs under fake time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.conns <- far
	return near
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// onPageServer runs a test with a dashboard that is served as the command serves it, to any client.
func onPageServer(t *testing.T, test func(t *testing.T, dial func() net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		store := embedded.StartInMemory()
		defer store.Close()
		pages := dashboard.New(store.Store(), dashboard.Options{Authorize: func(*http.Request) (dashboard.Viewer, error) {
			return dashboard.Viewer{Name: "anna", Rights: dashboard.View | dashboard.Operate}, nil
		}, Write: true})
		server, listener := newPageServer(pages), newPipes()
		server.RegisterOnShutdown(pages.Close)
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(listener) }()
		test(t, listener.dial)
		pages.Close()
		_ = server.Close()
		<-ended
	})
}

// A client that sends one byte a second is cut off, in the headers and in the body.
func TestASlowClientIsCutOff(t *testing.T) {
	for what, c := range map[string]struct {
		begin  string
		within time.Duration
	}{
		"headers": {"GET /workers HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", headerTimeout},
		"a body": {"POST /schedules/a/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\n",
			requestTimeout},
	} {
		onPageServer(t, func(t *testing.T, dial func() net.Conn) {
			conn := dial()
			defer conn.Close()
			go func() { _, _ = io.Copy(io.Discard, conn) }() // ignores the answer
			begun := time.Now()
			_, err := io.WriteString(conn, c.begin)
			for err == nil {
				time.Sleep(time.Second) // fake time
				_, err = io.WriteString(conn, "a")
			}
			if took := time.Since(begun); took > c.within+time.Second {
				t.Errorf("%s: cut off after %s, want %s", what, took, c.within)
			}
		})
	}
}

// A body of a gigabyte is refused after a part of it was read, with and without its length in the header.
func TestAGigabyteIsRefused(t *testing.T) {
	const gigabyte = 1 << 30
	for what, length := range map[string]string{"known": "Content-Length: 1073741824", "unknown": "Transfer-Encoding: chunked"} {
		onPageServer(t, func(t *testing.T, dial func() net.Conn) {
			conn := dial()
			defer conn.Close()
			sent := make(chan int, 1)
			go func() {
				_, err := io.WriteString(conn, "POST /schedules/a/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"+length+"\r\n\r\n")
				total, chunk := 0, strings.Repeat("a", 4096)
				if strings.HasPrefix(length, "Transfer") {
					chunk = "1000\r\n" + chunk + "\r\n"
				}
				for err == nil && total < gigabyte {
					var n int
					n, err = io.WriteString(conn, chunk)
					total += n
				}
				sent <- total
			}()
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || answer.StatusCode != http.StatusBadRequest {
				t.Fatalf("%s: got %v, %v; want 400", what, answer, err)
			}
			_, _ = io.Copy(io.Discard, conn) // until the server closes it
			if total := <-sent; total > 1<<20 {
				t.Errorf("%s: %d bytes were taken, want at most a megabyte", what, total)
			}
		})
	}
}

// Streams live longer than the limits of other responses.
func TestAnOpenPageStaysOpen(t *testing.T) {
	onPageServer(t, func(t *testing.T, dial func() net.Conn) {
		conn := dial()
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /events?page=workers HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("got %v, %v", answer, err)
		}
		begun, lines := time.Now(), bufio.NewScanner(answer.Body)
		for time.Since(begun) < 10*requestTimeout && lines.Scan() {
		}
		if open := time.Since(begun); open < 10*requestTimeout {
			t.Errorf("the stream was open for %s only: %v", open, lines.Err())
		}
	})
}
