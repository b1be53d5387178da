package system_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// A worker vanished after it took an occurrence and before it placed the next one, and no scheduler runs: another worker places it.
func TestSchedulesContinueWithWorkersAndNoScheduler(t *testing.T) {
	inWorld(t, func(w *world) {
		scheduler := w.start(func(p *process) []chime.Role {
			return []chime.Role{p.scheduler(declares("beat", recurrence.Recurrence{Frequency: recurrence.Minute}))}
		})
		w.pass(time.Second)
		scheduler.end()
		client := w.server.Client()
		defer client.Close()
		due := client.ZRange(w.Context(), "chime:{default}:due", 0, -1).Val()
		if len(due) != 1 {
			w.Fatalf("due are %v, want one occurrence", due)
		}
		client.ZRem(w.Context(), "chime:{default}:due", due[0])
		client.ZAdd(w.Context(), "chime:{default}:owed", redis.Z{Score: float64(time.Now().UnixMilli()), Member: "beat"})

		worker := w.start(func(p *process) []chime.Role { return []chime.Role{p.worker("beat", nil)} })
		w.pass(10 * time.Minute)
		worker.end()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.runs) < 7 {
			t.Errorf("%d runs in ten minutes, want the schedule to continue within three", len(w.runs))
		}
	})
}

// A definition is edited manually. This is logged and the schedule is postponed. The leader does not poll more often than before, and the schedule
// is shown with the error.
func TestADefinitionEditedByHandIsLoggedAndPostponed(t *testing.T) {
	inWorld(t, func(w *world) {
		var lines lineCounter
		w.log = slog.New(slog.NewTextHandler(&lines, nil))
		p := w.start(func(p *process) []chime.Role {
			return []chime.Role{p.scheduler(declares("beat", recurrence.Recurrence{Frequency: recurrence.Minute})), p.worker("beat", nil)}
		})
		w.pass(90 * time.Second)
		idle := w.commandsDuring(10 * time.Minute)
		client := w.server.Client()
		defer client.Close()
		text := client.HGet(w.Context(), "chime:{default}:schedules", "beat").Val()
		client.HSet(w.Context(), "chime:{default}:schedules", "beat", strings.Replace(text, `,"state"`, `, "state"`, 1))
		w.pass(2 * time.Minute)
		before := lines.with("schedule.uncomputable")
		if commands := w.commandsDuring(10 * time.Minute); commands > 2*idle {
			t.Errorf("%.0f commands in ten minutes, and %.0f before: want it left alone for a minute each time", commands, idle)
		}
		if n := lines.with("schedule.uncomputable") - before; before == 0 || n > 11 {
			t.Errorf("logged %d times in two minutes and %d times in the ten after, want about once a minute", before, n)
		}
		if _, err := chime.NewSchedules(p.store).Get(w.Context(), "beat"); err == nil || !strings.Contains(err.Error(), "by hand") {
			t.Errorf("Get: %v, want the reason", err)
		}
		p.end()
	})
}

// A lineCounter collects log lines.
type lineCounter struct {
	mu   sync.Mutex
	text strings.Builder
}

func (c *lineCounter) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(line)
}

// with counts the lines with this text.
func (c *lineCounter) with(text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Count(c.text.String(), text)
}
