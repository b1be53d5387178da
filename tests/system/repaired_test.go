package system_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/recurrence"
)

// A catching-up schedule waits for the end of its occurrence in flight. If that entry is removed or damaged manually, the schedule continues within
// minutes.
func TestACatchingUpScheduleContinuesAfterItsFlightIsDamaged(t *testing.T) {
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
				w.pass(25 * time.Second) // it is catching up
				client := w.server.Client()
				defer client.Close()
				damage(w.Context(), client)
				w.pass(time.Hour)
				worker.end()
				scheduler.end()
				w.mu.Lock()
				defer w.mu.Unlock()
				if len(w.runs) < 70 {
					t.Errorf("%d runs, want 71", len(w.runs))
				}
			})
		})
	}
}

// If the placement of a schedule is removed or damaged manually, the schedule continues within minutes, nothing runs twice, and the repair is
// logged once. This also holds with workers and no scheduler.
func TestAScheduleContinuesAfterItsPlacementIsDamaged(t *testing.T) {
	const cursors, due = "chime:{default}:cursors", "chime:{default}:due"
	damages := map[string]func(ctx context.Context, c *redis.Client){
		"due lost":        func(ctx context.Context, c *redis.Client) { c.Del(ctx, due) },
		"occurrence lost": func(ctx context.Context, c *redis.Client) { c.ZRem(ctx, due, c.ZRange(ctx, due, 0, 0).Val()[0]) },
		"cursors lost":    func(ctx context.Context, c *redis.Client) { c.Del(ctx, cursors) },
		"cursor lost":     func(ctx context.Context, c *redis.Client) { c.HDel(ctx, cursors, "beat") },
		"cursor edited": func(ctx context.Context, c *redis.Client) {
			c.HSet(ctx, cursors, "beat", c.HGet(ctx, cursors, "beat").Val()+" ")
		},
		"cursor garbage": func(ctx context.Context, c *redis.Client) { c.HSet(ctx, cursors, "beat", "garbage") },
	}
	for i, name := range slices.Sorted(maps.Keys(damages)) {
		damage := damages[name]
		for _, leads := range []bool{true, false} {
			if !long.All() && leads != (i%2 == 0) {
				continue // a short run has each damage once
			}
			t.Run(fmt.Sprintf("%s, a leader %v", name, leads), func(t *testing.T) {
				inWorld(t, func(w *world) {
					lines := &lockedText{}
					w.log = slog.New(slog.NewTextHandler(lines, nil))
					scheduler := w.start(func(p *process) []chime.Role {
						return []chime.Role{p.scheduler(declares("beat", recurrence.Recurrence{Frequency: recurrence.Minute}))}
					})
					worker := w.start(func(p *process) []chime.Role { return []chime.Role{p.worker("beat", nil)} })
					w.pass(10*time.Minute + 30*time.Second)
					if !leads {
						scheduler.end()
					}
					client := w.server.Client()
					defer client.Close()
					damage(w.Context(), client)
					w.pass(time.Hour)
					worker.end()
					if leads {
						scheduler.end()
					}
					w.mu.Lock()
					defer w.mu.Unlock()
					if len(w.runs) < 60 {
						t.Errorf("%d runs, want all 71 except those of ten minutes", len(w.runs))
					}
					for id, n := range w.runs {
						if n > 1 {
							t.Errorf("%s ran %d times", id, n)
						}
					}
					if n := strings.Count(lines.String(), "event=schedule.repaired"); n != 1 {
						t.Errorf("the repair is logged %d times, want once", n)
					}
				})
			})
		}
	}
}
