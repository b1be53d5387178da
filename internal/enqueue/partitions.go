package enqueue

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/recent"
	"github.com/chimejobs/chime/internal/retry"
)

// partitionCounts knows how many partitions each queue has. The number does not change while the queue is in use, so it is read once for each
// queue, for all callers together. Before the first request it checks the store; before each request it checks whether the queue may be used.
type partitionCounts struct {
	store    protocol.Store
	timeout  time.Duration
	log      *slog.Logger
	fit      *retry.FitCheck
	requests singleflight.Group

	known recent.Map[string, int]

	mu      sync.Mutex
	trouble error // of the last request; nil: it was answered
}

func newPartitionCounts(store protocol.Store, timeout time.Duration, log *slog.Logger) *partitionCounts {
	return &partitionCounts{
		store: store, timeout: timeout, log: log,
		fit: retry.NewFitCheck(store, timeout/4), // the rest of the time is left for the request
	}
}

// of returns the number of a queue's partitions. now: about the present time.
func (c *partitionCounts) of(ctx context.Context, queue string, now time.Time) (int, error) {
	n, _ := c.known.Get(queue, now)
	if ctx.Err() != nil {
		return 0, fmt.Errorf("not sent: %w", ctx.Err())
	}
	if n > 0 {
		return n, nil
	}
	select {
	case answer := <-c.requests.DoChan(queue, func() (any, error) { return c.request(queue) }):
		if answer.Err != nil {
			return 0, fmt.Errorf("not sent: %w", answer.Err)
		}
		return answer.Val.(int), nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		return 0, fmt.Errorf("not sent: %w", because(ctx, c.trouble))
	}
}

// request reads the number from the store, again and again until the store answers or the time is up.
func (c *partitionCounts) request(queue string) (n int, err error) {
	if n, _ = c.known.Get(queue, time.Now()); n > 0 { // answered since the caller's check
		return n, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	outage := &retry.Outage{Log: c.log, Role: "enqueuer"}
	err = retry.Until(ctx, outage, "partitions", func(ctx context.Context) error {
		trouble, err := c.fit.Check(ctx)
		if trouble != nil {
			c.note(trouble)
		}
		if err != nil {
			return err
		}
		if err := c.store.CheckUse(ctx, protocol.UseEnqueue, []string{queue}); err != nil {
			return err
		}
		if n, err = c.store.Partitions(ctx, queue); err == nil && n < 1 {
			err = fmt.Errorf("store says that queue %q has %d partitions", queue, n)
		}
		c.note(err)
		return err
	}, protocol.ErrStoreFull)
	if err == nil {
		c.known.Set(queue, n, time.Now())
	}
	return n, err
}

// note stores the last error of the store; nil: the store has answered.
func (c *partitionCounts) note(trouble error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble = trouble
}

// checkGroups refuses an item with a group for a queue with several partitions: a group is in one partition. So it does with an item that a job with a
// group may follow, in any queue. It registers these queues.
func (c *partitionCounts) checkGroups(ctx context.Context, item *protocol.EnqueueItem, queue string, partitions int) error {
	if item.Group != "" && partitions > 1 {
		return protocol.GroupOfPartitions(item.Group, queue, partitions)
	}
	for _, of := range item.FollowsIn {
		n, in := partitions, cmp.Or(of.Queue, queue)
		if in != queue {
			var err error
			if n, err = c.of(ctx, in, time.Now()); err != nil {
				return err
			}
		}
		if n > 1 {
			return protocol.GroupOfPartitions(of.Group, in, n)
		}
	}
	return nil
}
