package resource

// A JobName is where a job is.
type JobName struct{ Collection, Job string }

// Schedule is the name of its schedule.
func (n JobName) Schedule() string { return n.Collection + ":" + n.Job }
