package main

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

// The first attempt does not notice that its time is over, and writes five minutes after the second one.
func TestAnAttemptThatIsTooLateOverwritesNothing(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		db, err := openDB(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		var mu sync.Mutex
		outcomes := map[int]error{}
		worker.Handle("report", func(ctx context.Context, job *chime.Job) error {
			text := "new"
			if job.Attempt == 1 {
				text = "old"
				time.Sleep(5 * time.Minute) // in fake time
			}
			err := saveReport(context.WithoutCancel(ctx), db, job, text)
			mu.Lock()
			defer mu.Unlock()
			outcomes[job.Attempt] = err
			return err
		}, chime.Timeout(time.Minute))
		stop := c.Start(worker)
		defer stop()
		if _, err := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}).Enqueue(t.Context(), "report", nil); err != nil {
			t.Fatal(err)
		}
		c.Advance(10 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		var text string
		if err := db.QueryRowContext(t.Context(), `SELECT text FROM reports`).Scan(&text); err != nil || text != "new" {
			t.Errorf("the report is %q, %v, want that of the second attempt", text, err)
		}
		if len(outcomes) != 2 || outcomes[2] != nil || !errors.Is(outcomes[1], errStale) {
			t.Errorf("the attempts ended with %v, want that the first one is stale", outcomes)
		}
	})
}
