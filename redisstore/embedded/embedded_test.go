package embedded

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
)

// Every user of the machine can connect to the port.
func TestAServerWithAPortWantsAPassword(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	server, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{}).Enqueue(t.Context(), "job", nil); err != nil {
		t.Errorf("the server's own store: %v", err)
	}
	stranger := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2, DisableIdentity: true})
	defer stranger.Close()
	for _, command := range [][]any{{"hgetall", "chime:queues"}, {"flushall"}, {"eval", "return 1", 0}, {"auth", "guess"}} {
		if err := stranger.Do(t.Context(), command...).Err(); !redis.HasErrorPrefix(err, "NOAUTH") && !redis.HasErrorPrefix(err, "WRONGPASS") {
			t.Errorf("%v without the password: %v", command, err)
		}
	}
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	options.Protocol, options.DisableIdentity = 2, true
	friend := redis.NewClient(options)
	defer friend.Close()
	if n, err := friend.HLen(t.Context(), "chime:queues").Result(); err != nil || n != 1 {
		t.Errorf("by the URL: %d queues, %v; want 1", n, err)
	}
	if password := server.Client().Options().Password; len(password) < 20 || strings.Contains(log.String(), password) {
		t.Errorf("the password has %d characters; logged: %s", len(password), log.String())
	}
	if inMemory := StartInMemory(); inMemory.URL() != "" || inMemory.Close() != nil {
		t.Error("a server without a port has a URL")
	}
}
