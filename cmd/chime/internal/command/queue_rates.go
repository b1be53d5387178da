package command

import (
	"context"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
)

// A queueLine is a queue with its workers and its rates.
type queueLine struct {
	*chime.QueueInfo
	Workers int             `json:"workers"`           // that take jobs from it
	Rates   *overview.Rates `json:"per_min,omitempty"` // nil: the last minutes have no sample
}

const (
	rateOver  = 5 * time.Minute
	ratesOnce = 8 // queues whose samples are read at the same time
)

// queueLines adds to queues the number of their workers, and their rates of the last minutes.
func queueLines(ctx context.Context, store chime.Store, queues []*chime.QueueInfo) ([]queueLine, error) {
	workers, err := chime.NewWorkers(store).List(ctx)
	if err != nil {
		return nil, err
	}
	serve := map[string]int{}
	for _, worker := range workers {
		for queue := range worker.Queues {
			serve[queue]++
		}
	}
	lines, errs := make([]queueLine, len(queues)), make([]error, len(queues))
	var all sync.WaitGroup
	room := make(chan struct{}, ratesOnce)
	for i, queue := range queues {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			samples, err := chime.NewQueues(store).Samples(ctx, queue.Name, queue.Now.Add(-rateOver), queue.Now, time.Minute)
			lines[i], errs[i] = queueLine{QueueInfo: queue, Workers: serve[queue.Name]}, err
			if rates, is := overview.Average(samples); is {
				lines[i].Rates = &rates
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return lines, nil
}
