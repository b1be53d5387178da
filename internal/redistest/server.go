//go:build unix

// Package redistest gives a test a real redis-server of its own: a child process on a free port of the loopback interface,
// in a temporary directory, gone when the test ends. It never talks to a server that it has not started, and it signals
// none but its own children, by their process IDs.
//
// A machine without redis-server fails the test and says what to install: a suite that skips what it cannot run is green
// for the wrong reason.
package redistest

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long a server may take to start, load its files or stop before the test fails.
const patience = 20 * time.Second

// Options describe a server; the zero value is one that keeps everything in memory and lets everybody in.
type Options struct {
	AppendOnly bool     // every write goes to disk, fsync each second: a killed server comes back with its data
	MaxMemory  string   // such as "4mb"; writes beyond it are refused. Empty: no limit
	TLS        bool     // TLS only, with a certificate for 127.0.0.1 signed by Server.CA
	Users      []string // ACL rules, one user each: "worker on >secret ~chime:* …"
	Config     []string // further lines of redis.conf
}

// A Server is one redis-server child. Its methods fail the test when the server does not do as told; they are for the
// test's own goroutine.
type Server struct {
	t       testing.TB
	options Options
	port    int
	dir     string
	auth    *authority
	process *process // nil while it is down
}

// Start runs a server and returns when it answers.
func Start(t testing.TB, options Options) *Server {
	t.Helper()
	s := &Server{t: t, options: options, dir: t.TempDir()}
	if options.TLS {
		s.auth = newAuthority(t, s.dir)
	}
	t.Cleanup(func() {
		if s.process != nil {
			s.process.end(syscall.SIGKILL)
		}
	})
	// Between finding a free port and the server's taking it somebody else may; then another one will do.
	var err error
	for range 5 {
		s.port = freePort(t)
		if err = s.start(); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Addr is where it listens, host and port. It stays the same over restarts.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// PID is the process ID of the child; 0 while it is down.
func (s *Server) PID() int {
	if s.process == nil {
		return 0
	}
	return s.process.cmd.Process.Pid
}

// Dir is where the server keeps its files. They may be cut, copied or removed while it is down.
func (s *Server) Dir() string { return s.dir }

// TLSConfig trusts the server's certificate and checks its name; nil for a server without TLS.
func (s *Server) TLSConfig() *tls.Config {
	if s.auth == nil {
		return nil
	}
	return &tls.Config{RootCAs: s.auth.pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
}

// Client returns a new client, closed when the test ends. Set what it should do differently in options; address and TLS are
// filled in where they are missing. Nil is the client's defaults.
func (s *Server) Client(options *redis.Options) *redis.Client {
	o := redis.Options{}
	if options != nil {
		o = *options
	}
	o.Addr = cmp.Or(o.Addr, s.Addr())
	if o.TLSConfig == nil {
		o.TLSConfig = s.TLSConfig()
	}
	client := redis.NewClient(&o)
	s.t.Cleanup(func() { client.Close() })
	return client
}

// Stop ends the server in good order: it saves what it is configured to save.
func (s *Server) Stop() { s.t.Helper(); s.down(syscall.SIGTERM) }

// Kill is kill -9: nothing is saved that is not on disk already.
func (s *Server) Kill() { s.t.Helper(); s.down(syscall.SIGKILL) }

// Up starts a server that is down again, with the files that it left, and returns when it has loaded them.
func (s *Server) Up() {
	s.t.Helper()
	if s.process != nil {
		s.t.Fatalf("redistest: the server at %s is up already", s.Addr())
	}
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// UpEmpty is Up after the loss of all files.
func (s *Server) UpEmpty() {
	s.t.Helper()
	if s.process != nil {
		s.t.Fatalf("redistest: the server at %s is up: stop it before its files go", s.Addr())
	}
	for _, name := range []string{"dump.rdb", "appendonlydir", "nodes.conf"} {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			s.t.Fatal(err)
		}
	}
	s.Up()
}

// Freeze stops the process where it is (SIGSTOP): connections stay open and nothing answers. Thaw lets it go on.
func (s *Server) Freeze() { s.t.Helper(); s.signal(syscall.SIGSTOP) }

// Thaw ends a Freeze.
func (s *Server) Thaw() { s.t.Helper(); s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatalf("redistest: %v to the server at %s, which is down", sig, s.Addr())
	}
	if err := s.process.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("redistest: %v to the server at %s: %v", sig, s.Addr(), err)
	}
}

func (s *Server) down(sig syscall.Signal) {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatalf("redistest: the server at %s is down already", s.Addr())
	}
	p := s.process
	s.process = nil
	if !p.end(sig) {
		s.t.Fatalf("redistest: the server at %s did not stop within %v of %v; its log:\n%s", s.Addr(), patience, sig, p.log())
	}
}

