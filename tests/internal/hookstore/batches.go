package hookstore

import (
	"context"

	"github.com/chimejobs/chime/internal/protocol"
)

// opened is an answer of OpenBatch, SealBatch or EndBatch.
type opened struct {
	record protocol.BatchRecord
	is     bool
}

// home returns the home of a batch.
func home(id string) protocol.Partition { return protocol.Home(protocol.HomeOf(id)) }

// OpenBatch calls Fault with "open batch", for the home.
func (s *Store) OpenBatch(ctx context.Context, def protocol.BatchDefinition) (protocol.BatchRecord, bool, error) {
	answer, err := one(s, "open batch", func() (o opened, err error) {
		o.record, o.is, err = s.Store.OpenBatch(ctx, def)
		return o, err
	}, home(def.ID))
	return answer.record, answer.is, err
}

// NoteFill calls Fault with "note fill", for the home.
func (s *Store) NoteFill(ctx context.Context, id string, note protocol.FillNote) (protocol.BatchRecord, error) {
	return one(s, "note fill", func() (protocol.BatchRecord, error) { return s.Store.NoteFill(ctx, id, note) }, home(id))
}

// FillBatch calls Fault with "fill batch", with each partition.
func (s *Store) FillBatch(ctx context.Context, calls []protocol.FillCall) []protocol.FillAnswer {
	return batch(s, "fill batch", calls, func(c *protocol.FillCall) protocol.Partition { return c.Partition },
		func(err error) protocol.FillAnswer { return protocol.FillAnswer{Err: err} },
		func(parts []protocol.FillCall) []protocol.FillAnswer { return s.Store.FillBatch(ctx, parts) })
}

// SealBatch calls Fault with "seal batch", for the home.
func (s *Store) SealBatch(ctx context.Context, id string, total int64, hash string, asIs bool, counts []protocol.PartitionCounts) (protocol.BatchRecord, bool, error) {
	answer, err := one(s, "seal batch", func() (o opened, err error) {
		o.record, o.is, err = s.Store.SealBatch(ctx, id, total, hash, asIs, counts)
		return o, err
	}, home(id))
	return answer.record, answer.is, err
}

// CountBatch calls Fault with "count batch", with each partition.
func (s *Store) CountBatch(ctx context.Context, calls []protocol.CountCall) []protocol.CountAnswer {
	return batch(s, "count batch", calls, func(c *protocol.CountCall) protocol.Partition { return c.Partition },
		func(err error) protocol.CountAnswer { return protocol.CountAnswer{Err: err} },
		func(parts []protocol.CountCall) []protocol.CountAnswer { return s.Store.CountBatch(ctx, parts) })
}

// ReportBatches calls Fault with "report batches", with the home of each.
func (s *Store) ReportBatches(ctx context.Context, reports []protocol.BatchReport) []protocol.ReportAnswer {
	return batch(s, "report batches", reports, func(r *protocol.BatchReport) protocol.Partition { return home(r.Counts.Batch) },
		func(err error) protocol.ReportAnswer { return protocol.ReportAnswer{Err: err} },
		func(parts []protocol.BatchReport) []protocol.ReportAnswer { return s.Store.ReportBatches(ctx, parts) })
}

// AckReports calls Fault with "ack reports".
func (s *Store) AckReports(ctx context.Context, partition protocol.Partition, acks []protocol.ReportAck) error {
	_, err := one(s, "ack reports", func() (bool, error) { return true, s.Store.AckReports(ctx, partition, acks) }, partition)
	return err
}

// GrowBatch calls Fault with "grow batch", for the home.
func (s *Store) GrowBatch(ctx context.Context, id, token string, partition protocol.Partition) (protocol.BatchRecord, error) {
	return one(s, "grow batch", func() (protocol.BatchRecord, error) { return s.Store.GrowBatch(ctx, id, token, partition) }, home(id))
}

// EndBatch calls Fault with "end batch", for the home.
func (s *Store) EndBatch(ctx context.Context, id string, end protocol.BatchEnding) (protocol.BatchRecord, bool, error) {
	answer, err := one(s, "end batch", func() (o opened, err error) {
		o.record, o.is, err = s.Store.EndBatch(ctx, id, end)
		return o, err
	}, home(id))
	return answer.record, answer.is, err
}

// GetBatch calls Fault with "get batch", for the home.
func (s *Store) GetBatch(ctx context.Context, id string) (protocol.BatchRecord, error) {
	return one(s, "get batch", func() (protocol.BatchRecord, error) { return s.Store.GetBatch(ctx, id) }, home(id))
}
