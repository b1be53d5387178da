package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
)

// roleVariable is the environment variable that makes this program a child: it holds a role as JSON.
const roleVariable = "CHIME_BENCH_ROLE"

// A role is the work of a child process until it receives a signal.
type role struct {
	Kind        roleKind      `json:"kind"`
	Peer        string        `json:"peer"`
	Redis       string        `json:"redis,omitempty"`
	Postgres    string        `json:"postgres,omitempty"`
	Concurrency int           `json:"concurrency,omitempty"`
	Queues      int           `json:"queues,omitempty"`    // of queuesRole
	Schedules   int           `json:"schedules,omitempty"` // of scheduleRole: how many it declares
	Handler     time.Duration `json:"handler,omitempty"`   // of workRole: how long each handler waits
}

type roleKind string

const (
	idleRole     roleKind = "idle"     // works with a handler that does nothing
	holdRole     roleKind = "hold"     // works with a handler that prints the job's number when it starts, and never ends
	queuesRole   roleKind = "queues"   // chime: works on several queues
	scheduleRole roleKind = "schedule" // chime: a scheduler alone, with yearly schedules
	spinRole     roleKind = "spin"     // keeps one core busy
	sendRole     roleKind = "send"     // chime: sends the requests of actions
	workRole     roleKind = "work"     // works off a backlog once its parent says so, and prints how many jobs it has run
)

// The lines that a child prints.
const (
	readyLine = "ready"
	begunLine = "begun " // and the job's number
	ranLine   = "ran "   // and how many jobs it has run, when it ended the last one, Unix ns, and how long their handlers took, ns
)

// beginLine is the input on which a child of workRole starts its worker.
const beginLine = "begin"

// A child is a process of this program in a role. It ends with its parent.
type child struct {
	command *exec.Cmd
	stdin   io.WriteCloser // the child ends when it is closed
	begun   chan int64     // numbers of the jobs that began, as they begin; closed when it ends
	tally   atomic.Pointer[tally]
	ready   chan struct{} // closed when it is
	ended   chan struct{} // closed when it has
	stderr  *bytes.Buffer // after ended
	err     error         // how it ended; after ended
}

// startChild starts a child and returns when it is ready.
func startChild(ctx context.Context, role role) (*child, error) {
	text, err := json.Marshal(role)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command, stderr := exec.Command(program), new(bytes.Buffer)
	command.Stderr = stderr
	command.Env = append(os.Environ(), roleVariable+"="+string(text))
	endWithParent(command)
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	c := &child{command: command, stderr: stderr, stdin: stdin, begun: make(chan int64, 100), ready: make(chan struct{}), ended: make(chan struct{})}
	c.tally.Store(new(tally))
	go c.read(stdout)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	select {
	case <-c.ready:
		return c, nil
	case <-c.ended:
		return nil, fmt.Errorf("a child for %s ended before it was ready: %w", role.Peer, c.err)
	case <-ctx.Done():
		c.kill()
		return nil, fmt.Errorf("a child for %s is not ready: %w", role.Peer, ctx.Err())
	}
}

// read reads the lines of the child until it has ended.
func (c *child) read(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if lines.Text() == readyLine {
			close(c.ready)
		} else if text, ok := strings.CutPrefix(lines.Text(), begunLine); ok {
			c.begun <- number(text)
		} else if text, ok := strings.CutPrefix(lines.Text(), ranLine); ok {
			c.tally.Store(tallyIn(text))
		}
	}
	close(c.begun)
	if c.err = c.command.Wait(); c.err != nil && c.stderr.Len() > 0 {
		c.err = fmt.Errorf("%w: %s", c.err, bytes.TrimSpace(c.stderr.Bytes()))
	}
	close(c.ended)
}

// stop makes the child drain.
func (c *child) stop() error {
	_ = c.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
		return c.err
	case <-time.After(time.Minute):
		c.kill()
		return fmt.Errorf("process %d did not end within a minute", c.command.Process.Pid)
	}
}

// kill ends the child as a crash does.
func (c *child) kill() {
	_ = c.command.Process.Kill()
	<-c.ended
}

// cpu returns the CPU time of the child: nanoseconds on Linux, 0 elsewhere.
func (c *child) cpu() time.Duration {
	var used time.Duration
	threads, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(c.command.Process.Pid), "task", "*", "schedstat"))
	for _, path := range threads {
		if text, err := os.ReadFile(path); err == nil {
			running, _, _ := strings.Cut(string(text), " ")
			used += time.Duration(number(running))
		}
	}
	return used
}

