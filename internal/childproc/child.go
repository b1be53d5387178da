//go:build unix

// Package childproc starts child processes of a test binary, so that a test can kill them, freeze them and send them signals.
// A package that uses it registers its roles in TestMain:
//
//	func TestMain(m *testing.M) { childproc.Main(m, map[string]childproc.Role{"worker": runWorker}) }
//
// and its tests start them:
//
//	worker := childproc.Start(t, "worker", config{Addr: server.Addr()})
//	worker.Await("took report@") // the next line of its output with this prefix
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

// roleVariable is the environment variable that holds a child's role. A process without it is the test itself.
const roleVariable = "CHIME_TEST_ROLE"

// listening is a child's first line: after it SIGTERM and SIGINT reach the child's role. The process that started the child does not pass this
// line on.
const listening = "childproc: listening"

// A Role is the main function of a child process. Its error is written to standard error, and the process exits with code 1.
type Role func(*Child) error

// Main is the body of TestMain. In a child it runs the child's role; otherwise it runs the tests.
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
	if err := runRole(role); err != nil {
		fmt.Fprintf(os.Stderr, "childproc: %s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runRole reads the configuration, runs the role, and ends the process when the test ends.
func runRole(role Role) error {
	c := &Child{Signals: make(chan os.Signal, 8)}
	signal.Notify(c.Signals, syscall.SIGTERM, syscall.SIGINT)
	c.Say(listening)
	in := bufio.NewReader(os.Stdin)
	config, err := in.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	c.config = config
	go func() {
		_, _ = io.Copy(io.Discard, in) // standard input is open as long as the test lives
		os.Exit(3)
	}()
	return role(c)
}

// A Child is a child process in the view of its role.
type Child struct {
	// Signals delivers SIGTERM and SIGINT. They do not end the process; the role does.
	Signals chan os.Signal

	config []byte
	mu     sync.Mutex
}

// Config decodes the configuration given to Start into v.
func (c *Child) Config(v any) error { return json.Unmarshal(c.config, v) }

// Say sends one event to the test, as a line of text. When Say returns, the line has left the process, so that a kill after it does not lose the
// line.
func (c *Child) Say(format string, arguments ...any) {
	line := strings.ReplaceAll(fmt.Sprintf(format, arguments...), "\n", " ")
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = os.Stdout.WriteString(line + "\n") // if the test has ended, no process reads it
}

// events holds the lines that a child has sent so far, and lets readers wait for more.
type events struct {
	mu    sync.Mutex
	lines []string
	ended bool
	more  chan struct{} // closed and replaced at each change
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

// find returns the index of the first line that begins with prefix, at or after index from. If there is no such line yet, it returns -1
// and a channel that is closed at the next change.
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
