package queues_test

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/simredis"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A link is one worker's connection to the server. It can be cut.
type link struct {
	client *redis.Client
	mu     sync.Mutex
	conns  []net.Conn
	isCut  bool
}

var errCut = errors.New("cut")

func newLink(f *fixture.Fixture) *link {
	l := &link{}
	l.client = redis.NewClient(&redis.Options{Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true, Dialer: func(context.Context, string, string) (net.Conn, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.isCut {
			return nil, errCut
		}
		conn, err := f.Server.Dial()
		l.conns = append(l.conns, conn)
		return conn, err
	}})
	l.client.AddHook(simredis.Turns)
	f.T.Cleanup(func() { l.client.Close() })
	return l
}

func (l *link) cut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isCut = cut; cut {
		for _, conn := range l.conns {
			conn.Close()
		}
		l.conns = nil
	}
}

func (l *link) worker(options chime.WorkerOptions) *chime.Worker {
	options.Logger = fixture.Quiet()
	return chime.NewWorker(redisstore.New(l.client, redisstore.Options{Logger: options.Logger}), options)
}
