package protocol

// A Use is what a process does with a store. It says which rights the process needs there.
type Use string

const (
	UseEnqueue  Use = "producer"  // puts jobs on queues
	UseWork     Use = "worker"    // takes and runs jobs
	UseSchedule Use = "scheduler" // declares schedules and places what no worker has placed
)
