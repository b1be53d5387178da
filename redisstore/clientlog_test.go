package redisstore_test

import (
	"log/slog"
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/chimejobs/chime/redisstore"
)

// Lines of go-redis while a server is unavailable arrive in the application's log, at a level that is hidden by default.
func TestGoRedisLogsToTheLoggerThatItIsGiven(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close() // no server answers there
	log := new(lockedText)
	redis.SetLogger(redisstore.ClientLogger(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	defer logging.Enable()
	client := redis.NewClient(&redis.Options{Addr: listener.Addr().String(), MaxRetries: -1})
	defer client.Close()
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Fatal("a server answers")
	}
	text := log.String()
	if !regexp.MustCompile(`level=DEBUG.*event=client.logged.*failed to dial`).MatchString(text) || strings.Count(text, "level=") != strings.Count(text, "level=DEBUG") {
		t.Errorf("logged:\n%swant the failure, at level DEBUG only", text)
	}
	redis.SetLogger(redisstore.ClientLogger(slog.New(slog.NewTextHandler(os.Stderr, nil)))) // shows nothing
	_ = client.Ping(t.Context()).Err()
}

// A lockedText is a text that several goroutines write to.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
