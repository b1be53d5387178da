package story

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime"
)

// Importing opens a store in the middle of a batch, "import/prices.csv": of its members most are done, one is dead, and some wait in a queue that is paused.
func Importing() (*Store, error) {
	s, err := start()
	if err != nil {
		return nil, err
	}
	if err := s.importPrices(); err != nil {
		s.Close()
		return nil, fmt.Errorf("story: %w", err)
	}
	return s, nil
}

// The batch has a line for each job, and a picture for each 40 lines.
const (
	lines      = 1200
	eachLines  = 40
	brokenLine = 1100
)

func (s *Store) importPrices() error {
	const id = "import/prices.csv"
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	quiet := slog.New(slog.DiscardHandler)
	s.mini.SetTime(At.Add(-4 * time.Minute))
	_, err := chime.NewEnqueuer(s, chime.EnqueuerOptions{Logger: quiet}).EnqueueBatch(ctx, chime.Batch{
		ID: id, Note: "uploaded by anna", Done: chime.Item{Name: "publish-prices"}, Ended: chime.Item{Name: "remove-upload"},
		Items: func(yield func(chime.Item, error) bool) {
			for line := range lines {
				item := chime.Item{Name: "import-line", Args: line + 1, Options: []chime.EnqueueOption{chime.MaxAttempts(1)}}
				if line%eachLines == 0 {
					item = chime.Item{Name: "resize", Args: line + 1, Options: []chime.EnqueueOption{chime.Queue("media")}}
				}
				if !yield(item, nil) {
					return
				}
			}
		},
	})
	if err == nil {
		err = chime.NewQueues(s).Pause(ctx, "media", chime.Note{Text: "the disk is being moved", By: "anna"})
	}
	if err != nil {
		return err
	}
	s.mini.SetTime(At)
	running, stop := context.WithCancel(ctx)
	defer stop()
	var handled atomic.Int64
	worker := chime.NewWorker(s, chime.WorkerOptions{Logger: quiet})
	worker.Handle("import-line", func(_ context.Context, job *chime.Job) error {
		if handled.Add(1) == lines-lines/eachLines {
			stop()
		}
		var line int
		if err := job.Decode(&line); err != nil {
			return err
		}
		if line == brokenLine {
			return fmt.Errorf("line %d: price \"1.2.9\": invalid syntax", line)
		}
		return nil
	})
	if err := worker.Run(running); err != nil {
		return err
	}
	_, err = chime.NewBatches(s).Recount(ctx, id)
	return err
}
