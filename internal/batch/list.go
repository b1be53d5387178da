package batch

import (
	"context"
	"iter"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

// How many marks of a home, and how many records, are read in one call: few at first, because most lists are short.
const (
	firstMarks, maxMarks     = 20, 500
	firstRecords, maxRecords = 10, 50
)

// maxUnended is how many batches in progress are read together.
const maxUnended = 500

// A Listing selects the batches of a list, and has the place at which it was cut.
type Listing struct {
	After      protocol.BatchMark // the list begins with the one after it; zero: with the newest one
	Prefix     string             // of the IDs: the records of other batches are not read
	InProgress bool               // those that have not ended, and those with members that were requeued since: hardly any others are read
	Looked     int                // how many marks are looked at, those of other IDs too; 0: all

	Cut  bool               // the list has ended because it has looked at as many as it may
	Last protocol.BatchMark // at which it has looked last
}

// looks notes that a mark is looked at, and reports whether its ID is one that is listed.
func (l *Listing) looks(mark protocol.BatchMark) bool {
	l.Last = mark
	if l.Looked > 0 {
		l.Looked--
		l.Cut = l.Looked == 0
	}
	return strings.HasPrefix(mark.ID, l.Prefix)
}

// List iterates over batches, the newest first. After an error it ends.
//
// The marks of each home are read page by page and merged. Only the records that are listed are read, and at most maxRecords more.
func List(ctx context.Context, store protocol.BatchStore, l *Listing) iter.Seq2[protocol.BatchRecord, error] {
	return func(yield func(protocol.BatchRecord, error) bool) {
		if l.InProgress {
			inProgress(ctx, store, l, yield)
			return
		}
		var homes [protocol.BatchHomes]homeMarks
		for i := range homes {
			homes[i] = homeMarks{home: i, last: l.After, size: firstMarks}
		}
		records(ctx, store, func(n int) (marks []protocol.BatchMark, err error) {
			for len(marks) < n && !l.Cut {
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
				if l.looks(newest.read[0]) {
					marks = append(marks, newest.read[0])
				}
				newest.read = newest.read[1:]
			}
			return marks, nil
		}, yield)
	}
}

// inProgress is List for batches in progress. Their marks are read again for every maxUnended of them.
func inProgress(ctx context.Context, store protocol.BatchStore, l *Listing, yield func(protocol.BatchRecord, error) bool) {
	var marks []protocol.BatchMark
	after, more := l.After, true
	records(ctx, store, func(n int) (some []protocol.BatchMark, err error) {
		for len(some) < n && !l.Cut {
			if len(marks) == 0 && !more {
				break
			}
			if len(marks) == 0 {
				if marks, more, err = store.UnendedBatches(ctx, after, maxUnended); err != nil {
					return nil, err
				}
				if len(marks) > 0 {
					after = marks[len(marks)-1]
				}
				continue
			}
			if l.looks(marks[0]) {
				some = append(some, marks[0])
			}
			marks = marks[1:]
		}
		return some, nil
	}, func(record protocol.BatchRecord, err error) bool {
		return err == nil && !record.Unended() || yield(record, err)
	})
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
