//go:build unix

package system_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
)

// A refusal answers every command with an error, like a server that is loading, busy or demoted. While it is empty, the commands reach the server.
type refusal struct {
	mu    sync.Mutex
	text  string
	count int // refused commands
}

func (r *refusal) set(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text, r.count = text, 0
}

func (r *refusal) answered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// A refusedConn is a connection to a server behind a refusal.
type refusedConn struct {
	net.Conn
	refusal *refusal
	partial []byte       // the incomplete last command
	answers bytes.Buffer // answers that are not read yet
}

func (c *refusedConn) Write(p []byte) (int, error) {
	c.refusal.mu.Lock()
	defer c.refusal.mu.Unlock()
	if c.refusal.text == "" && len(c.partial) == 0 {
		return c.Conn.Write(p)
	}
	c.partial = append(c.partial, p...)
	for {
		n := commandLength(c.partial)
		if n == 0 {
			return len(p), nil
		}
		c.partial = c.partial[n:]
		c.refusal.count++
		fmt.Fprintf(&c.answers, "-%s\r\n", c.refusal.text)
	}
}

func (c *refusedConn) Read(p []byte) (int, error) {
	c.refusal.mu.Lock()
	if c.answers.Len() > 0 {
		defer c.refusal.mu.Unlock()
		return c.answers.Read(p)
	}
	c.refusal.mu.Unlock()
	return c.Conn.Read(p)
}

// commandLength returns the length of the first command in RESP; 0: it is incomplete.
func commandLength(text []byte) int {
	line := func(at int, kind byte) (n, next int) {
		end := bytes.Index(text[at:], []byte("\r\n"))
		if end < 0 || text[at] != kind {
			return 0, 0
		}
		n, _ = strconv.Atoi(string(text[at+1 : at+end]))
		return n, at + end + 2
	}
	if len(text) == 0 {
		return 0
	}
	arguments, at := line(0, '*')
	for i := 0; at > 0 && i < arguments; i++ {
		if at >= len(text) {
			return 0
		}
		length, next := line(at, '$')
		if next == 0 || next+length+2 > len(text) {
			return 0
		}
		at = next + length + 2
	}
	return at
}

// If a server refuses every command for some time, the roles wait: no role ends, no role loops without a pause, and a second after the refusals
// everything continues.
func TestAServerThatRefusesIsWaitedOut(t *testing.T) {
	for _, text := range []string{
		"LOADING Redis is loading the dataset in memory",
		"READONLY You can't write against a read only replica.",
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
		"CLUSTERDOWN The cluster is down",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"TRYAGAIN Multiple keys request during rehashing of slot",
		"NOAUTH Authentication required.",
		"ERR max number of clients reached",
	} {
		t.Run(text, func(t *testing.T) {
			inWorld(t, func(w *world) { w.refused(text) })
		})
	}
}

func (w *world) refused(text string) {
	refusal := new(refusal)
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true, PoolSize: 1000,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			conn, err := w.server.Dial()
			return &refusedConn{Conn: conn, refusal: refusal}, err
		},
	})
	store := redisstore.New(client, redisstore.Options{Logger: w.log})
	var mu sync.Mutex
	ended := make(map[string]time.Time)
	worker := chime.NewWorker(store, chime.WorkerOptions{Logger: w.log, Concurrency: 4})
	worker.Handle("mail", func(context.Context, *chime.Job) error {
		time.Sleep(500 * time.Millisecond) // fake time: the job takes this long
		return nil
	})
	worker.Use(func(next chime.Handler) chime.Handler {
		return func(ctx context.Context, job *chime.Job) error {
			err := next(ctx, job)
			mu.Lock()
			defer mu.Unlock()
			ended[job.ID] = time.Now()
			return err
		}
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- chime.Run(ctx, worker, chime.NewScheduler(store, chime.SchedulerOptions{Logger: w.log}))
	}()
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: w.log})
	enqueue := func(id string) {
		if _, err := enqueuer.Enqueue(context.Background(), "mail", nil, chime.ID(id)); err != nil {
			w.Errorf("%s: %v", id, err)
		}
	}
	w.pass(time.Minute)
	enqueue("before")
	w.pass(100 * time.Millisecond) // the job runs when the refusals begin

	refusal.set(text)
	var meanwhile sync.WaitGroup
	meanwhile.Go(func() { enqueue("meanwhile") })
	w.pass(5 * time.Second)
	if n := refusal.answered(); n == 0 || n > 5*60 {
		w.Errorf("%d commands were refused in 5 s, want a few a second", n)
	}
	refusal.set("")
	over := time.Now()
	meanwhile.Wait()
	if late := time.Since(over); late > time.Second {
		w.Errorf("the enqueuer continued after %v, want within 1 s", late)
	}
	w.pass(time.Minute)
	mu.Lock()
	if late := ended["meanwhile"].Sub(over); len(ended) != 2 || late < 0 || late > 2*time.Second { // the job itself takes 0.5 s
		w.Errorf("%d jobs ended, the last %v after the refusals, want 2 within 2 s", len(ended), late)
	}
	mu.Unlock()
	stop()
	if err := <-done; err != nil {
		w.Errorf("Run: %v", err)
	}
	if stats := countsOf(w.T, w.server.Client(), "default"); stats.Done != 2 || stats.Failed != 0 || stats.InFlight() != 0 {
		w.Errorf("%d jobs are done, %d failed, %d are in flight; want 2, 0 and 0", stats.Done, stats.Failed, stats.InFlight())
	}
	client.Close()
}
