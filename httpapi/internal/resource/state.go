package resource

// A State is a job's state in an answer.
type State string

// The states.
const (
	Enabled   State = "enabled"
	Disabled  State = "disabled"
	Completed State = "completed" // it has run for the last time
	Faulted   State = "faulted"   // it has run for the last time, and failed
)
