package system

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// Somebody removes or spoils by hand what says for whose end a schedule waits that catches up: it goes on within minutes.
func TestAScheduleThatCatchesUpGoesOnWhateverBecomesOfItsFlight(t *testing.T) {
	for name, damage := range map[string]func(ctx context.Context, c *redis.Client){
		"entry in open lost":    func(ctx context.Context, c *redis.Client) { c.Del(ctx, "chime:{default}:open") },
		"entry in open garbage": func(ctx context.Context, c *redis.Client) { c.HSet(ctx, "chime:{default}:open", "beat", "garbage") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				scheduler := w.start(func(p *process) []chime.Role {
					return []chime.Role{p.scheduler(declares("beat", recurrence.Recurrence{Frequency: recurrence.Minute}, chime.Misfire(chime.MisfireCatchUp)))}
				})
				w.pass(10*time.Minute + 30*time.Second)
				worker := w.start(func(p *process) []chime.Role {
					return []chime.Role{p.worker("beat", func(*chime.Job) time.Duration { return 10 * time.Second })}
				})
				w.pass(25 * time.Second) // it catches up
				client := w.server.Client()
				defer client.Close()
				damage(w.Context(), client)
				w.pass(time.Hour)
				worker.end()
				scheduler.end()
				w.mu.Lock()
				defer w.mu.Unlock()
				if len(w.runs) < 70 {
					t.Errorf("%d runs, want the 71 of the time", len(w.runs))
				}
			})
		})
	}
}
