//go:build unix

// Package redistest starts a real redis-server for a test: a child process on a free port of the loopback interface, in a
// temporary directory. It ends with the test. The package connects to and signals only servers that it has started.
//
// If redis-server is not installed, the test fails with the hint what to install. It is not skipped, so that a passing suite means that
// everything has run.
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

// timeout is how long a server may take to start, to load its files or to stop before the test fails.
const timeout = time.Minute

// Options configure a server. The zero value is a server that keeps everything in memory and needs no password.
type Options struct {
	AppendOnly bool     // append-only file, with an fsync each second: a killed server comes back with its data
	MaxMemory  string   // such as "4mb"; writes beyond it fail. Empty: no limit
	TLS        bool     // TLS only, with a certificate for 127.0.0.1; see Server.TLSConfig
	TLSClients bool     // with TLS: clients need a certificate of the same authority
	Users      []string // ACL rules of one user each: "worker on >secret ~chime:* …"
	Config     []string // further lines of redis.conf
}

// A Server is one redis-server process. If a method fails, it fails the test. The methods are for the test's own goroutine.
type Server struct {
	t       testing.TB
	options Options
	port    int
	dir     string
	auth    *authority
	process *process // nil while it is down
}

// Start starts a server and returns when it answers.
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
	// Another program may take the free port before the server does. Then the next attempt uses another port.
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

// Addr returns the address (host:port) of the server. Restarts do not change it.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// PID returns the process ID of the server, or 0 while it is down.
func (s *Server) PID() int {
	if s.process == nil {
		return 0
	}
	return s.process.cmd.Process.Pid
}

// Dir returns the directory of the server's files. A test may change them while the server is down.
func (s *Server) Dir() string { return s.dir }

// TLSConfig returns a configuration that trusts the server's certificate and checks its name, and has a client's certificate if the
// server wants one. It is nil without TLS.
func (s *Server) TLSConfig() *tls.Config {
	if s.auth == nil {
		return nil
	}
	config := &tls.Config{RootCAs: s.auth.pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
	if s.options.TLSClients {
		config.Certificates = []tls.Certificate{s.auth.client}
	}
	return config
}

// Client returns a new client, which is closed when the test ends. Client sets address and TLS if options do not. Nil options mean the client's
// defaults.
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

// Stop stops the server with SIGTERM, so that it saves what it is configured to save.
func (s *Server) Stop() { s.t.Helper(); s.down(syscall.SIGTERM) }

// Kill stops the server with SIGKILL. What is not on disk yet is lost.
func (s *Server) Kill() { s.t.Helper(); s.down(syscall.SIGKILL) }

// Up starts a stopped server again with its files, and returns when it has loaded them.
func (s *Server) Up() {
	s.t.Helper()
	if s.process != nil {
		s.t.Fatalf("redistest: the server at %s is up already", s.Addr())
	}
	if err := s.start(); err != nil {
		s.t.Fatal(err)
	}
}

// UpEmpty removes the server's files and starts it again.
func (s *Server) UpEmpty() {
	s.t.Helper()
	if s.process != nil {
		s.t.Fatalf("redistest: the server at %s is up: stop it before removing its files", s.Addr())
	}
	for _, name := range []string{"dump.rdb", "appendonlydir", "nodes.conf"} {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			s.t.Fatal(err)
		}
	}
	s.Up()
}

// Freeze stops the process with SIGSTOP: connections remain open, and the server does not answer. Thaw ends it.
func (s *Server) Freeze() { s.t.Helper(); s.signal(syscall.SIGSTOP) }

// Thaw continues a frozen server with SIGCONT.
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

// down stops the server with a signal.
func (s *Server) down(sig syscall.Signal) {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatalf("redistest: the server at %s is down already", s.Addr())
	}
	p := s.process
	s.process = nil
	if !p.end(sig) {
		s.t.Fatalf("redistest: the server at %s did not stop within %v of %v; its log:\n%s", s.Addr(), timeout, sig, p.log())
	}
}

var errPortTaken = errors.New("redistest: another program took the port")

// start starts the server process and waits until it answers.
func (s *Server) start() error {
	program, err := findServer()
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
	case <-time.After(timeout):
		p.end(syscall.SIGKILL)
		return fmt.Errorf("redistest: %s was not ready after %v; its log:\n%s", program, timeout, p.log())
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
		port = fmt.Sprintf("port 0\ntls-port %d\n%s", s.port, s.auth.config(s.options.TLSClients))
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

// ping waits for an answer to PING. An error answer of a server that wants a password counts.
func (s *Server) ping() error {
	dialer := &net.Dialer{Timeout: timeout}
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
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && !strings.HasPrefix(answer, "+PONG") && !strings.HasPrefix(answer, "-NOAUTH") && !strings.HasPrefix(answer, "-NOPERM") {
		err = fmt.Errorf("the answer to PING is %q", answer)
	}
	return err
}

// findServer returns the path of redis-server, or of valkey-server, which some systems have instead.
func findServer() (string, error) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("redistest: redis-server is not installed: run ./test.sh, which reports what to install")
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

// A process is a running server process and its log.
type process struct {
	cmd   *exec.Cmd
	ready chan struct{} // closed when it logs that it accepts connections
	ended chan struct{} // closed when it has ended and been waited for

	mu    sync.Mutex
	lines []string // the last 100 lines of the log
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

// follow reads the log until the process ends, and waits for the process.
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
	_ = p.cmd.Wait() // the signal decides how it ended
	close(p.ended)
}

// end signals the process and waits until it has ended. If that takes too long, it kills the process and returns false.
func (p *process) end(sig syscall.Signal) bool {
	_ = p.cmd.Process.Signal(sig) // an error means that it has ended already
	timer := time.NewTimer(timeout)
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
