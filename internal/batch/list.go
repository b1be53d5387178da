package batch

import (
	"context"
	"iter"

	"github.com/chimejobs/chime/internal/protocol"
)

// listPage is how many records of a home are read in one call.
const listPage = 50

// List iterates over all batches, the newest first. After an error it ends.
func List(ctx context.Context, store protocol.BatchStore) iter.Seq2[protocol.BatchRecord, error] {
	return func(yield func(protocol.BatchRecord, error) bool) {
		var homes [protocol.BatchHomes]struct {
			read []protocol.BatchRecord // that were not yielded yet
			mark string                 // of the last one that was read
			all  bool
		}
		for {
			newest := -1
			for i := range homes {
				h := &homes[i]
				if len(h.read) == 0 && !h.all {
					page, err := store.ListBatches(ctx, i, h.mark, listPage)
					if err != nil {
						yield(protocol.BatchRecord{}, err)
						return
					}
					if h.read, h.all = page, len(page) < listPage; len(page) > 0 {
						h.mark = page[len(page)-1].Mark
					}
				}
				if len(h.read) > 0 && (newest < 0 || h.read[0].Created.After(homes[newest].read[0].Created)) {
					newest = i
				}
			}
			if newest < 0 {
				return
			}
			h := &homes[newest]
			if !yield(h.read[0], nil) {
				return
			}
			h.read = h.read[1:]
		}
	}
}
