package chimeprom

import (
	"context"
	"time"

	"github.com/chimejobs/chime"
)

// stepBatches is how many batches are read between two pauses.
const stepBatches = 1000

// A batchCounter counts the batches by their states.
type batchCounter struct {
	walk[batchSums]
	batches     *chime.Batches
	stepBatches int
}

// batchSums are the counts of a walk.
type batchSums struct {
	states map[chime.BatchState]int64
	oldest map[chime.BatchState]time.Time // creation of the oldest batch that has not ended; zero: all have ended
}

// begin takes the first step of a walk through the batches, unless a walk is running.
func (c *batchCounter) begin(ctx context.Context) error {
	sums, after := &batchSums{states: make(map[chime.BatchState]int64), oldest: make(map[chime.BatchState]time.Time)}, ""
	_, err := c.walk.begin(ctx, sums, func() (more bool, err error) {
		after, err = c.step(sums, after)
		return after != "", err
	})
	return err
}

// step counts the batches after a mark, and returns the mark with which the next step continues; empty: that was the last step.
func (c *batchCounter) step(sums *batchSums, after string) (next string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	n := 0
	for b, err := range c.batches.List(ctx, chime.BatchFilter{After: after}) {
		if err != nil {
			return "", err
		}
		if n == c.stepBatches {
			return next, nil
		}
		n, next = n+1, b.Next
		sums.states[b.State]++
		ends := b.State == chime.BatchOpen || b.Left > 0
		if at := sums.oldest[b.State]; ends && (at.IsZero() || b.CreatedAt.Before(at)) {
			sums.oldest[b.State] = b.CreatedAt
		}
	}
	return "", nil
}

// sendBatches sends the counts of batches.
func (c *storeCollector) sendBatches(read *snapshot, gauge func(name string, value float64, labels ...string)) {
	if read.batches == nil {
		return
	}
	for _, state := range chime.BatchStates() {
		gauge("chime_batches", float64(read.batches.states[state]), string(state))
	}
	for _, state := range []chime.BatchState{chime.BatchOpen, chime.BatchRunning, chime.BatchCancelled} {
		age := 0.0
		if at := read.batches.oldest[state]; !at.IsZero() {
			age = max(read.now.Sub(at), 0).Seconds()
		}
		gauge("chime_batches_oldest_seconds", age, string(state))
	}
}
