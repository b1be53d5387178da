package observe

import (
	"context"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func (s *calledStore) OpenBatch(ctx context.Context, def protocol.BatchDefinition) (protocol.BatchRecord, bool, error) {
	began := time.Now()
	record, existed, err := s.Store.OpenBatch(ctx, def)
	report(s.called, "open_batch", began, err)
	return record, existed, err
}

func (s *calledStore) NoteFill(ctx context.Context, id string, note protocol.FillNote) (protocol.BatchRecord, error) {
	return call(s, "note_fill", func() (protocol.BatchRecord, error) { return s.Store.NoteFill(ctx, id, note) })
}

func (s *calledStore) FillBatch(ctx context.Context, calls []protocol.FillCall) []protocol.FillAnswer {
	return many(s.called, "fill_batch", func() []protocol.FillAnswer { return s.Store.FillBatch(ctx, calls) }, func(a *protocol.FillAnswer) error { return a.Err })
}

func (s *calledStore) SealBatch(ctx context.Context, id string, total int64, hash string, asIs bool, counts []protocol.PartitionCounts) (protocol.BatchRecord, bool, error) {
	began := time.Now()
	record, sealed, err := s.Store.SealBatch(ctx, id, total, hash, asIs, counts)
	report(s.called, "seal_batch", began, err)
	return record, sealed, err
}

func (s *calledStore) CountBatch(ctx context.Context, calls []protocol.CountCall) []protocol.CountAnswer {
	return many(s.called, "count_batch", func() []protocol.CountAnswer { return s.Store.CountBatch(ctx, calls) }, func(a *protocol.CountAnswer) error { return a.Err })
}

func (s *calledStore) DueReports(ctx context.Context, partition protocol.Partition) ([]protocol.PartitionCounts, bool, error) {
	began := time.Now()
	due, more, err := s.Store.DueReports(ctx, partition)
	report(s.called, "due_reports", began, err)
	return due, more, err
}

func (s *calledStore) ReportBatches(ctx context.Context, reports []protocol.BatchReport) []protocol.ReportAnswer {
	return many(s.called, "report_batches", func() []protocol.ReportAnswer { return s.Store.ReportBatches(ctx, reports) }, func(a *protocol.ReportAnswer) error { return a.Err })
}

func (s *calledStore) AckReports(ctx context.Context, partition protocol.Partition, acks []protocol.ReportAck) error {
	return only(s, "ack_reports", func() error { return s.Store.AckReports(ctx, partition, acks) })
}

func (s *calledStore) GrowBatch(ctx context.Context, id, token string, partition protocol.Partition) (protocol.BatchRecord, error) {
	return call(s, "grow_batch", func() (protocol.BatchRecord, error) { return s.Store.GrowBatch(ctx, id, token, partition) })
}

func (s *calledStore) EndBatch(ctx context.Context, id string, end protocol.BatchEnding) (protocol.BatchRecord, bool, error) {
	began := time.Now()
	record, done, err := s.Store.EndBatch(ctx, id, end)
	report(s.called, "end_batch", began, err)
	return record, done, err
}

func (s *calledStore) CancelBatch(ctx context.Context, id string) (protocol.BatchRecord, error) {
	return call(s, "cancel_batch", func() (protocol.BatchRecord, error) { return s.Store.CancelBatch(ctx, id) })
}

func (s *calledStore) CancelMembers(ctx context.Context, queue string, ids []string) error {
	return only(s, "cancel_members", func() error { return s.Store.CancelMembers(ctx, queue, ids) })
}

func (s *calledStore) TendBatches(ctx context.Context, home int) ([]protocol.BatchRecord, bool, error) {
	began := time.Now()
	due, owes, err := s.Store.TendBatches(ctx, home)
	report(s.called, "tend_batches", began, err)
	return due, owes, err
}

func (s *calledStore) PutOffBatch(ctx context.Context, id string, at time.Time) error {
	return only(s, "put_off_batch", func() error { return s.Store.PutOffBatch(ctx, id, at) })
}

func (s *calledStore) DeleteBatch(ctx context.Context, id string) error {
	return only(s, "delete_batch", func() error { return s.Store.DeleteBatch(ctx, id) })
}

func (s *calledStore) GetBatch(ctx context.Context, id string) (protocol.BatchRecord, error) {
	return call(s, "get_batch", func() (protocol.BatchRecord, error) { return s.Store.GetBatch(ctx, id) })
}

func (s *calledStore) ListBatches(ctx context.Context, home int, before protocol.BatchMark, limit int) ([]protocol.BatchMark, error) {
	return call(s, "list_batches", func() ([]protocol.BatchMark, error) { return s.Store.ListBatches(ctx, home, before, limit) })
}

func (s *calledStore) UnendedBatches(ctx context.Context, after protocol.BatchMark, limit int) ([]protocol.BatchMark, bool, error) {
	began := time.Now()
	marks, more, err := s.Store.UnendedBatches(ctx, after, limit)
	report(s.called, "unended_batches", began, err)
	return marks, more, err
}

func (s *calledStore) ReadBatches(ctx context.Context, marks []protocol.BatchMark) ([]protocol.BatchRecord, error) {
	return call(s, "read_batches", func() ([]protocol.BatchRecord, error) { return s.Store.ReadBatches(ctx, marks) })
}
