//go:build real

package docs_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// A server with the page's settings accepts jobs, a worker with the page's connection runs them, and the page's report shows both.
func TestAWorkerWithThePagesOptionsRunsOnAServerWithThePagesSettings(t *testing.T) {
	settings := blocks(t, "operating.md", "conf")
	if len(settings) != 2 {
		t.Fatalf("the page has %d pieces of redis.conf, want two: for a server and for a server with replicas", len(settings))
	}
	var lines []string
	for line := range strings.Lines(settings[0]) {
		text, _, _ := strings.Cut(line, "#")
		if text = strings.TrimSpace(text); text != "" {
			lines = append(lines, text)
		}
	}
	server := redistest.Start(t, redistest.Options{Config: lines})
	t.Setenv("REDIS_ADDRS", server.Addr())
	for _, name := range []string{"REDIS_MASTER", "REDIS_USER", "REDIS_PASSWORD"} {
		t.Setenv(name, "")
	}
	w := newWorld()
	client := connect()
	defer func() { _ = client.Close() }()
	store := redisstore.New(client, redisstore.Options{Namespace: "shop"})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, client, 1) }()

	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	receipt, err := SendMail.Enqueue(ctx, enqueuer, Mail{To: "ada"}, chime.Keep(time.Minute))
	check(t, err)
	check(t, chime.NewJobs(store).Wait(ctx, receipt.Queue, receipt.ID, nil))
	if len(w.sent()) != 1 {
		t.Errorf("sent: %v", w.sent())
	}
	var report bytes.Buffer // the schedule's next occurrence is a delayed job, once it is placed
	check(t, watch(ctx, store, &report))
	if !regexp.MustCompile(`queue mail: 0 wait, 0 run, [01] are delayed, 0 parked, 0 dead; in total 1 done, 0 failed, 0 died`).Match(report.Bytes()) {
		t.Errorf("the report:\n%s", report.String())
	}
	stop()
	check(t, <-ended)
}

// A server knows the settings for replicas.
func TestTheSettingsForReplicasAreKnownToAServer(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Config: strings.Split(strings.TrimSpace(blocks(t, "operating.md", "conf")[1]), "\n")})
	got, err := server.Client(nil).ConfigGet(t.Context(), "min-replicas-*").Result()
	if err != nil || fmt.Sprint(got) != "map[min-replicas-max-lag:10 min-replicas-to-write:1]" {
		t.Errorf("the server's settings are %v, %v", got, err)
	}
}
