package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// clockTick is the kernel's unit of CPU time in /proc, 1/100 s on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// A postgresServer is a PostgreSQL of the run's own, for River: on a free port of the loopback interface, with the durability
// that it has by default (fsync and synchronous_commit on).
type postgresServer struct {
	url     string
	pool    *pgxpool.Pool // the measurements' own, not the peers'
	command *exec.Cmd
	folder  string
	in, out atomic.Int64 // bytes that this process's clients sent to the server, and received
}

// startPostgres returns nil if PostgreSQL is not installed, or no user can run it.
func startPostgres(ctx context.Context) (*postgresServer, error) {
	bin := postgresPrograms()
	if bin == "" {
		return nil, nil
	}
	owner, ok := postgresOwner()
	if !ok {
		return nil, nil
	}
	folder, err := os.MkdirTemp("", "chime-bench-")
	if err != nil {
		return nil, err
	}
	s := &postgresServer{folder: folder}
	if err := s.start(ctx, bin, owner); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// postgresPrograms finds the folder of initdb and postgres: in PATH, or where Debian keeps them, the newest version.
func postgresPrograms() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	var newest string
	var version int
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	for _, path := range found {
		bin := filepath.Dir(path)
		if n, err := strconv.Atoi(filepath.Base(filepath.Dir(bin))); err == nil && n > version {
			newest, version = bin, n
		}
	}
	return newest
}

// postgresOwner is the user of the server: PostgreSQL refuses to run as root. nil: the user of this program.
// ok is false if no user can.
func postgresOwner() (owner *syscall.Credential, ok bool) {
	if os.Getuid() != 0 {
		return nil, true
	}
	found, err := user.Lookup(postgresUser)
	if err != nil {
		return nil, false
	}
	return &syscall.Credential{Uid: uint32(number(found.Uid)), Gid: uint32(number(found.Gid))}, true
}

// postgresUser is the user for PostgreSQL if this program runs as root; the distribution's package creates it.
const postgresUser = "postgres"

// noPostgres explains why PostgreSQL is missing.
func noPostgres() string {
	if postgresPrograms() == "" {
		return "PostgreSQL is not installed (apt install postgresql)"
	}
	return "PostgreSQL does not run as root, and there is no user " + postgresUser
}

func (s *postgresServer) start(ctx context.Context, bin string, owner *syscall.Credential) error {
	if owner != nil {
		if err := os.Chown(s.folder, int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	log, err := os.Create(filepath.Join(s.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	program := func(name string, arguments ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(bin, name), arguments...)
		c.Dir, c.Stdout, c.Stderr = s.folder, log, log
		endWithParent(c)
		if owner != nil {
			if c.SysProcAttr == nil {
				c.SysProcAttr = &syscall.SysProcAttr{}
			}
			c.SysProcAttr.Credential = owner
		}
		return c
	}
	data := filepath.Join(s.folder, "data")
	if err := program("initdb", "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C").Run(); err != nil {
		return fmt.Errorf("initdb: %w", s.explain(err))
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	command := program("postgres", "-D", data, "-p", strconv.Itoa(port), "-h", "127.0.0.1", "-k", s.folder,
		"-c", "shared_buffers=256MB", "-c", "max_connections=400")
	if err := command.Start(); err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	s.command = command
	s.url = fmt.Sprintf("postgres://bench@127.0.0.1:%d/postgres?sslmode=disable", port)
	if s.pool, err = pgxpool.New(ctx, s.url); err != nil {
		return err
	}
	if err := s.await(ctx); err != nil {
		return s.explain(err)
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(s.pool), &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func (s *postgresServer) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := s.pool.Ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// explain adds the last line that the server or initdb has written.
func (s *postgresServer) explain(err error) error {
	text, _ := os.ReadFile(filepath.Join(s.folder, "log"))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
}

func (s *postgresServer) stop() {
	if s.pool != nil {
		s.pool.Close()
	}
	if s.command != nil {
		_ = s.command.Process.Signal(syscall.SIGINT) // ends connections too
		_ = s.command.Wait()
	}
	_ = os.RemoveAll(s.folder)
}

// empty removes River's data, and flushes pending writes.
func (s *postgresServer) empty(ctx context.Context) error {
	for _, statement := range []string{"TRUNCATE river_job, river_leader, river_queue, river_notification", "CHECKPOINT"} {
		if _, err := s.pool.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// usage does not count commands: a statement of PostgreSQL cannot be compared with a Redis command. Its bytes are those of this process's connections.
// Without /proc it has no CPU time.
func (s *postgresServer) usage(ctx context.Context) (usage, error) {
	u := usage{in: s.in.Load(), out: s.out.Load()}
	var err error
	if u.cpu, err = familyCPU(s.command.Process.Pid); err != nil && !errors.Is(err, os.ErrNotExist) {
		return usage{}, err
	}
	err = s.pool.QueryRow(ctx, "SELECT pg_total_relation_size('river_job')").Scan(&u.memory)
	return u, err
}

// familyCPU is what a process has used, with its children that are there and those that it has seen end: PostgreSQL has one
// process a connection. If a process ends during the reading, the reading is repeated, because it might count that process twice or not at all.
func familyCPU(parent int) (time.Duration, error) {
	for {
		used, before, _, err := processCPU(strconv.Itoa(parent))
		if err != nil {
			return 0, err
		}
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return 0, err
		}
		for _, entry := range entries {
			if entry.Name()[0] < '0' || entry.Name()[0] > '9' {
				continue
			}
			if own, ended, of, err := processCPU(entry.Name()); err == nil && of == parent {
				used += own + ended
			}
		}
		_, after, _, err := processCPU(strconv.Itoa(parent))
		if err != nil {
			return 0, err
		}
		if before == after {
			return used + after, nil
		}
	}
}

// processCPU is what a process has used itself, what its ended children had used, and its parent.
func processCPU(pid string) (own, ended time.Duration, parent int, err error) {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return 0, 0, 0, err
	}
	// the name, in brackets, may hold anything
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return 0, 0, 0, fmt.Errorf("/proc/%s/stat: %d fields after the name", pid, len(fields))
	}
	ticks := func(field int) time.Duration { return time.Duration(number(fields[field])) * clockTick }
	own, ended = ticks(11)+ticks(12), ticks(13)+ticks(14) // utime, stime; cutime, cstime
	// The same in nanoseconds, of the one thread that such a process has; not every kernel has it.
	if text, err := os.ReadFile(filepath.Join("/proc", pid, "schedstat")); err == nil {
		running, _, _ := strings.Cut(string(text), " ")
		own = time.Duration(number(running))
	}
	return own, ended, int(number(fields[1])), nil
}

// dial counts the bytes of a connection of this process to the server.
func (s *postgresServer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &countedConn{conn, s}, nil
}

type countedConn struct {
	net.Conn
	server *postgresServer
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.server.out.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.server.in.Add(int64(n))
	return n, err
}
