package system

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// A worker vanished between taking an occurrence and placing the next, and no scheduler runs: another worker places it.
func TestSchedulesGoOnWhereWorkersRunAndNoScheduler(t *testing.T) {
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
			t.Errorf("%d runs in ten minutes, want the schedule to go on within three", len(w.runs))
		}
	})
}
