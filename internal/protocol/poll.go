package protocol

import "time"

// PollCall polls one partition. A sleeping worker that knows Since and Now may get a faster answer if nothing has happened.
type PollCall struct {
	Partition Partition
	Worker    string    // registered as asleep if Sleep is set
	Sleep     bool      // the caller is a sleeping worker
	Lapses    bool      // without Sleep: only lapsed sessions are requested
	Since     time.Time // when the worker was last registered as asleep, by the store's clock; zero: unknown
	Now       time.Time // about the time of the store's clock; zero: unknown
	ParkedLook
}

// PollAnswer is the answer to one PollCall.
type PollAnswer struct {
	Err   error
	Now   time.Time
	Since time.Time // when the worker was registered as asleep, by the store's clock; zero: it was not
	WaitHint
}

// LeaveCall removes a worker from the sleeping workers of a partition.
type LeaveCall struct {
	Partition Partition
	Worker    string
}
