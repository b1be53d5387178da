package redisstore_test

import (
	"log/slog"
	"net"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/chimejobs/chime/redisstore"
)

// What go-redis says while a server is away arrives in the application's log, at a level that is not shown unless it is asked for.
func TestGoRedisLogsToTheLoggerThatItIsGiven(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close() // nobody answers there
	log := newLogLines()
	redis.SetLogger(redisstore.ClientLogger(log.logger()))
	defer logging.Enable()
	client := redis.NewClient(&redis.Options{Addr: listener.Addr().String(), MaxRetries: -1})
	defer client.Close()
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Fatal("a server answers")
	}
	if n := log.count("level=DEBUG", "event=client.logged", "failed to dial"); n == 0 || log.count("level=") != log.count("level=DEBUG") {
		t.Errorf("logged:\n%swant the failure, at level DEBUG only", log)
	}
	redis.SetLogger(redisstore.ClientLogger(slog.New(slog.NewTextHandler(os.Stderr, nil)))) // shows nothing
	_ = client.Ping(t.Context()).Err()
}
