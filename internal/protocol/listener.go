package protocol

import (
	"context"
	"time"
)

// A Listener is the subscription of one role and a separate connection for heartbeats.
type Listener interface {
	// Signals delivers the messages for this role. Equal signals that were not received yet arrive as one.
	Signals() <-chan Signal

	// Extend keeps sessions alive. It has no call number and uses a separate connection, so that a slow call of the
	// worker never costs it its sessions.
	Extend(ctx context.Context, calls []ExtendCall) []ExtendAnswer

	Close() error
}

// A Signal arrives on a Listener.
type Signal struct {
	// Connected: the subscription was confirmed, for the first time or again. Earlier messages are lost: poll now.
	Connected bool
	// Wake: there may be a job to take now, in Partition. Its zero value: in any of them.
	Wake      bool
	Partition Partition
	// Alarm: the earliest delayed job is now due at this instant of the store's clock. For the second worker that keeps the
	// alarm it is SecondAlarm after that. Zero: the signal is about something else.
	Alarm time.Time
	// Replaced is the ID of an occurrence that must end because the next one replaces it (overlap policy cancel). Empty: none.
	Replaced string
	// Cancelled is a job that was cancelled while this worker held it. Zero: none.
	Cancelled HeldJob
	// Elect: the leader has released its lease.
	Elect bool
}

// ExtendCall is a heartbeat for one session.
type ExtendCall struct {
	Partition Partition
	Session   string
	TTL       time.Duration
	Schedules []string // of the occurrences that the session holds, those with overlap policy cancel
}

// ExtendAnswer is the answer to a heartbeat. Err wraps ErrSessionLost if the session was reaped.
type ExtendAnswer struct {
	Err      error
	Replaced []string // IDs of occurrences that the session holds and that must end
	// Cancelled are jobs that the session holds and that were cancelled, each until it is settled.
	Cancelled []HeldJob
}
