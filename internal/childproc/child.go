//go:build unix

// Package childproc lets a test run parts of itself as real processes and do to them what happens to processes: kill them,
// freeze them, tell them to end. A package that wants this names its roles in TestMain:
//
//	func TestMain(m *testing.M) { childproc.Main(m, map[string]childproc.Role{"worker": runWorker}) }
//
// and its tests start them:
//
//	worker := childproc.Start(t, "worker", config{Addr: server.Addr()})
//	worker.Await("took report@")
//	worker.Kill()
package childproc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// roleVariable names the role that a child plays; a process without it is the test itself.
const roleVariable = "CHIME_TEST_ROLE"

// A Role is what a child process does. Its error is told on standard error and makes the process end with exit code 1.
type Role func(*Child) error

// Main is the whole of TestMain: it plays the role that the process was started for, else it runs the tests.
func Main(m *testing.M, roles map[string]Role) {
	name, child := os.LookupEnv(roleVariable)
	if !child {
		os.Exit(m.Run())
	}
	role, ok := roles[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "childproc: no role %q\n", name)
		os.Exit(2)
	}
	if err := play(role); err != nil {
		fmt.Fprintf(os.Stderr, "childproc: %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func play(role Role) error {
	c := &Child{Signals: make(chan os.Signal, 8)}
	signal.Notify(c.Signals, syscall.SIGTERM, syscall.SIGINT)
	in := bufio.NewReader(os.Stdin)
	config, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read its configuration: %w", err)
	}
	c.config = config
	go func() {
		_, _ = io.Copy(io.Discard, in) // ends when the test does, however it ends
		os.Exit(3)
	}()
	return role(c)
}

// A Child is the process as its role sees it.
type Child struct {
	// Signals delivers SIGTERM and SIGINT, which end nothing by themselves.
	Signals chan os.Signal

	config []byte
	mu     sync.Mutex
}

// Config decodes what the test handed over into v.
func (c *Child) Config(v any) error { return json.Unmarshal(c.config, v) }

// Say tells the test one event, a line. It has left the process when Say returns, so that a kill right after it takes
// nothing back.
func (c *Child) Say(format string, arguments ...any) {
	line := strings.ReplaceAll(fmt.Sprintf(format, arguments...), "\n", " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = os.Stdout.WriteString(line + "\n") // a test that is gone hears nothing
}

// events are the lines a child has said so far, and a way to wait for more.
type events struct {
	mu    sync.Mutex
	lines []string
	ended bool
	more  chan struct{} // closed and replaced with each change
}

func (e *events) add(line string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, line)
	close(e.more)
	e.more = make(chan struct{})
}

func (e *events) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	close(e.more)
	e.more = make(chan struct{})
}

func (e *events) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.lines)
}

// find returns the position of the first line from position on that begins with prefix; -1, and what to wait for, if there
// is none yet.
func (e *events) find(from int, prefix string) (at int, ended bool, more <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := from; i < len(e.lines); i++ {
		if strings.HasPrefix(e.lines[i], prefix) {
			return i, e.ended, nil
		}
	}
	return -1, e.ended, e.more
}
