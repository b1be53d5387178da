//go:build real

package command_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/command"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
	"github.com/chimejobs/chime/internal/redistest"
)

func TestAChangeThatTheStoreCutsOffIsDoneInPart(t *testing.T) {
	s, server, client := onServer(t, redistest.Options{})
	var items []chime.Item
	for i := range 700 {
		items = append(items, chime.Item{Name: "resize", Options: []chime.EnqueueOption{chime.ID(fmt.Sprint("d", i)), chime.MaxAttempts(1)}})
	}
	s.enqueue(t, items...)
	s.work(t, len(items), map[string]chime.Handler{"resize": func(context.Context, *chime.Job) error { return errors.New("full") }}, "default")
	var out, stderr bytes.Buffer
	p := &process.Process{
		Args: []string{"jobs", "delete", "--filter", "state:dead", "-y", "--timeout", "5s"}, Env: func(name string) string { return s.Env[name] },
		In: strings.NewReader(""), Out: &out, Err: &stderr, Local: time.UTC, Width: func() int { return 80 },
		Now: func() time.Time { // is asked after each step
			if n, err := client.ZCard(t.Context(), "chime:{default}:dead").Result(); err == nil && n < 700 {
				server.Kill()
			}
			return time.Now()
		},
	}
	if code := command.Run(t.Context(), p); code != 6 || !strings.Contains(stderr.String(), "500 of 700 jobs deleted; then: ") || !strings.Contains(stderr.String(), "Run the same command again to continue") {
		t.Errorf("exit %d, %q; want 6 and how far it came", code, stderr.String())
	}
	for _, args := range []string{"queues list", "jobs list", "jobs requeue d1 -y", "workers list", "verify", "jobs enqueue report"} {
		got := s.Run(t, append(strings.Fields(args), "--timeout", "300ms")...)
		why := strings.Contains(got.Err, "connection refused") || strings.Contains(got.Err, "deadline exceeded")
		why = why && strings.Contains(got.Err, " "+server.Addr()+" is what REDIS_URL says: does Redis run there")
		if got.Code != 5 || got.Out != "" || !why || strings.Count(got.Err, "\n") != 1 {
			t.Errorf("%s: exit %d, printed %q, stderr %q; want 5, why, and which setting names the server", args, got.Code, got.Out, got.Err)
		}
	}
}
