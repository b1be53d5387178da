// Package embedded runs a Redis inside the process, for a first try, for examples and for tests.
//
//	server, err := embedded.Start()
//	if err != nil {
//		return err
//	}
//	defer server.Close()
//	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{})
//
// It is miniredis with the same scripts as a real server. StartInMemory is for tests: inside a testing/synctest bubble, days of
// schedules take seconds.
//
// It forgets all jobs and schedules when the process ends, so do not use it for jobs that matter: Start logs a warning about
// this. No other process can share the store of StartInMemory. The package makes up a third of a small binary.
package embedded

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/chimejobs/chime/internal/simredis"
	"github.com/chimejobs/chime/redisstore"
)

// A Server is an in-memory Redis with a client and a store on it. Create it with Start or StartInMemory; the zero value is not usable.
// It is safe for concurrent use. The caller closes it.
type Server struct {
	mini   *simredis.Server
	client *redis.Client
	store  *redisstore.Store
	once   sync.Once
	err    error
}

// Start starts a server on a free port of the loopback interface, with a random password, because every user of the machine can connect to the port.
// redis-cli -u needs the result of URL. Start logs a warning with slog.Default that the server forgets everything, without the password. It returns an
// error if it cannot listen.
func Start() (*Server, error) {
	mini := simredis.New()
	password := rand.Text()
	mini.RequireAuth(password)
	if err := mini.Start(); err != nil {
		return nil, fmt.Errorf("embedded: start: %w", err)
	}
	slog.Warn("embedded: this Redis is inside the process and forgets all jobs and schedules when the process ends", "event", "store.unfit", "host", mini.Addr())
	return newServer(mini, &redis.Options{Addr: mini.Addr(), Password: password}), nil
}

// inMemory is the address of a server without a network. It is an IP address, because clients resolve names.
const inMemory = "127.0.0.1:0"

// StartInMemory starts a server with in-memory connections in place of a network, so that all of chime runs under fake time inside a
// testing/synctest bubble. It needs no port, cannot fail and logs nothing.
func StartInMemory() *Server {
	mini := simredis.New()
	return newServer(mini, &redis.Options{
		Addr:   inMemory,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return mini.Dial() },
	})
}

func newServer(mini *simredis.Server, options *redis.Options) *Server {
	options.Protocol = 2
	options.DisableIdentity = true
	options.ContextTimeoutEnabled = true // so that hooks of the client see every call
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(options)
	if options.Addr == inMemory {
		client.AddHook(simredis.Turns)
	}
	return &Server{mini: mini, client: client, store: redisstore.New(client, redisstore.Options{})}
}

// Store returns the server's store, which has zero redisstore.Options: its namespace is "chime".
func (s *Server) Store() *redisstore.Store { return s.store }

// Client returns the server's client. Use it to read keys in a test or to create a store with other options. Close closes it.
func (s *Server) Client() *redis.Client { return s.client }

// Dial opens a connection to the server. Use it as the Dialer of a client whose connections a test closes. It fails once the server is
// closed. A server of Start also wants its password, see URL.
func (s *Server) Dial() (net.Conn, error) { return s.mini.Dial() }

// Addr returns the address, host and port, on which a server of Start listens. It is empty for a server of StartInMemory.
func (s *Server) Addr() string {
	if s.client.Options().Addr == inMemory {
		return ""
	}
	return s.mini.Addr()
}

// URL returns the URL of a server of Start, with its password: redis://:<password>@127.0.0.1:<port>/0. It is for redis-cli -u, for the command chime and
// for redis.ParseURL. Do not log it. It is empty for a server of StartInMemory.
func (s *Server) URL() string {
	address := s.Addr()
	if address == "" {
		return ""
	}
	at := url.URL{Scheme: "redis", User: url.UserPassword("", s.client.Options().Password), Host: address, Path: "/0"}
	return at.String()
}

// Close closes the client and the server, which forgets everything. Roles on it must have returned before. Closing it again
// returns the same error and does nothing else.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.err = s.client.Close()
		s.mini.Close()
	})
	return s.err
}
