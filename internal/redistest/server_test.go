//go:build real && unix

package redistest

import (
	"context"
	"crypto/x509"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestAServerAnswersAndEndsWithItsTest(t *testing.T) {
	var pid int
	t.Run("inner", func(t *testing.T) {
		s := Start(t, Options{})
		pid = s.PID()
		if got, err := s.Client(nil).Ping(t.Context()).Result(); err != nil || got != "PONG" {
			t.Fatalf("PING = %q, %v, want PONG", got, err)
		}
	})
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Signal(syscall.Signal(0)); err == nil {
		t.Fatalf("the server's process %d still exists after its test", pid)
	}
}

func TestAppendOnlyDataSurvivesAKillAndUpEmptyRemovesIt(t *testing.T) {
	s := Start(t, Options{AppendOnly: true})
	client := s.Client(nil)
	set(t, client, "k", "v")
	addr := s.Addr()
	s.Kill()
	if err := client.Ping(shortContext(t)).Err(); err == nil {
		t.Fatal("a killed server answers")
	}
	s.Up()
	if s.Addr() != addr {
		t.Fatalf("after a restart it listens at %s, want %s as before", s.Addr(), addr)
	}
	if got := client.Get(t.Context(), "k").Val(); got != "v" {
		t.Fatalf("after kill -9 and a restart k = %q, want v", got)
	}
	s.Stop()
	s.UpEmpty()
	if err := client.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
		t.Fatalf("without its files GET k returns %v, want redis.Nil", err)
	}
}

func TestAnInMemoryServerLosesItsDataWhenKilled(t *testing.T) {
	s := Start(t, Options{})
	client := s.Client(nil)
	set(t, client, "k", "v")
	s.Kill()
	s.Up()
	if n := client.DBSize(t.Context()).Val(); n != 0 {
		t.Fatalf("a server without files has %d keys after kill -9, want none", n)
	}
}

func TestAFrozenServerAnswersAfterThaw(t *testing.T) {
	s := Start(t, Options{})
	client := s.Client(&redis.Options{ContextTimeoutEnabled: true, MaxRetries: -1})
	set(t, client, "k", "v")
	s.Freeze()
	if err := client.Ping(shortContext(t)).Err(); !errors.Is(err, context.DeadlineExceeded) && !os.IsTimeout(err) {
		t.Fatalf("a frozen server: %v, want a timeout", err)
	}
	s.Thaw()
	if got, err := client.Get(t.Context(), "k").Result(); got != "v" {
		t.Fatalf("thawed, k = %q, %v, want v", got, err)
	}
}

func TestWritesBeyondMaxMemoryFail(t *testing.T) {
	s := Start(t, Options{MaxMemory: "2mb"})
	err := s.Client(nil).Set(t.Context(), "k", strings.Repeat("x", 4<<20), 0).Err()
	for i := 0; err == nil && i < 10; i++ {
		err = s.Client(nil).Set(t.Context(), "l", "x", 0).Err()
	}
	if !redis.HasErrorPrefix(err, "OOM") {
		t.Fatalf("writing past maxmemory: %v, want OOM", err)
	}
}

func TestAUserHasAccessToItsOwnKeysOnly(t *testing.T) {
	s := Start(t, Options{Users: []string{"default off", "app on >secret ~chime:* &chime:* +@all"}})
	client := s.Client(&redis.Options{Username: "app", Password: "secret"})
	set(t, client, "chime:k", "v")
	if err := client.Set(t.Context(), "other", "v", 0).Err(); !redis.HasErrorPrefix(err, "NOPERM") {
		t.Fatalf("writing another's key: %v, want NOPERM", err)
	}
	if err := s.Client(nil).Ping(t.Context()).Err(); !redis.HasErrorPrefix(err, "NOAUTH") {
		t.Fatalf("no password: %v, want NOAUTH", err)
	}
}

func TestTLSNeedsATrustedServerAndATLSClient(t *testing.T) {
	s := Start(t, Options{TLS: true})
	set(t, s.Client(nil), "k", "v")
	stranger := s.TLSConfig()
	stranger.RootCAs = x509.NewCertPool()
	var unknown x509.UnknownAuthorityError
	if err := s.Client(&redis.Options{TLSConfig: stranger, MaxRetries: -1}).Ping(t.Context()).Err(); !errors.As(err, &unknown) {
		t.Fatalf("a client that trusts another authority: %v, want x509.UnknownAuthorityError", err)
	}
	plain := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1})
	defer plain.Close()
	if err := plain.Ping(shortContext(t)).Err(); err == nil {
		t.Fatal("a client without TLS was answered")
	}
}

func TestAClusterServesEverySlot(t *testing.T) {
	c := StartCluster(t, 3, Options{})
	client := c.Client()
	used := map[string]bool{}
	for _, key := range []string{"a", "b", "c", "{mail}:due", "{mail}:ready"} {
		set(t, client, key, key)
		master, err := client.MasterForKey(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		used[master.Options().Addr] = true
	}
	if len(used) < 2 {
		t.Fatalf("five keys live on %d node, want at least 2", len(used))
	}
}

func TestTheErrorForABadConfigurationHasTheServersLog(t *testing.T) {
	s := &Server{t: t, options: Options{Config: []string{"no-such-setting yes"}}, port: freePort(t), dir: t.TempDir()}
	if err := s.start(); err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Fatalf("start = %v, want the server's log about no-such-setting", err)
	}
}

func TestTheErrorForAMissingServerSaysWhatToDo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := findServer(); err == nil || !strings.Contains(err.Error(), "./test.sh") {
		t.Fatalf("findServer = %v, want an error that points to ./test.sh", err)
	}
}

func set(t *testing.T, client redis.UniversalClient, key, value string) {
	t.Helper()
	if err := client.Set(t.Context(), key, value, 0).Err(); err != nil {
		t.Fatalf("SET %s: %v", key, err)
	}
}

func shortContext(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	t.Cleanup(stop)
	return ctx
}
