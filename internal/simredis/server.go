// Package simredis is a Redis inside the process, for the embedded store and for tests. It is miniredis with two changes, which save most of the
// processor time of a test under fake time: scripts share one Lua state, and a connection of Dial needs no goroutines.
package simredis

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// A Server is a Redis in memory. Create it with New; connect with Dial, or call Start for a port of the loopback interface. TTLs that
// commands set follow its clock, which is time.Now unless SetTime sets it. It is safe for concurrent use.
//
// It runs the scripts of EVAL, EVALSHA and their read-only forms itself, with the answers and errors of miniredis. All other commands, and scripts
// inside MULTI, are miniredis's.
type Server struct {
	*miniredis.Miniredis

	mu      sync.Mutex
	serves  *server.Server // nil: not started
	closed  bool
	conns   map[*conn]struct{}
	waiting sync.WaitGroup // commands that may block
	expires atomic.Bool    // ClockTTL has begun
	offset  atomic.Int64   // see SetOffset

	// The lock of Miniredis protects these.
	scripts map[string]*script // SHA-1 → script
	nested  map[int]any        // database → miniredis's context of a script's commands
	lua     interpreter
}

// New returns a server that was not started.
func New() *Server {
	return &Server{
		Miniredis: miniredis.NewMiniRedis(), conns: map[*conn]struct{}{}, scripts: map[string]*script{}, nested: map[int]any{},
	}
}

// Start makes the server listen on a free port of the loopback interface.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Miniredis.Start(); err != nil {
		return err
	}
	s.begin()
	return nil
}

// Dial opens a connection in memory, which works inside a bubble of testing/synctest. It fails once the server is closed.
func (s *Server) Dial() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("simredis: dial: the server is closed")
	}
	if s.serves == nil {
		pipe, err := s.Miniredis.Dial() // the only way to start it without a port
		if err != nil {
			return nil, err
		}
		_ = pipe.Close()
		s.begin()
	}
	c := newConn(s, s.serves)
	s.conns[c] = struct{}{}
	return c, nil
}

// begin prepares a started Miniredis.
func (s *Server) begin() {
	serves := s.Server()
	s.serves, s.closed = serves, false
	serves.SetPreHook(func(c *server.Peer, cmd string, args ...string) bool { return s.answer(serves, c, cmd, args) })
}

// Close ends all connections and the server. The data remain: Start serves them again.
func (s *Server) Close() {
	s.mu.Lock()
	s.serves, s.closed = nil, true
	conns := s.conns
	s.conns = map[*conn]struct{}{}
	s.mu.Unlock()
	for c := range conns {
		c.end(io.EOF)
	}
	s.Miniredis.Close()
	s.waiting.Wait()
}

// start runs a command that may block in a goroutine, which Close waits for. It reports false if the server is closed.
func (s *Server) start(command func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.waiting.Go(command)
	}
	return !s.closed
}

// forget removes a connection that has ended.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}
