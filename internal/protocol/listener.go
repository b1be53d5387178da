package protocol

import (
	"context"
	"time"
)

// A Listener is the subscription of one role and a connection of its own for heartbeats.
type Listener interface {
	// Signals delivers what is published for this role. Equal signals that nobody has received yet arrive as one.
	Signals() <-chan Signal

	// Extend keeps sessions alive. It carries no call number and has a connection of its own, so that a slow call of the
	// worker never costs it its sessions.
	Extend(ctx context.Context, calls []ExtendCall) []ExtendAnswer

	Close() error
}

// A Signal is what arrives on a Listener.
type Signal struct {
	// Connected: the subscription was confirmed, for the first time or again. Messages from before are lost: ask now.
	Connected bool
	// Wake: there may be a job to take now.
	Wake bool
	// Alarm: the earliest delayed job is now due at this instant of the store's clock. For the second worker that keeps the
	// alarm it is SecondAlarm after that. Zero: the signal is about something else.
	Alarm time.Time
	// Replaced is the ID of an occurrence that is to end because the next one replaces it (overlap policy cancel). Empty: none.
	Replaced string
	// Cancelled is a job that was cancelled while this worker held it. Zero: none.
	Cancelled HeldJob
	// Elect: the leader has handed its lease back.
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
	Replaced []string // IDs of occurrences that the session holds and that are to end
	// Cancelled are jobs that the session holds and that were cancelled, each until it is settled.
	Cancelled []HeldJob
}
