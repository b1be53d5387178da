package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// jobName is the name of every job here, and payloadBytes the size of its payload, the same for all peers.
const (
	jobName      = "work"
	payloadBytes = 100
)

// A testbed has the servers that the peers of one run share. They start and stop with the run.
type testbed struct {
	redis    *redisServer
	postgres *postgresServer // nil: not wanted or not installed
	sizes    sizes
	aof      bool
}

// startTestbed starts the servers of a testbed; PostgreSQL only if it is wanted, installed and able to run.
func startTestbed(ctx context.Context, form sizes, aof, postgres bool) (*testbed, error) {
	r := &testbed{sizes: form, aof: aof}
	var err error
	if r.redis, err = startRedis(ctx, aof); err != nil {
		return nil, err
	}
	if postgres {
		if r.postgres, err = startPostgres(ctx); err != nil {
			r.redis.stop()
			return nil, fmt.Errorf("PostgreSQL: %w", err)
		}
	}
	return r, nil
}

func (r *testbed) stop() {
	if r.postgres != nil {
		r.postgres.stop()
	}
	r.redis.stop()
}

// A server stores a peer's jobs.
type server interface {
	// empty removes all jobs, and the statistics of the commands that created them.
	empty(ctx context.Context) error
	// usage returns the resources that the server has used; a field that is not known is 0.
	usage(ctx context.Context) (usage, error)
}

// server is where the peer's jobs are.
func (r *testbed) server(p peer) server {
	if p.server == nil {
		return r.redis
	}
	return p.server(r)
}

// A redisServer is a redis-server of the run's own, on a free port of the loopback interface.
type redisServer struct {
	addr    string
	client  *redis.Client // the measurements' own, not the peers'
	command *exec.Cmd
	folder  string
}

// errNoRedis explains what to install if there is no Redis.
var errNoRedis = errors.New("redis-server is not installed or not in PATH; on Debian and Ubuntu: apt install redis-server")

// startRedis starts a server that keeps nothing on disk or, with aof, an append-only file synced every second. If it fails nothing
// is left of it.
func startRedis(ctx context.Context, aof bool) (*redisServer, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errNoRedis
	}
	folder, err := os.MkdirTemp("", "chime-bench-")
	if err != nil {
		return nil, err
	}
	s := &redisServer{folder: folder}
	if err := s.start(ctx, program, aof); err != nil {
		s.stop()
		return nil, fmt.Errorf("redis-server: %w", err)
	}
	return s, nil
}

func (s *redisServer) start(ctx context.Context, program string, aof bool) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	appendonly := "no"
	if aof {
		appendonly = "yes"
	}
	log, err := os.Create(filepath.Join(s.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(program, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "",
		"--appendonly", appendonly, "--appendfsync", "everysec", "--dir", s.folder)
	command.Stdout, command.Stderr = log, log
	endWithParent(command)
	if err := command.Start(); err != nil {
		return err
	}
	s.command = command
	s.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.client = redis.NewClient(&redis.Options{Addr: s.addr})
	return s.await(ctx)
}

func (s *redisServer) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := s.client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *redisServer) stop() {
	if s.client != nil {
		_ = s.client.Close()
	}
	if s.command != nil {
		_ = s.command.Process.Signal(syscall.SIGTERM)
		_ = s.command.Wait()
	}
	_ = os.RemoveAll(s.folder)
}

// empty removes all keys, and the statistics of the commands that created them.
func (s *redisServer) empty(ctx context.Context) error {
	if err := s.client.FlushAll(ctx).Err(); err != nil {
		return err
	}
	return s.client.ConfigResetStat(ctx).Err()
}

// A usage has the resources that the server had used at an instant.
type usage struct {
	cpu      time.Duration // of the whole server, user and system
	commands int64         // executed, those inside of scripts too
	in, out  int64         // bytes on the network
	memory   int64         // bytes of everything but the clients' buffers: data, their structures, what the allocator rounds up
}

func (u usage) since(earlier usage) usage {
	return usage{u.cpu - earlier.cpu, u.commands - earlier.commands, u.in - earlier.in, u.out - earlier.out, u.memory - earlier.memory}
}

func (s *redisServer) usage(ctx context.Context) (usage, error) {
	info, err := s.client.InfoMap(ctx, "cpu", "stats", "memory", "commandstats").Result()
	if err != nil {
		return usage{}, err
	}
	var u usage
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info["CPU"][field], 64)
		if err != nil {
			return usage{}, fmt.Errorf("INFO: %s: %w", field, err)
		}
		u.cpu += time.Duration(seconds * float64(time.Second))
	}
	u.in, u.out = number(info["Stats"]["total_net_input_bytes"]), number(info["Stats"]["total_net_output_bytes"])
	u.memory = number(info["Memory"]["used_memory"]) - number(info["Memory"]["mem_clients_normal"])
	for name, text := range info["Commandstats"] {
		if name != "cmdstat_info" { // reading the usage does not count as usage
			calls, _, _ := strings.Cut(strings.TrimPrefix(text, "calls="), ",")
			u.commands += number(calls)
		}
	}
	return u, nil
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// clientCPU is what this process has used, user and system.
func clientCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