// startChildren starts n children, several at a time.
func startChildren(ctx context.Context, role role, n int) (children, error) {
	var (
		mu   sync.Mutex
		all  children
		each = func(ctx context.Context) error {
			c, err := startChild(ctx, role)
			if err == nil {
				mu.Lock()
				all = append(all, c)
				mu.Unlock()
			}
			return err
		}
	)
	if err := fromMany(ctx, min(n, 4), n, each); err != nil {
		all.kill()
		return nil, err
	}
	return all, nil
}

type children []*child

func (all children) cpu() time.Duration {
	var used time.Duration
	for _, c := range all {
		used += c.cpu()
	}
	return used
}

func (all children) kill() {
	for _, c := range all {
		c.kill()
	}
}

// runChild runs a child: it prints that it is ready, and works until it receives a signal or its parent ends.
func runChild(text string) error {
	var role role
	if err := json.Unmarshal([]byte(text), &role); err != nil {
		return fmt.Errorf("%s: %w", roleVariable, err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	begin := make(chan struct{})
	go func() {
		defer cancel()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			if lines.Text() == beginLine {
				close(begin)
			}
		}
	}()
	stop, err := role.begin(ctx, begin)
	if err != nil {
		return err
	}
	fmt.Println(readyLine)
	<-ctx.Done()
	return stop()
}

// begin starts the work of the role; workRole starts its worker when begin is closed.
func (role role) begin(ctx context.Context, begin <-chan struct{}) (stop func() error, err error) {
	switch role.Kind {
	case queuesRole:
		return role.queues(), nil
	case scheduleRole:
		return role.schedule()
	case spinRole:
		return spin(ctx), nil
	case sendRole:
		return role.send()
	}
	p, err := peerNamed(role.Peer)
	if err != nil {
		return nil, err
	}
	r := &testbed{redis: &redisServer{addr: role.Redis}}
	if role.Postgres != "" {
		r.postgres = &postgresServer{url: role.Postgres}
	}
	lib, err := p.open(ctx, r)
	if err != nil {
		return nil, err
	}
	if role.Kind == workRole {
		return role.work(ctx, lib, begin), nil
	}
	handle := func([]byte) {}
	if role.Kind == holdRole {
		handle = hold
	}
	drain, err := lib.Work(role.Concurrency, handle)
	return func() error { return errors.Join(drain(), lib.Close()) }, err
}

// spin keeps a core busy until ctx ends.
func spin(ctx context.Context) (stop func() error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
		}
	}()
	return func() error { <-ended; return nil }
}

// hold prints that a job has begun and never returns.
func hold(payload []byte) {
	n, err := numberIn(payload)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	fmt.Printf("%s%d\n", begunLine, n)
	select {}
}

func (role role) queues() func() error {
	queues := make(map[string]int)
	for i := range role.Queues {
		queues[fmt.Sprintf("queue%d", i)] = 1
	}
	worker := chime.NewWorker(role.store(), chime.WorkerOptions{Queues: queues, Concurrency: role.Concurrency, Logger: quiet})
	worker.Handle(jobName, func(context.Context, *chime.Job) error { return nil })
	return runChime(worker)
}

func (role role) schedule() (stop func() error, err error) {
	scheduler := chime.NewScheduler(role.store(), chime.SchedulerOptions{Logger: quiet})
	for i := range role.Schedules {
		if err := scheduler.Schedule(scheduleName(i), yearly(i), chime.JobName(jobName)); err != nil {
			return nil, err
		}
	}
	return runChime(scheduler), nil
}

func (role role) store() *redisstore.Store {
	return redisstore.New(redis.NewClient(&redis.Options{Addr: role.Redis}), redisstore.Options{})
}

func peerNamed(name string) (peer, error) {
	for _, p := range peers {
		if p.name() == name {
			return p, nil
		}
	}
	return peer{}, fmt.Errorf("there is no peer %q", name)
}

// roleOf is a child's role with a peer on the testbed's servers.
func (r *testbed) roleOf(kind roleKind, p peer, concurrency int) role {
	role := role{Kind: kind, Peer: p.name(), Redis: r.redis.addr, Concurrency: concurrency}
	if r.postgres != nil {
		role.Postgres = r.postgres.url
	}
	return role
}
