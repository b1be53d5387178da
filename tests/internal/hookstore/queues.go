package hookstore

import (
	"context"

	"github.com/chimejobs/chime/internal/protocol"
)

// Partitions calls Fault with "partitions".
func (s *Store) Partitions(ctx context.Context, queue string) (int, error) {
	return one(s, "partitions", func() (int, error) { return s.Store.Partitions(ctx, queue) }, protocol.Partition{Queue: queue})
}

// Queues calls Fault with "queues".
func (s *Store) Queues(ctx context.Context, cursor string) (queues []protocol.QueueSize, next string, err error) {
	queues, err = one(s, "queues", func() (queues []protocol.QueueSize, err error) {
		queues, next, err = s.Store.Queues(ctx, cursor)
		return queues, err
	})
	if err != nil {
		next = ""
	}
	return queues, next, err
}

// Served calls Fault with "served".
func (s *Store) Served(ctx context.Context, also []string) ([]protocol.QueueSize, error) {
	return one(s, "served", func() ([]protocol.QueueSize, error) { return s.Store.Served(ctx, also) })
}

// QueueStats calls Fault with "queue stats".
func (s *Store) QueueStats(ctx context.Context, queues []string) ([]protocol.QueueStats, error) {
	return one(s, "queue stats", func() ([]protocol.QueueStats, error) { return s.Store.QueueStats(ctx, queues) })
}

// PauseQueue calls Fault with "pause queue".
func (s *Store) PauseQueue(ctx context.Context, queue string, paused bool, note protocol.Note) error {
	return only(s, "pause queue", func() error { return s.Store.PauseQueue(ctx, queue, paused, note) }, protocol.Partition{Queue: queue})
}

// Acknowledgements calls Fault with "acknowledgements".
func (s *Store) Acknowledgements(ctx context.Context) ([]protocol.Acknowledgement, error) {
	return one(s, "acknowledgements", func() ([]protocol.Acknowledgement, error) { return s.Store.Acknowledgements(ctx) })
}

// Acknowledge calls Fault with "acknowledge".
func (s *Store) Acknowledge(ctx context.Context, a protocol.Acknowledgement) error {
	return only(s, "acknowledge", func() error { return s.Store.Acknowledge(ctx, a) })
}

// Unacknowledge calls Fault with "unacknowledge".
func (s *Store) Unacknowledge(ctx context.Context, a protocol.Acknowledgement) (bool, error) {
	return one(s, "unacknowledge", func() (bool, error) { return s.Store.Unacknowledge(ctx, a) })
}

// EndPauses calls Fault with "end pauses", with each partition.
func (s *Store) EndPauses(ctx context.Context, partitions []protocol.Partition) (protocol.EndedPauses, error) {
	return one(s, "end pauses", func() (protocol.EndedPauses, error) { return s.Store.EndPauses(ctx, partitions) }, partitions...)
}

// DeleteQueue calls Fault with "delete queue".
func (s *Store) DeleteQueue(ctx context.Context, queue string) (protocol.QueueRemains, error) {
	return one(s, "delete queue", func() (protocol.QueueRemains, error) { return s.Store.DeleteQueue(ctx, queue) }, protocol.Partition{Queue: queue})
}

// LimitQueue calls Fault with "limit queue".
func (s *Store) LimitQueue(ctx context.Context, queue string, limit protocol.QueueLimit) error {
	return only(s, "limit queue", func() error { return s.Store.LimitQueue(ctx, queue, limit) }, protocol.Partition{Queue: queue})
}

// SetGroup calls Fault with "set group".
func (s *Store) SetGroup(ctx context.Context, queue, group string, rule protocol.GroupRule) error {
	return only(s, "set group", func() error { return s.Store.SetGroup(ctx, queue, group, rule) }, protocol.Partition{Queue: queue})
}

// SetGroups calls Fault with "set groups".
func (s *Store) SetGroups(ctx context.Context, queue string, rule protocol.GroupRule) error {
	return only(s, "set groups", func() error { return s.Store.SetGroups(ctx, queue, rule) }, protocol.Partition{Queue: queue})
}

// PauseGroup calls Fault with "pause group".
func (s *Store) PauseGroup(ctx context.Context, queue, group string, paused bool, note protocol.Note) error {
	return only(s, "pause group", func() error { return s.Store.PauseGroup(ctx, queue, group, paused, note) }, protocol.Partition{Queue: queue})
}

// PageGroups calls Fault with "page groups".
func (s *Store) PageGroups(ctx context.Context, call protocol.GroupPageCall) (protocol.GroupPage, error) {
	return one(s, "page groups", func() (protocol.GroupPage, error) { return s.Store.PageGroups(ctx, call) }, protocol.Partition{Queue: call.Queue})
}

// CountGroups calls Fault with "count groups".
func (s *Store) CountGroups(ctx context.Context, queue, after string) (protocol.GroupSum, error) {
	return one(s, "count groups", func() (protocol.GroupSum, error) { return s.Store.CountGroups(ctx, queue, after) }, protocol.Partition{Queue: queue})
}

// Sample calls Fault with "sample".
func (s *Store) Sample(ctx context.Context, partitions []protocol.Partition, missing int) []protocol.SampleAnswer {
	return batch(s, "sample", partitions, itself,
		func(err error) protocol.SampleAnswer { return protocol.SampleAnswer{Err: err} },
		func(sent []protocol.Partition) []protocol.SampleAnswer { return s.Store.Sample(ctx, sent, missing) })
}