var errPortTaken = errors.New("redistest: the port was taken meanwhile")

func (s *Server) start() error {
	program, err := find()
	if err != nil {
		return err
	}
	config := filepath.Join(s.dir, "redis.conf")
	if err := os.WriteFile(config, []byte(strings.Join(s.config(), "\n")+"\n"), 0o600); err != nil {
		return err
	}
	p, err := launch(exec.Command(program, config))
	if err != nil {
		return err
	}
	select {
	case <-p.ready:
	case <-p.ended:
		if strings.Contains(p.log(), "Address already in use") {
			return errPortTaken
		}
		return fmt.Errorf("redistest: %s ended before it was ready; its log:\n%s", program, p.log())
	case <-time.After(patience):
		p.end(syscall.SIGKILL)
		return fmt.Errorf("redistest: %s was not ready after %v; its log:\n%s", program, patience, p.log())
	}
	if err := s.ping(); err != nil {
		p.end(syscall.SIGKILL)
		return fmt.Errorf("redistest: %s at %s does not answer: %w; its log:\n%s", program, s.Addr(), err, p.log())
	}
	s.process = p
	return nil
}

func (s *Server) config() []string {
	port := fmt.Sprintf("port %d", s.port)
	if s.options.TLS {
		port = fmt.Sprintf("port 0\ntls-port %d\ntls-auth-clients no\n%s", s.port, s.auth.config())
	}
	lines := []string{port, "bind 127.0.0.1", "dir " + s.dir, `save ""`, "daemonize no", "logfile \"\"", "enable-debug-command local"}
	if s.options.AppendOnly {
		lines = append(lines, "appendonly yes", "appendfsync everysec")
	}
	if s.options.MaxMemory != "" {
		lines = append(lines, "maxmemory "+s.options.MaxMemory, "maxmemory-policy noeviction")
	}
	for _, user := range s.options.Users {
		lines = append(lines, "user "+user)
	}
	return slices.Concat(lines, s.options.Config)
}

// ping waits for one answer of any kind: a server that wants a password answers too.
func (s *Server) ping() error {
	dialer := &net.Dialer{Timeout: patience}
	var conn net.Conn
	var err error
	if s.options.TLS {
		conn, err = tls.DialWithDialer(dialer, "tcp", s.Addr(), s.TLSConfig())
	} else {
		conn, err = dialer.Dial("tcp", s.Addr())
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(answer, "+PONG") && !strings.HasPrefix(answer, "-NOAUTH") && !strings.HasPrefix(answer, "-NOPERM") {
		err = fmt.Errorf("PING was answered by %q", answer)
	}
	return err
}

// find returns the server's program. Valkey runs the same scripts and is what some systems have.
func find() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("redistest: redis-server is not installed: run ./test.sh, which says what to install")
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// A process is a running child and what it says.
type process struct {
	cmd   *exec.Cmd
	ready chan struct{} // closed when it says that it accepts connections
	ended chan struct{} // closed when it is gone and reaped

	mu    sync.Mutex
	lines []string // the last ones it logged
}

func launch(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ready: make(chan struct{}), ended: make(chan struct{})}
	cmd.SysProcAttr = endWithParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("redistest: %w", err)
	}
	go p.follow(out)
	return p, nil
}

// follow reads the log to its end, which is the end of the process, and reaps it.
func (p *process) follow(out io.Reader) {
	ready := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines[max(0, len(p.lines)-99):], lines.Text())
		p.mu.Unlock()
		if !ready && strings.Contains(lines.Text(), "Ready to accept connections") {
			ready = true
			close(p.ready)
		}
	}
	_ = p.cmd.Wait() // how it ended is its signal's doing
	close(p.ended)
}

// end signals the process and waits until it is gone; one that does not go in time is killed, and false returned.
func (p *process) end(sig syscall.Signal) bool {
	_ = p.cmd.Process.Signal(sig) // one that is gone already is what we want
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
		return false
	}
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}
