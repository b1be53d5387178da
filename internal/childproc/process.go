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

// patience is how long a child may take to say or do what the test waits for.
const patience = 30 * time.Second

// A Process is a child as the test sees it. It is killed when the test ends, and a data race in it fails the test. Its
// methods are for the test's own goroutine, but Events.
type Process struct {
	t      testing.TB
	role   string
	cmd    *exec.Cmd
	stdin  io.Closer // open as long as the test lives
	events *events
	heard  int // lines that Await has passed
	errors synced
	ended  chan struct{} // closed when the process is gone and reaped
	state  *os.ProcessState
}

// Start runs this test binary once more, in the given role. The configuration travels as JSON.
func Start(t testing.TB, role string, config any) *Process {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatalf("childproc: %s: %v", role, err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{t: t, role: role, cmd: exec.Command(program), ended: make(chan struct{})}
	p.events = &events{more: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	p.cmd.Stderr = &p.errors
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
		t.Fatalf("childproc: %s: hand over its configuration: %v", role, err)
	}
	return p
}

// follow reads what the child says to its end, and reaps it.
func (p *Process) follow(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.events.add(lines.Text())
	}
	_ = p.cmd.Wait() // its state says how it ended
	p.state = p.cmd.ProcessState
	p.events.end()
	close(p.ended)
}

func (p *Process) clean() {
	_ = p.cmd.Process.Kill() // one that is gone already is what we want
	<-p.ended
	p.stdin.Close()
	if stderr := p.errors.String(); strings.Contains(stderr, "DATA RACE") {
		p.t.Errorf("childproc: %s has a data race:\n%s", p.role, stderr)
	} else if p.t.Failed() {
		p.t.Logf("childproc: %s said:\n%s\nand on standard error:\n%s", p.role, strings.Join(p.events.all(), "\n"), stderr)
	}
}

// PID is its process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Events returns all lines said so far.
func (p *Process) Events() []string { return p.events.all() }

// Stderr returns what it wrote on standard error so far.
func (p *Process) Stderr() string { return p.errors.String() }

// Await returns the next line that begins with prefix, of those after the last that Await returned. A child that ends, or
// says no such thing for half a minute, fails the test.
func (p *Process) Await(prefix string) string {
	p.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		at, ended, more := p.events.find(p.heard, prefix)
		if at >= 0 {
			p.heard = at + 1
			return p.events.all()[at]
		}
		if ended {
			p.t.Fatalf("childproc: %s ended (%v) without saying %q", p.role, p.state, prefix)
		}
		select {
		case <-more:
		case <-late.C:
			p.t.Fatalf("childproc: %s has not said %q within %v", p.role, prefix, patience)
		}
	}
}

// Kill is kill -9. It returns when the process is gone.
func (p *Process) Kill() {
	p.t.Helper()
	p.Signal(syscall.SIGKILL)
	p.Wait()
}

// Freeze stops it where it is (SIGSTOP), with its connections open. A thread in the middle of a system call may finish that.
func (p *Process) Freeze() { p.t.Helper(); p.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen one go on (SIGCONT).
func (p *Process) Thaw() { p.t.Helper(); p.Signal(syscall.SIGCONT) }

// Signal sends a signal; to a process that has ended it fails the test.
func (p *Process) Signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatalf("childproc: %v to %s: %v", sig, p.role, err)
	}
}

// Wait returns how it ended, when it has.
func (p *Process) Wait() *os.ProcessState {
	p.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-p.ended:
	case <-late.C:
		p.t.Fatalf("childproc: %s has not ended within %v", p.role, patience)
	}
	return p.state
}

// synced is a buffer that one goroutine writes while another reads.
type synced struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (s *synced) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buffer.Write(b)
}

func (s *synced) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buffer.String()
}
