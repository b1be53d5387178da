//go:build unix

package childproc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// timeout is how long a test waits for a child before it fails.
const timeout = 3 * time.Minute

// A Process is a child process in the view of the test. It is killed when the test ends, and a data race in it fails the test. Only Events may be
// called from any goroutine; the other methods are for the test's own goroutine.
type Process struct {
	t         testing.TB
	role      string
	cmd       *exec.Cmd
	stdin     io.Closer // open as long as the test lives
	events    *events
	next      int               // index of the line at which Await continues
	heard     func(line string) // receives each line; nil: events keeps them
	stderr    lockedBuffer
	listening chan struct{} // closed when signals reach the role
	ended     chan struct{} // closed when the process has ended and been waited for
	state     *os.ProcessState
}

// Start runs this test binary as a child process with the given role. It sends the configuration to the child as JSON.
func Start(t testing.TB, role string, config any) *Process {
	t.Helper()
	return start(t, role, config, nil)
}

// Follow is Start for a child that sends many lines. One goroutine calls heard with each line, in order. No line is kept, so Await finds none.
// When Wait has returned, heard has received all lines.
func Follow(t testing.TB, role string, config any, heard func(line string)) *Process {
	t.Helper()
	return start(t, role, config, heard)
}

func start(t testing.TB, role string, config any, heard func(line string)) *Process {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatalf("childproc: %s: %v", role, err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{t: t, role: role, cmd: exec.Command(program), heard: heard, listening: make(chan struct{}), ended: make(chan struct{})}
	p.events = &events{more: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	p.cmd.Stderr = &p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("childproc: %s: %v", role, err)
	}
	go p.follow(out)
	t.Cleanup(p.clean)
	if _, err := stdin.Write(append(text, '\n')); err != nil {
		t.Fatalf("childproc: %s: send the configuration: %v", role, err)
	}
	return p
}

// follow reads the child's events until it ends, and waits for the process.
func (p *Process) follow(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch line := lines.Text(); {
		case line == listening:
			close(p.listening)
		case p.heard != nil:
			p.heard(line)
		default:
			p.events.add(line)
		}
	}
	_ = p.cmd.Wait() // p.state contains how it ended
	p.state = p.cmd.ProcessState
	p.events.end()
	close(p.ended)
}

func (p *Process) clean() {
	_ = p.cmd.Process.Kill() // an error means that it has ended already
	<-p.ended
	p.stdin.Close()
	if stderr := p.stderr.String(); strings.Contains(stderr, "DATA RACE") {
		p.t.Errorf("childproc: %s has a data race:\n%s", p.role, stderr)
	} else if p.t.Failed() && p.heard == nil {
		p.t.Logf("childproc: the events of %s:\n%s\nits standard error:\n%s", p.role, strings.Join(p.events.all(), "\n"), stderr)
	}
}

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Events returns all lines received so far.
func (p *Process) Events() []string { return p.events.all() }

// Stderr returns what the child has written to standard error so far.
func (p *Process) Stderr() string { return p.stderr.String() }

// Await waits for a line that begins with prefix and returns it. It skips the lines up to the one that it returned last. The
// test fails if the child ends first, or after 30 seconds.
func (p *Process) Await(prefix string) string {
	p.t.Helper()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		at, ended, more := p.events.find(p.next, prefix)
		if at >= 0 {
			p.next = at + 1
			return p.events.all()[at]
		}
		if ended {
			p.t.Fatalf("childproc: %s ended (%v) without a line that begins with %q", p.role, p.state, prefix)
		}
		select {
		case <-more:
		case <-timer.C:
			p.t.Fatalf("childproc: %s sent no line that begins with %q within %v", p.role, prefix, timeout)
		}
	}
}

// Kill sends SIGKILL and returns when the process has ended.
func (p *Process) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	p.Wait()
}

// Freeze stops the process with SIGSTOP. Its connections remain open. A system call that is under way may still finish.
func (p *Process) Freeze() { p.t.Helper(); p.Signal(syscall.SIGSTOP) }

// Thaw continues a frozen process with SIGCONT.
func (p *Process) Thaw() { p.t.Helper(); p.Signal(syscall.SIGCONT) }

// Signal sends a signal. SIGTERM and SIGINT would end a process that is still starting, so they are sent only after its role can receive them.
// The test fails if the process has ended.
func (p *Process) Signal(sig syscall.Signal) {
	p.t.Helper()
	if sig == syscall.SIGTERM || sig == syscall.SIGINT {
		p.awaitListening()
	}
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatalf("childproc: %v to %s: %v", sig, p.role, err)
	}
}

// awaitListening waits until signals reach the role. The test fails after 30 seconds.
func (p *Process) awaitListening() {
	p.t.Helper()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.listening:
	case <-p.ended:
	case <-timer.C:
		p.t.Fatalf("childproc: %s has not begun within %v", p.role, timeout)
	}
}

// Wait waits until the process has ended and returns its state. The test fails after 30 seconds.
func (p *Process) Wait() *os.ProcessState {
	p.t.Helper()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.t.Fatalf("childproc: %s has not ended within %v", p.role, timeout)
	}
	return p.state
}

// A lockedBuffer is a buffer that one goroutine may write while another reads.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
