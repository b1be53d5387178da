package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
)

// A receiver is the server that the jobs call.
type receiver struct {
	listener net.Listener
	server   *http.Server

	mu    sync.Mutex
	calls map[string]int // by path
	lines []string
}

func startReceiver() (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{listener: listener, calls: map[string]int{}}
	r.server = &http.Server{Handler: r}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

// ServeHTTP fails the first two calls of /flaky and all calls of /broken. The Idempotency-Key is the same in all attempts of an occurrence: a receiver
// stores it to avoid doing the same work twice.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := request.URL.Path
	r.calls[path]++
	status := http.StatusOK
	if path == "/broken" || path == "/flaky" && r.calls[path] <= 2 {
		status = http.StatusInternalServerError
	}
	line := fmt.Sprintf("%-4s %-8s attempt %s, action %s, key %s: %d", request.Method, path, request.Header.Get("Chime-Attempt"),
		request.Header.Get("Chime-Action"), request.Header.Get("Idempotency-Key"), status)
	if why := request.Header.Get("Chime-Error"); why != "" {
		line += ", because of " + why
	}
	r.lines = append(r.lines, line)
	if status != http.StatusOK {
		http.Error(w, "out of paper", status)
	}
}

func (r *receiver) address() string { return r.listener.Addr().String() }

// log has one line for each request, in their order.
func (r *receiver) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n") + "\n"
}

func (r *receiver) close() { _ = r.server.Close() }
