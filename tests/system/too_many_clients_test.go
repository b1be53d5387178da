package system_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
)

// A crowd fills a server: while it is there, the server answers each new connection with an error and closes it, as Redis does when it has
// maxclients clients.
type crowd struct {
	dial func() (net.Conn, error) // opens a connection to the server

	mu      sync.Mutex
	there   bool
	open    []net.Conn
	refused int // connections
}

// comes closes all connections and refuses new ones.
func (c *crowd) comes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.there = true
	for _, conn := range c.open {
		conn.Close()
	}
	c.open = nil
}

// goes ends the refusals.
func (c *crowd) goes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.there = false
}

// tries returns how many connections were refused.
func (c *crowd) tries() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// connect is the Dialer of a client.
func (c *crowd) connect(context.Context, string, string) (net.Conn, error) {
	if c.tries() > 10_000 {
		time.Sleep(time.Second) // fake time: it would not pass if a loop tried again without a pause
	}
	conn, err := c.dial()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.there {
		c.open = append(c.open, conn)
		return conn, nil
	}
	c.refused++
	return &crowdedOutConn{conn, strings.NewReader("-ERR max number of clients reached\r\n")}, nil
}

// A crowdedOutConn is a connection that the server has closed after its answer.
type crowdedOutConn struct {
	net.Conn
	answer *strings.Reader
}

func (c *crowdedOutConn) Write(p []byte) (int, error) { return len(p), nil }
func (c *crowdedOutConn) Read(p []byte) (int, error)  { return c.answer.Read(p) }

// If a server accepts no more clients, a worker tries to connect at most five times a second on average, also in the first minute. It continues as
// soon as the server accepts it.
func TestAServerWithTooManyClientsIsTriedAtMostFiveTimesASecond(t *testing.T) {
	inWorld(t, func(w *world) {
		others := &crowd{dial: w.server.Dial}
		client := redis.NewClient(&redis.Options{
			Addr: "127.0.0.1:0", Protocol: 2, Dialer: others.connect, MaxRetries: -1, // go-redis does not repeat a call
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		worker := chime.NewWorker(redisstore.New(client, redisstore.Options{Logger: w.log}), chime.WorkerOptions{Logger: w.log})
		worker.Handle("mail", func(_ context.Context, job *chime.Job) error { w.ran(job); return nil })
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- chime.Run(ctx, worker) }()
		w.pass(time.Minute)

		others.comes()
		w.pass(time.Minute)
		others.goes()
		if n := others.tries(); n < 60 || n > 5*60 {
			w.Errorf("%d connections were tried in a minute, want 60 to 300", n)
		}
		enqueuer := chime.NewEnqueuer(w.server.Store(), chime.EnqueuerOptions{Logger: w.log})
		if _, err := enqueuer.Enqueue(context.Background(), "mail", nil, chime.ID("after")); err != nil {
			w.Error(err)
		}
		w.pass(2 * time.Second)
		if n := w.allRuns()["after"]; n != 1 {
			w.Errorf("2 s after the server accepts clients again, the job has run %d times, want once", n)
		}
		stop()
		if err := <-done; err != nil {
			w.Errorf("Run: %v", err)
		}
		client.Close()
	})
}
