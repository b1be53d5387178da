package batch

import (
	"context"
	"iter"
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
)

// How many marks of a home, and how many records, are read in one call: few at first, because most lists are short.
const (
	firstMarks, maxMarks     = 20, 500
	firstRecords, maxRecords = 10, 50
)

// maxUnended is how many batches in progress a home may have. If one has more, the batches that have ended are read too.
const maxUnended = 500

// List iterates over all batches, the newest first, from the one after a mark on. After an error it ends.
//
// The marks of each home are read page by page and merged. Only the records that are listed are read, and at most maxRecords more.
func List(ctx context.Context, store protocol.BatchStore, after protocol.BatchMark) iter.Seq2[protocol.BatchRecord, error] {
	return func(yield func(protocol.BatchRecord, error) bool) {
		var homes [protocol.BatchHomes]homeMarks
		for i := range homes {
			homes[i] = homeMarks{home: i, last: after, size: firstMarks}
		}
		records(ctx, store, func(n int) (marks []protocol.BatchMark, err error) {
			for len(marks) < n {
				var newest *homeMarks
				for i := range homes {
					h := &homes[i]
					if err := h.fill(ctx, store); err != nil {
						return nil, err
					}
					if len(h.read) > 0 && (newest == nil || h.read[0].Compare(newest.read[0]) < 0) {
						newest = h
					}
				}
				if newest == nil {
					break
				}
				marks, newest.read = append(marks, newest.read[0]), newest.read[1:]
			}
			return marks, nil
		}, yield)
	}
}

// InProgress iterates, in the order of List, over the batches that have not ended, and those with members that were requeued since. It reads hardly any others,
// unless a home has more than maxUnended of them.
func InProgress(ctx context.Context, store protocol.BatchStore, after protocol.BatchMark) iter.Seq2[protocol.BatchRecord, error] {
	return func(yield func(protocol.BatchRecord, error) bool) {
		unended := func(record protocol.BatchRecord, err error) bool {
			return err == nil && !record.Unended() || yield(record, err)
		}
		marks, more, err := store.UnendedBatches(ctx, maxUnended)
		switch {
		case err != nil:
			yield(protocol.BatchRecord{}, err)
			return
		case more:
			List(ctx, store, after)(unended)
			return
		}
		slices.SortFunc(marks, protocol.BatchMark.Compare)
		if after != (protocol.BatchMark{}) {
			marks = slices.DeleteFunc(marks, func(m protocol.BatchMark) bool { return m.Compare(after) <= 0 })
		}
		records(ctx, store, func(n int) ([]protocol.BatchMark, error) {
			n = min(n, len(marks))
			some := marks[:n]
			marks = marks[n:]
			return some, nil
		}, unended)
	}
}

// records reads the batches of marks and yields them. next returns at most n further marks; none: that was the last one.
func records(ctx context.Context, store protocol.BatchStore, next func(n int) ([]protocol.BatchMark, error), yield func(protocol.BatchRecord, error) bool) {
	for size := firstRecords; ; size = min(2*size, maxRecords) {
		marks, err := next(size)
		if err == nil && len(marks) == 0 {
			return
		}
		var page []protocol.BatchRecord
		if err == nil {
			page, err = store.ReadBatches(ctx, marks)
		}
		if err != nil {
			yield(protocol.BatchRecord{}, err)
			return
		}
		for _, record := range page {
			if !yield(record, nil) {
				return
			}
		}
	}
}

// homeMarks are the marks of a home that were read.
type homeMarks struct {
	home int
	read []protocol.BatchMark // those that are not listed yet
	last protocol.BatchMark   // that was read
	size int                  // of the next page
	all  bool
}

// fill reads the next page if no mark is left.
func (h *homeMarks) fill(ctx context.Context, store protocol.BatchStore) (err error) {
	if len(h.read) > 0 || h.all {
		return nil
	}
	if h.read, err = store.ListBatches(ctx, h.home, h.last, h.size); err != nil {
		return err
	}
	if h.all = len(h.read) < h.size; !h.all {
		h.last, h.size = h.read[len(h.read)-1], min(2*h.size, maxMarks)
	}
	return nil
}
