// Package protocol has the calls that the roles make to a store, their answers, and the errors that a caller distinguishes. It does
// not depend on Redis or on handlers.
//
// Every call is a batch. Each write is atomic for its partition and safe to send twice. Every answer contains the store's own time,
// so that no caller's clock decides what is due or has lapsed.
package protocol

import "context"

// A Store keeps jobs and schedules. Package redisstore has the one that programs use.
type Store interface {
	JobStore
	JobControl
	OutboxStore
	BatchStore
	QueueStore
	GroupStore
	ScheduleStore
	CollectionStore
	LeaderStore
	JobReader
	WorkerStore
	Verifier
	SampleStore
	ShapeStore
	AcknowledgementStore

	// Check returns nil if the store can be trusted with jobs: it answers, is recent enough, evicts nothing, and has a plausible
	// clock. Waiting does not cure an error that wraps ErrUnfit.
	Check(ctx context.Context) error

	// CheckUse returns nil if these queues can be used so: no right is missing, and no key that is used belongs to another
	// program. It writes nothing. Waiting does not cure an error that wraps ErrUnfit.
	CheckUse(ctx context.Context, use Use, queues []string) error

	// Server returns where the store is, for a log: an address, never a password.
	Server() string

	// Node returns the name of the server that a partition lives on now. Names are only compared: a call to partitions of several nodes waits for
	// the slowest of them, so a caller that must not wait sends one call to each node. Node makes no round trip once Check has
	// succeeded, and may return another name after a failover.
	Node(partition Partition) string

	// Listen opens the listener of a role. It returns at once; the listener reconnects automatically until it is closed.
	Listen(name string) Listener
}
