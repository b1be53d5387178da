package hookstore

import (
	"context"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// ReadOutbox calls Fault with "read outbox".
func (s *Store) ReadOutbox(ctx context.Context, source protocol.Partition, after string) (protocol.OutboxLines, error) {
	return one(s, "read outbox", func() (protocol.OutboxLines, error) { return s.Store.ReadOutbox(ctx, source, after) }, source)
}

// AddressOutbox calls Fault with "address outbox".
func (s *Store) AddressOutbox(ctx context.Context, source protocol.Partition, line string, to []protocol.Addressed) (int, error) {
	return one(s, "address outbox", func() (int, error) { return s.Store.AddressOutbox(ctx, source, line, to) }, source)
}

// AdvanceOutbox calls Fault with "advance outbox", for the source.
func (s *Store) AdvanceOutbox(ctx context.Context, source, target protocol.Partition, mark string, asked time.Time, want int) (protocol.OutboxBatch, error) {
	return one(s, "advance outbox", func() (protocol.OutboxBatch, error) {
		return s.Store.AdvanceOutbox(ctx, source, target, mark, asked, want)
	}, source)
}

// Carry calls Fault with "carry", for the target.
func (s *Store) Carry(ctx context.Context, source, target protocol.Partition, after string, entries []protocol.OutboxEntry) (protocol.CarryAnswer, error) {
	return one(s, "carry", func() (protocol.CarryAnswer, error) { return s.Store.Carry(ctx, source, target, after, entries) }, target)
}

// BlockOutbox calls Fault with "block outbox".
func (s *Store) BlockOutbox(ctx context.Context, source protocol.Partition, line string, blocked time.Duration, why string) error {
	_, err := one(s, "block outbox", func() (struct{}, error) { return struct{}{}, s.Store.BlockOutbox(ctx, source, line, blocked, why) }, source)
	return err
}
