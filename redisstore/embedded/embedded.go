// Package embedded runs a Redis inside the process, for a first try, for examples and for tests.
//
//	server, err := embedded.Start()
//	defer server.Close()
//	worker := chime.NewWorker(server.Store(), chime.WorkerOptions{})
//
// It is miniredis behind the same scripts as a real server, and it forgets everything when the process ends. It is no
// place for jobs that matter: Start says so in the log.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/chimejobs/chime/redisstore"
)

// A Server is an in-memory Redis with a client and a store on it.
type Server struct {
	mini   *miniredis.Miniredis
	client *redis.Client
	store  *redisstore.Store
	once   sync.Once
	err    error
}

// Start runs a server on a free port of the loopback interface, so that redis-cli can look at it, and warns that it forgets.
func Start() (*Server, error) {
	mini := miniredis.NewMiniRedis()
	mini.ClockTTL(true)
	if err := mini.Start(); err != nil {
		return nil, fmt.Errorf("embedded: start: %w", err)
	}
	slog.Warn("embedded: this Redis lives in the process and forgets all jobs and schedules when it ends", "address", mini.Addr())
	return newServer(mini, &redis.Options{Addr: mini.Addr()}), nil
}

// inMemory is the address of a server without a network: a literal one, for clients look names up.
const inMemory = "127.0.0.1:0"

// StartInMemory runs a server without a network, over in-memory connections: inside a testing/synctest bubble the whole
// system then runs under fake time. It warns of nothing.
func StartInMemory() *Server {
	mini := miniredis.NewMiniRedis()
	mini.ClockTTL(true)
	return newServer(mini, &redis.Options{
		Addr:   inMemory,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return dial(mini) },
	})
}

func newServer(mini *miniredis.Miniredis, options *redis.Options) *Server {
	options.Protocol = 2
	options.DisableIdentity = true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(options)
	return &Server{mini: mini, client: client, store: redisstore.New(client, redisstore.Options{})}
}

// Store returns the store with namespace "chime".
func (s *Server) Store() *redisstore.Store { return s.store }

// Client returns the client, to look at the keys with or to make a store with other options.
func (s *Server) Client() *redis.Client { return s.client }

// Dial opens a connection of its own to the server, for a client that a test wants to cut off.
func (s *Server) Dial() (net.Conn, error) { return dial(s.mini) }

func dial(mini *miniredis.Miniredis) (net.Conn, error) {
	pipe, err := mini.Dial()
	if err != nil {
		return nil, err
	}
	return newConn(pipe), nil
}

// Addr is where a server made by Start listens, for redis-cli; empty for one in memory.
func (s *Server) Addr() string {
	if s.client.Options().Addr == inMemory {
		return ""
	}
	return s.mini.Addr()
}

// Close ends the server and forgets everything. Closing it again does nothing.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.err = errors.Join(s.client.Close())
		s.mini.Close()
	})
	return s.err
}
