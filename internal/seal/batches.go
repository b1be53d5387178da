package seal

import (
	"context"
	"errors"
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// OpenBatch seals the jobs that are added at the end of the batch, each for its queue and its ID. If there is a batch with another definition, it opens those of
// the stored one, as far as it can: sealed twice, the same jobs have other bytes.
func (s *Store) OpenBatch(ctx context.Context, def protocol.BatchDefinition) (protocol.BatchRecord, bool, error) {
	spec, err := wire.DecodeBatchSpec(def.Spec)
	if err != nil {
		return protocol.BatchRecord{}, false, err
	}
	for _, after := range afterBatch(&spec, def.ID) {
		if *after.body, err = s.sealBody(after.at, *after.body); err != nil {
			return protocol.BatchRecord{}, false, err
		}
	}
	def.Spec = spec.Encode()
	record, existed, err := s.Store.OpenBatch(ctx, def)
	if errors.Is(err, protocol.ErrConflict) {
		record.Spec = s.openSpec(record.ID, record.Spec)
	}
	return record, existed, err
}

// openSpec returns a stored definition with its jobs opened. What cannot be opened remains sealed.
func (s *Store) openSpec(id string, stored []byte) []byte {
	spec, err := wire.DecodeBatchSpec(stored)
	if err != nil {
		return stored
	}
	for _, after := range afterBatch(&spec, id) {
		if !isSealed(*after.body) {
			continue
		}
		if plain, err := s.openBody(after.at, *after.body); err == nil {
			*after.body = plain
		}
	}
	return spec.Encode()
}

// A placed body of a job that is added at the end of a batch.
type placed struct {
	body *[]byte
	at   holder
}

// afterBatch returns the jobs that are added at the end of a batch. Their IDs and their queues are known, so they are sealed like jobs that are enqueued.
func afterBatch(spec *wire.BatchSpec, batch string) (all []placed) {
	for id, body := range map[string]*[]byte{protocol.BatchDoneID(batch): &spec.Done, protocol.BatchEndedID(batch): &spec.Ended} {
		if len(*body) == 0 {
			continue
		}
		queue := ""
		if e, _ := wire.DecodeEnvelope(*body); e.Details != nil {
			queue = e.Details.Queue
		}
		all = append(all, placed{body, holderOf(queue, id)})
	}
	return all
}

// FillBatch seals bodies that are not sealed yet.
func (s *Store) FillBatch(ctx context.Context, calls []protocol.FillCall) []protocol.FillAnswer {
	calls = slices.Clone(calls)
	for i := range calls {
		items, queue := slices.Clone(calls[i].Items), calls[i].Partition.Queue
		for j := range items {
			var err error
			if items[j].Body, err = s.sealBody(holderOf(queue, items[j].ID), items[j].Body); err != nil {
				return failed(len(calls), func(a *protocol.FillAnswer) { a.Err = err })
			}
		}
		calls[i].Items = items
	}
	return s.Store.FillBatch(ctx, calls)
}
