package system_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
)

// A ward is workers that are started again when they die, and what becomes of jobs there. A poison job makes its worker vanish as soon
// as it begins.
type ward struct {
	*world
	slots int

	mu      sync.Mutex
	ended   bool
	live    map[*process]bool
	dead    []*process
	begun   map[string]int // ID -> how often it began
	attempt map[string]int // and the highest attempt
	done    map[string]bool
}

// admit starts one more worker.
func (w *ward) admit() {
	p := w.start(func(p *process) []chime.Role {
		worker := chime.NewWorker(p.store, chime.WorkerOptions{Logger: w.log, Concurrency: w.slots})
		worker.Handle("innocent", func(ctx context.Context, job *chime.Job) error {
			w.mu.Lock()
			w.begun[job.ID]++
			w.attempt[job.ID] = max(w.attempt[job.ID], job.Attempt)
			w.mu.Unlock()
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.done[job.ID] = w.done[job.ID] || w.live[p]
			return nil
		})
		worker.Handle("poison", func(ctx context.Context, job *chime.Job) error {
			w.mu.Lock()
			if w.live[p] {
				w.begun[job.ID]++
				delete(w.live, p)
				w.dead = append(w.dead, p)
				p.crash()
				if !w.ended {
					go w.admit()
				}
			}
			w.mu.Unlock()
			<-ctx.Done()
			return context.Cause(ctx)
		})
		return []chime.Role{worker}
	})
	w.mu.Lock()
	w.live[p] = true
	w.mu.Unlock()
}

const maxCrashes = 3 // by default

// Innocent jobs run beside many poison jobs. They are delayed, and none of them is dead. Every poison job is dead.
func TestNoInnocentJobIsBuriedBesidePoison(t *testing.T) {
	for _, every := range []time.Duration{0, 4 * time.Second} {
		t.Run(fmt.Sprintf("a poison job each %v", every), func(t *testing.T) {
			inWorld(t, func(world *world) {
				w := &ward{
					world: world, slots: 14, live: map[*process]bool{}, begun: map[string]int{}, attempt: map[string]int{}, done: map[string]bool{},
				}
				client := w.start(func(p *process) []chime.Role { return []chime.Role{p.scheduler(nil)} })
				enqueuer := chime.NewEnqueuer(client.store, chime.EnqueuerOptions{Logger: w.log})
				for range 3 {
					w.admit()
				}
				poisons := long.Seeds(6, 20)
				began, placed := time.Now(), 0
				innocents := 0
				for time.Since(began) < time.Duration(poisons)*5*time.Second {
					var items []chime.Item
					for range 10 { // a hundred a second
						innocents++
						items = append(items, chime.Item{Name: "innocent", Options: []chime.EnqueueOption{chime.ID(fmt.Sprint("innocent-", innocents))}})
						if placed < poisons && time.Since(began) >= time.Duration(placed)*every {
							placed++
							items = append(items, chime.Item{Name: "poison", Options: []chime.EnqueueOption{chime.ID(fmt.Sprint("poison-", placed))}})
						}
					}
					if _, err := enqueuer.EnqueueMany(w.Context(), items); err != nil {
						w.Fatal(err)
					}
					w.pass(100 * time.Millisecond)
				}
				w.pass(4 * time.Minute)
				w.mu.Lock()
				w.ended = true
				given := w.server.Client().ZRange(context.Background(), "chime:{default}:dead", 0, -1).Val()
				poison := 0
				for _, id := range given {
					if strings.HasPrefix(id, "innocent") {
						w.Errorf("%s is dead; it began %d times", id, w.begun[id])
					} else {
						poison++
					}
				}
				if poison != poisons {
					w.Errorf("%d of %d poison jobs are dead", poison, poisons)
				}
				for id, n := range w.begun {
					if strings.HasPrefix(id, "poison") && n > maxCrashes+1 {
						w.Errorf("%s ended %d workers, want at most one more than the %d crashes that count", id, n, maxCrashes)
					}
				}
				if len(w.done) != innocents {
					w.Errorf("%d of %d innocent jobs are done", len(w.done), innocents)
				}
				for id, attempt := range w.attempt {
					if attempt != 1 {
						w.Errorf("%s was in attempt %d: a crash uses up no attempt", id, attempt)
					}
				}
				w.mu.Unlock()
				for _, p := range w.dead {
					p.awaitCrashed()
				}
				for p := range w.live {
					p.end()
				}
				client.end()
			})
		})
	}
}
