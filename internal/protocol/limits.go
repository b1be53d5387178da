package protocol

import "time"

// The maximum sizes of one call. While a store executes a call, it serves no other.
const (
	MaxItems       = 500       // jobs that a call enqueues
	MaxBytes       = 1 << 20   // of bodies or definitions in a call, unless a single one is larger
	MaxSettlements = 500       // a call settles; one with a RunRecord counts RunWeight times, and once more for 512 bytes of its note and error
	RunWeight      = 6         // a run that joins a history takes the store about as long as this many ordinary jobs
	MaxTake        = 500       // jobs that a call takes
	MaxInstants    = 500       // occurrences that a call places
	MaxDeclared    = 100       // schedules that a call declares
	MaxSeenLapsed  = 16        // lapsed sessions that an answer names
	MaxPartitions  = 1024      // of a queue
	MaxLapsed      = 10_000    // lapsed sessions that Lapsed returns
	MaxReaped      = 16        // sessions that a call reaps
	MaxSwept       = 100       // partitions that a call sweeps
	MaxLimit       = 1_000_000 // jobs of a queue that may run at once, or start per time
	SuspectCrashes = 2         // a job whose holders have vanished this often is a suspect
)

const (
	// SuspectAlone is how long a worker takes no other job after a suspect has begun, if the handler of the suspect runs so long. If a suspect
	// makes its worker vanish, it mostly does so at once. If another job began at the same time, it would be unclear which of them caused it.
	SuspectAlone = time.Second

	// SuspectStep is the delay of a suspect that has to wait for another one.
	SuspectStep = 4 * time.Millisecond
)

const (
	// MinPer and MaxPer bound the time in which a number of jobs may start.
	MinPer = time.Millisecond
	MaxPer = 30 * 24 * time.Hour

	// MaxDelay is how far from now a job may be due.
	MaxDelay = 100 * 365 * 24 * time.Hour

	// IdleRetention is how long a worker is registered as asleep. Each poll registers it again.
	IdleRetention = 13 * time.Second
	// SecondAlarm is the additional delay of the second worker that keeps the alarm for a delayed job.
	SecondAlarm = 20 * time.Millisecond
)
