package batch

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Grower adds jobs to batches that run. It is safe for concurrent use.
//
//	noted at home ──► sent to the partition ──► reported: the note is gone
//	      │                    └── outcome unknown: a repeated call with the same items has the same token, and adds them once
//	      └── the process dies: the home asks the partition, which refuses the token from then on, or counts its jobs
//
// While a growth is noted the batch does not end.
type Grower struct {
	store   protocol.BatchStore
	options Options

	mu      sync.Mutex
	unknown map[string]unknownGrowth // by the items
}

// An unknownGrowth is one whose outcome is unknown.
type unknownGrowth struct {
	token string
	at    time.Time
}

const (
	maxUnknown = 10_000
	unknownAge = time.Hour // the store remembers a token for an hour
	reportWait = 2 * time.Second
)

// NewGrower returns a grower.
func NewGrower(store protocol.BatchStore, options Options) *Grower {
	return &Grower{store: store, options: options, unknown: make(map[string]unknownGrowth)}
}

// A Growth is jobs of one partition, at most protocol.MaxItems and about protocol.MaxBytes, that become members of a batch.
type Growth struct {
	Batch     string
	Partition protocol.Partition
	Items     []protocol.EnqueueItem
}

// Grow adds the jobs. The error wraps protocol.ErrNotFound if there is no such batch, and protocol.ErrConflict if it has ended or was cancelled.
func (g *Grower) Grow(ctx context.Context, growth Growth) (protocol.FillAnswer, error) {
	key := growth.key()
	token := g.token(key)
	err := g.options.attempt(ctx, "grow batch", func(ctx context.Context) error {
		record, err := g.store.GrowBatch(ctx, growth.Batch, token, growth.Partition)
		if errors.Is(err, protocol.ErrConflict) {
			return Over(&record)
		}
		return err
	})
	if err != nil {
		return protocol.FillAnswer{}, err
	}
	call := []protocol.FillCall{{Partition: growth.Partition, Batch: growth.Batch, Token: token, Items: growth.Items}}
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
		g.remember(key, token)
		return answer, fmt.Errorf("outcome unknown: %w", err)
	}
	g.report(ctx, &growth, token, answer.Counts)
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
// If another growth was reported first, the home has counts with a higher version. It keeps the note then: for all that it knows, the partition went back to an
// earlier state, and the higher version does not count these jobs. So the partition is asked again. Without that, the batch could not end for a minute.
func (g *Grower) report(ctx context.Context, growth *Growth, token string, counts protocol.PartitionCounts) {
	limited, cancel := context.WithTimeout(ctx, reportWait)
	defer cancel()
	_ = g.options.attempt(limited, "report growth", func(ctx context.Context) error {
		for {
			answers := g.store.ReportBatches(ctx, []protocol.BatchReport{{Counts: counts, Grown: []string{token}}})
			if len(answers) == 0 {
				return errNoAnswer
			}
			above := answers[0].Above
			if answers[0].Err != nil || above == 0 {
				return answers[0].Err
			}
			asked := g.store.CountBatch(ctx, []protocol.CountCall{{Partition: growth.Partition, Batch: growth.Batch, Above: above, Void: token}})
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

// key identifies the items of a growth.
func (g *Growth) key() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d", g.Batch, g.Partition.Queue, g.Partition.Index)
	for i := range g.Items {
		fmt.Fprintf(h, " %q", g.Items[i].ID)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// token returns that of a growth with the same items whose outcome is unknown, once, or a new one.
func (g *Grower) token(key string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	before, ok := g.unknown[key]
	delete(g.unknown, key)
	if ok && time.Since(before.at) < unknownAge {
		return before.token
	}
	return rand.Text()
}

// remember keeps the token of a growth whose outcome is unknown.
func (g *Grower) remember(key, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for k, old := range g.unknown {
		if len(g.unknown) < maxUnknown && time.Since(old.at) < unknownAge {
			break
		}
		delete(g.unknown, k)
	}
	g.unknown[key] = unknownGrowth{token, time.Now()}
}
