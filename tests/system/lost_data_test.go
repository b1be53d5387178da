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

// A server that has lost everything has lost what the workers announced too. Nothing wrong is said about them, nor about the jobs of
// the sessions that it has forgotten.
func TestNothingWrongIsLoggedAfterTheServerHasLostEverything(t *testing.T) {
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
			w.pass(67 * time.Second) // the duties of the scheduler come in another order each time
		}
		w.pass(10 * time.Minute)
		worker.end()
		scheduler.end()
		text := lines.String()
		if strings.Contains(text, "event=schedule.unhandled") {
			w.Error("a worker that was there all the time is said not to handle the schedule's job")
		}
		if strings.Contains(text, "run again elsewhere") || strings.Contains(text, "run elsewhere") {
			w.Error("jobs that the server has lost are said to run elsewhere")
		}
		if !strings.Contains(text, "event=store.emptied") || !strings.Contains(text, "event=session.lost") {
			w.Error("that the server has lost everything, and the session with it, is not logged")
		}
	})
}

// A lockedText keeps what is written to it. It is safe for concurrent use.
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
