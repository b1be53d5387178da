package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A pipeListener accepts one connection, given at its creation, so a server can be tried under fake time.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return peered{conn}, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	close(l.closed)
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

// A peered connection reports a peer on this machine.
type peered struct{ net.Conn }

func (peered) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 50000} }

func TestASlowClientIsCutOff(t *testing.T) {
	for _, c := range []struct {
		name, sent string
		status     string // of the answer; empty: none
		after      time.Duration
	}{
		{"in its headers", "GET / HTTP/1.1\r\nHost: localhost\r\n", "", 5 * time.Second},
		{"in its body", "PUT /jobCollections/demo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", "400 Bad Request", 15 * time.Second},
		{"between two requests", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "200 OK", 2 * time.Minute},
		{"with headers that are too long", "GET / HTTP/1.1\r\nHost: localhost\r\nA: " + strings.Repeat("a", maxHeaderBytes+8<<10) + "\r\n\r\n", "431 Request Header Fields Too Large", 500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			api, _ := newTestAPI(t, Options{Authenticate: Loopback()}, "demo")
			server := api.Server()
			listener := &pipeListener{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
			client, conn := net.Pipe()
			listener.conns <- conn
			done := make(chan error, 1)
			go func() { done <- server.Serve(listener) }()
			go func() { _, _ = io.WriteString(client, c.sent) }()
			begun := time.Now()
			answer, _ := io.ReadAll(client)
			if took := time.Since(begun); took != c.after {
				t.Errorf("%s: cut off after %v, want %v", c.name, took, c.after)
			}
			status := ""
			if response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(answer))), nil); err == nil {
				status = response.Status
			}
			if status != c.status {
				t.Errorf("%s: got the answer %q, want %q", c.name, status, c.status)
			}
			if err := server.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
			<-done
		})
	}
}

func TestHomeListsTheRoutesOfTheTable(t *testing.T) {
	api, _ := newTestAPI(t, Options{PublicURL: "https://jobs.example.com/scheduler"})
	got := answered(t, send(api, "GET", "/", ""))
	if got["caller"] != "tester" || got["document"] != "https://jobs.example.com/scheduler/openapi.json" {
		t.Errorf("got the caller %v and the document %v, want tester and https://jobs.example.com/scheduler/openapi.json", got["caller"], got["document"])
	}
	shown := got["routes"].([]any)
	for i, r := range routes() {
		one := shown[i].(map[string]any)
		if one["method"] != r.method || one["path"] != strings.TrimSuffix(r.path, "{$}") {
			t.Errorf("route %d is shown as %v, want %s %s", i, one, r.method, r.path)
		}
	}
}

func TestTheDocumentIsOpenToAll(t *testing.T) {
	api, _ := newTestAPI(t, Options{Authenticate: func(*http.Request) (Principal, error) { return Principal{}, fmt.Errorf("nobody") }})
	for target, kind := range map[string]string{"/openapi.json": "application/json", "/openapi.yaml": "application/yaml"} {
		got := send(api, "GET", target, "")
		if got.Code != 200 || got.Header().Get("Content-Type") != kind || !strings.Contains(got.Body.String(), "3.1") {
			t.Errorf("%s: got %d %s, want 200 %s with OpenAPI 3.1", target, got.Code, got.Header().Get("Content-Type"), kind)
		}
	}
}
