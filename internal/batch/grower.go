package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Grower adds jobs to batches that run. It is safe for concurrent use.
//
//	noted at home ──► sent to the partition ──► reported: the note is gone
//	      │                    └── outcome unknown: Seal finds it; if the jobs were not added, the partition refuses the token from then on
//	      └── a minute later: the home asks the partition, which refuses the token from then on, or counts its jobs
//
// While a growth is noted the batch does not end.
type Grower struct {
	store   growerStore
	options Options
}

type growerStore interface {
	protocol.BatchStore
	Seal(ctx context.Context, calls []protocol.SealCall) []protocol.SealAnswer
}

const reportWait = 2 * time.Second

// ErrUnknown means that the outcome of a growth is unknown.
var ErrUnknown = errors.New("outcome unknown")

// NewGrower returns a grower.
func NewGrower(store growerStore, options Options) *Grower {
	return &Grower{store: store, options: options}
}

// A Growth is jobs of one partition, at most protocol.MaxItems and about protocol.MaxBytes, that become members of a batch. Another Growth needs another
// token. For the partition the token is a caller, and its only call has the number 1.
type Growth struct {
	Token     string
	Batch     string
	Partition protocol.Partition
	Items     []protocol.EnqueueItem
}

// Grow adds the jobs. The error wraps protocol.ErrNotFound if there is no such batch, protocol.ErrConflict if it has ended or was cancelled, and ErrUnknown
// if the jobs may have been added.
func (g *Grower) Grow(ctx context.Context, growth Growth) (protocol.FillAnswer, error) {
	err := g.options.attempt(ctx, "grow batch", func(ctx context.Context) error {
		record, err := g.store.GrowBatch(ctx, growth.Batch, growth.Token, growth.Partition)
		if errors.Is(err, protocol.ErrConflict) {
			return Over(&record)
		}
		return err
	})
	if err != nil {
		return protocol.FillAnswer{}, err
	}
	call := []protocol.FillCall{{Partition: growth.Partition, Batch: growth.Batch, Token: growth.Token, Items: growth.Items}}
	var answer protocol.FillAnswer
	err = g.options.attempt(ctx, "fill batch", func(ctx context.Context) error {
		answers := g.store.FillBatch(ctx, call)
		if len(answers) == 0 {
			return errNoAnswer
		}
		answer = answers[0]
		if answer.Err == nil && answer.Closed {
			return errClosed
		}
		return answer.Err
	})
	switch {
	case errors.Is(err, errClosed):
		return answer, fmt.Errorf("%w: the batch was cancelled", protocol.ErrConflict)
	case err != nil:
		return answer, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	g.report(ctx, &growth, answer.Counts)
	return answer, nil
}

// Over is the error for a batch that takes nothing any more. It wraps protocol.ErrConflict.
func Over(record *protocol.BatchRecord) error {
	if record.State == protocol.BatchCancelled {
		return fmt.Errorf("%w: the batch was cancelled", protocol.ErrConflict)
	}
	return fmt.Errorf("%w: the batch has ended", protocol.ErrConflict)
}

// report brings the counts of the partition to the home, which then removes the note. If the home is not reached, it asks the partition later: the jobs are
// members in any case.
//
// If another growth was reported first, the home has counts with a higher version. It keeps the note then: the partition may have gone
// back to an earlier state, and the higher version does not count these jobs in that case. So the partition is asked again at once. Otherwise the batch could
// not end for a minute.
func (g *Grower) report(ctx context.Context, growth *Growth, counts protocol.PartitionCounts) {
	limited, cancel := context.WithTimeout(ctx, reportWait)
	defer cancel()
	_ = g.options.attempt(limited, "report growth", func(ctx context.Context) error {
		for {
			answers := g.store.ReportBatches(ctx, []protocol.BatchReport{{Counts: counts, Grown: []string{growth.Token}}})
			if len(answers) == 0 {
				return errNoAnswer
			}
			above := answers[0].Above
			if answers[0].Err != nil || above == 0 {
				return answers[0].Err
			}
			asked := g.store.CountBatch(ctx, []protocol.CountCall{{Partition: growth.Partition, Batch: growth.Batch, Above: above, Void: growth.Token}})
			if len(asked) == 0 {
				return errNoAnswer
			}
			if asked[0].Err != nil {
				return asked[0].Err
			}
			counts = asked[0].Counts
		}
	})
}

// Seal returns whether the jobs of a growth were added. If they were not, they will not be later.
func (g *Grower) Seal(ctx context.Context, call protocol.SealCall) (answer protocol.SealAnswer, err error) {
	err = g.options.attempt(ctx, "seal growth", func(ctx context.Context) error {
		answers := g.store.Seal(ctx, []protocol.SealCall{call})
		if len(answers) == 0 {
			return errNoAnswer
		}
		answer = answers[0]
		return answer.Err
	})
	return answer, err
}
