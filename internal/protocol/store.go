// Package protocol has the calls that the roles make to a store, their answers, and the errors that a caller distinguishes. It knows
// nothing of Redis and nothing of handlers.
//
// Every call is a batch. Each write is atomic for its partition and safe to send twice. Every answer carries the store's own time,
// so that no caller's clock decides what is due or has lapsed.
package protocol

import "context"

// A Store keeps jobs and schedules. Package redisstore has the one that programs use.
type Store interface {
	JobStore
	JobControl
	QueueStore
	ScheduleStore
	CollectionStore
	LeaderStore
	JobReader
	WorkerStore
	Verifier
	SampleStore

	// Check returns nil if the store can be trusted with jobs: it answers, is recent enough, evicts nothing, and its clock may be
	// right. Waiting does not cure an error that wraps ErrUnfit.
	Check(ctx context.Context) error

	// CheckUse returns nil if nothing stands in the way of using these queues so: every right is there, and no key of another
	// program under a name that is used. It writes nothing. Waiting does not cure an error that wraps ErrUnfit.
	CheckUse(ctx context.Context, use Use, queues []string) error

	// Server says, for a log, where the store is: an address, never a password.
	Server() string

	// Node names the server that a partition lives on now. Names are only compared: a call to partitions of several nodes waits for
	// the slowest of them, so a caller that is to wait for none makes one call a node. Node makes no round trip once Check has
	// succeeded, and may answer differently after a failover.
	Node(partition Partition) string

	// Listen opens the listener of a role. It returns at once; the listener connects again by itself until it is closed.
	Listen(name string) Listener
}
