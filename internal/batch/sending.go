package batch

import (
	"context"
	"errors"

	"github.com/chimejobs/chime/internal/protocol"
)

// A sending is items that are sent to their partitions together: one call each.
type sending struct {
	items    []Item
	from, to int64  // the positions before the first one, and of the last one
	hash     string // of all items up to the last one

	calls []protocol.FillCall
	of    [][]int // which items each call has

	// What send has found out. It is read when done is closed.
	done    chan struct{}
	answers []protocol.FillAnswer // of the calls that were answered
	filled  [][]int               // which items each of these had
	err     error
}

// divide makes a call for each partition.
func (s *sending) divide(batch string) {
	at := make(map[protocol.Partition]int, 1)
	for i := range s.items {
		item := &s.items[i]
		n, ok := at[item.Partition]
		if !ok {
			n = len(s.calls)
			at[item.Partition] = n
			s.calls, s.of = append(s.calls, protocol.FillCall{Partition: item.Partition, Batch: batch}), append(s.of, nil)
		}
		c := &s.calls[n]
		c.Items, c.Positions, s.of[n] = append(c.Items, item.EnqueueItem), append(c.Positions, s.from+int64(i)+1), append(s.of[n], i)
	}
}

// send sends the calls until each was answered.
func (s *sending) send(ctx context.Context, store EndingStore, options *Options, batch string) error {
	calls, of := s.calls, s.of
	return options.attempt(ctx, "fill batch", func(ctx context.Context) error {
		var failed error
		answers := store.FillBatch(ctx, calls)
		openCalls, openOf := calls[:0:0], of[:0:0]
		for i := range calls {
			err := errNoAnswer
			if i < len(answers) {
				err = answers[i].Err
			}
			if err != nil {
				failed = err
				openCalls, openOf = append(openCalls, calls[i]), append(openOf, of[i])
				continue
			}
			if answers[i].Closed {
				return closedBy(ctx, store, batch, &answers[i])
			}
			s.answers, s.filled = append(s.answers, answers[i]), append(s.filled, of[i])
		}
		calls, of = openCalls, openOf
		return failed
	})
}

// closedBy returns why a partition is closed. If somebody has cancelled the batch and the home does not know that, the home went back to an earlier state: it is
// cancelled again.
func closedBy(ctx context.Context, store EndingStore, batch string, answer *protocol.FillAnswer) error {
	if !answer.Counts.Cancelled {
		return errClosed
	}
	if _, err := store.CancelBatch(ctx, batch); err != nil && !errors.Is(err, protocol.ErrConflict) {
		return err
	}
	return errClosed
}

var errNoAnswer = errors.New("store gave no answer")

// answered counts and reports what the answers say. It returns why the first item was refused that was, and its index.
func (f *Filling) answered(s *sending) (refused error, first int) {
	first = len(s.items)
	for n := range s.answers {
		answer := &s.answers[n]
		var added []Item
		for k, i := range s.filled[n] {
			if k < len(answer.Full) && answer.Full[k] != nil {
				if i < first {
					refused, first = answer.Full[k], i
				}
				break
			}
			switch {
			case k < answer.Passed:
			case k < len(answer.Existing) && answer.Existing[k]:
				f.existing++
			default:
				added = append(added, s.items[i])
			}
		}
		if len(added) > 0 && f.report != nil {
			f.report(added)
		}
	}
	return refused, first
}

// read reads the record again.
func (f *Filling) read(ctx context.Context) error {
	err := f.options.attempt(ctx, "get batch", func(ctx context.Context) error {
		record, err := f.store.GetBatch(ctx, f.batch)
		if err == nil {
			f.record = record
		}
		return err
	})
	if err == nil {
		err = f.noteState()
	}
	if err == nil && !f.sealed {
		err = errClosed // a partition knows it, and the home does not: it has gone back
	}
	return err
}
