package system_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/simredis"
	"github.com/chimejobs/chime/redisstore"
)

// A network connects a process and the server. It can refuse connections, or silently lose everything, as when the machine of a master fails.
// Connections that were open then remain dead.
type network struct {
	w  *world
	mu sync.Mutex

	refuses, silent bool
	conns           []*wire
}

// A wire is a connection of a network. After it dies, nothing arrives: a read ends at its deadline.
type wire struct {
	net.Conn
	mu   sync.Mutex
	dead bool
}

func (c *wire) Write(p []byte) (int, error) {
	c.mu.Lock()
	dead := c.dead
	c.mu.Unlock()
	if dead {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// Read reads the arriving data while the connection is alive.
func (c *wire) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		c.mu.Lock()
		dead := c.dead
		c.mu.Unlock()
		if !dead || err != nil {
			return n, err
		}
	}
}

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	refuses, silent := n.refuses, n.silent
	n.mu.Unlock()
	switch {
	case refuses:
		return nil, errors.New("connection refused")
	case silent:
		<-ctx.Done() // go-redis's DialTimeout
		return nil, ctx.Err()
	}
	conn, err := n.w.server.Dial()
	if err != nil {
		return nil, err
	}
	c := &wire{Conn: conn}
	n.mu.Lock()
	n.conns = append(n.conns, c)
	n.mu.Unlock()
	return c, nil
}

// goDown begins an outage in which connections are refused, or in which no call is answered; comeUp ends it.
func (n *network) goDown(silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuses, n.silent = !silent, silent
	for _, c := range n.conns {
		if silent {
			c.mu.Lock()
			c.dead = true
			c.mu.Unlock()
		} else {
			c.Close()
		}
	}
	n.conns = nil
}

func (n *network) comeUp() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuses, n.silent = false, false
}

// client has go-redis's own timeouts and retries. Its pool is never exhausted, because then go-redis would share timers between bubbles of fake
// time.
func (n *network) client() *redis.Client {
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true, Dialer: n.dial, PoolSize: 1000,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	client.AddHook(simredis.Turns)
	return client
}

// The queues work again within two seconds of the server's return, after every kind and length of outage: a job enqueued during the outage
// runs, one that ran during it is settled, and one enqueued afterwards runs.
func TestQueuesAnswerWithinTwoSecondsOfAFailover(t *testing.T) {
	for _, silent := range []bool{false, true} {
		for _, away := range []time.Duration{time.Second, 3400 * time.Millisecond, 4500 * time.Millisecond, 8 * time.Second, 14 * time.Second, 30 * time.Second} {
			t.Run(fmt.Sprintf("silent %v, for %v", silent, away), func(t *testing.T) {
				inWorld(t, func(w *world) { w.failover(away, silent) })
			})
		}
	}
}

func (w *world) failover(away time.Duration, silent bool) {
	n := &network{w: w}
	client := n.client()
	store := redisstore.New(client, redisstore.Options{Logger: w.log})
	var mu sync.Mutex
	began := make(map[string]time.Time)
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: w.log, Concurrency: 4})
	worker.Handle("mail", func(_ context.Context, job *chime.Job) error {
		mu.Lock()
		defer mu.Unlock()
		began[job.ID] = time.Now()
		return nil
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- chime.Run(ctx, worker, chime.NewScheduler(store, chime.SchedulerOptions{Logger: w.log}))
	}()
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: w.log, SendTimeout: 10 * time.Minute})
	if _, err := enqueuer.Enqueue(context.Background(), "mail", nil); err != nil {
		w.Fatal(err)
	}
	w.pass(time.Minute)

	down := time.Now()
	n.goDown(silent)
	var enqueued sync.WaitGroup
	for i := range 4 {
		w.pass(away / 5)
		enqueued.Go(func() {
			if _, err := enqueuer.Enqueue(context.Background(), "mail", nil, chime.ID(fmt.Sprint("meanwhile-", i))); err != nil {
				w.Error(err)
			}
		})
	}
	time.Sleep(time.Until(down.Add(away))) // fake time
	n.comeUp()
	up := time.Now()
	direct := redisstore.New(w.server.Client(), redisstore.Options{Logger: w.log})
	if _, err := chime.NewEnqueuer(direct, chime.EnqueuerOptions{Logger: w.log}).Enqueue(context.Background(), "mail", nil, chime.ID("then")); err != nil {
		w.Error(err)
	}
	enqueued.Wait()
	w.pass(20 * time.Second)
	mu.Lock()
	for _, id := range []string{"meanwhile-0", "meanwhile-1", "meanwhile-2", "meanwhile-3", "then"} {
		if at, ran := began[id]; !ran || at.Sub(up) > 2*time.Second {
			w.Errorf("%s: ran %v, %v after the server's return; want within 2 s", id, ran, at.Sub(up))
		}
	}
	mu.Unlock()
	stop()
	if err := <-done; err != nil {
		w.Error(err)
	}
	synctest.Wait()
	client.Close()
}
