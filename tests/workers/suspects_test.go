package workers_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// After a storm of kills many innocent jobs are suspects. Each worker runs at least twenty of them a second, each alone, and ordinary jobs between
// them.
func TestSuspectsWithShortHandlersAreClearedFast(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		const workers, suspects = 3, 240
		var mu sync.Mutex
		running := make(map[int]map[string]time.Time) // worker -> jobs that run -> since when
		var cleared, others int
		var last time.Time
		client := f.Server.Client()
		for _, id := range fixture.Names("s", suspects) {
			f.Enqueue("default", job("work"), id)
			client.HSet(t.Context(), "chime:{default}:crashes", id, "2")
		}
		client.HSet(t.Context(), "chime:{default}:state", "crashed", "1")
		var stops []func() error
		began := time.Now()
		for worker := range workers {
			running[worker] = map[string]time.Time{}
			w := f.Worker(chime.WorkerOptions{Concurrency: 5})
			w.Handle("work", func(_ context.Context, job *chime.Job) error {
				mu.Lock()
				for id, since := range running[worker] {
					if strings.HasPrefix(id, "s") {
						t.Errorf("%s begins %v after the suspect %s began", job.ID, time.Since(since), id)
					}
				}
				running[worker][job.ID] = time.Now()
				mu.Unlock()
				time.Sleep(5 * time.Millisecond) // fake time
				mu.Lock()
				defer mu.Unlock()
				delete(running[worker], job.ID)
				if strings.HasPrefix(job.ID, "s") {
					cleared++
					last = time.Now()
				} else {
					others++
				}
				return nil
			})
			stops = append(stops, fixture.Start(w))
		}
		for i := range 400 {
			f.Enqueue("default", job("work"), fmt.Sprint("o", i))
			fixture.Pass(10 * time.Millisecond)
		}
		mu.Lock()
		if took, most := last.Sub(began), suspects*time.Second/(20*workers); cleared != suspects || took > most {
			t.Errorf("%d of %d suspects are cleared within %v, want all within %v", cleared, suspects, took, most)
		}
		if others < 390 {
			t.Errorf("%d of 400 ordinary jobs have ended meanwhile", others)
		}
		mu.Unlock()
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		f.CheckEmpty()
	})
}
