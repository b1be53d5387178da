package system_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// A server that lost everything has also lost the workers' announcements. The logs contain nothing false about the workers, or about the jobs of
// the lost sessions.
func TestNothingFalseIsLoggedAfterTheServerHasLostEverything(t *testing.T) {
	inWorld(t, func(w *world) {
		lines := &lockedText{}
		w.log = slog.New(slog.NewTextHandler(lines, nil))
		worker := w.start(func(p *process) []chime.Role {
			return []chime.Role{p.worker("report", func(*chime.Job) time.Duration { return 10 * time.Second })}
		})
		scheduler := w.start(func(p *process) []chime.Role { return []chime.Role{p.scheduler(declares("report", quarterHour))} })
		w.pass(15*time.Minute + 5*time.Second) // in the middle of a run
		for range 20 {
			if err := w.server.Client().FlushAll(context.Background()).Err(); err != nil {
				w.Fatal(err)
			}
			w.pass(67 * time.Second) // the scheduler's tasks run in another order each time
		}
		w.pass(10 * time.Minute)
		worker.end()
		scheduler.end()
		text := lines.String()
		if strings.Contains(text, "event=schedule.unhandled") {
			w.Error("the log claims that a running worker does not handle the schedule's job")
		}
		if strings.Contains(text, "run again elsewhere") || strings.Contains(text, "run elsewhere") {
			w.Error("the log claims that lost jobs run elsewhere")
		}
		if !strings.Contains(text, "event=store.emptied") || !strings.Contains(text, "event=session.lost") {
			w.Error("the loss of the server's data and of the session is not logged")
		}
	})
}

// A lockedText collects the text written to it. It is safe for concurrent use.
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
