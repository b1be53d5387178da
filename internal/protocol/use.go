package protocol

// A Use is what a process does with a store. It determines the rights that the process needs there.
type Use string

const (
	UseEnqueue  Use = "producer"  // adds jobs to queues
	UseWork     Use = "worker"    // takes and runs jobs
	UseSchedule Use = "scheduler" // declares schedules and places the occurrences that no worker has placed
)
